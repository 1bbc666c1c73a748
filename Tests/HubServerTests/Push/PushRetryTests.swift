import Foundation
import HubProtocol
import PushServices
import Testing

@testable import HubServer

/// When targets are tried again.
struct PushRetryTests {
    @Test func `a retry that a clock hours ahead has written does not wait for hours`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(60), "503") }
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            try await hub.install("phone", handle: "AAAA", tags: ["World"])
            clock.jump(by: 10 * 3_600)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.settlePushes()
            #expect(service.sent.count == 1)
            clock.jump(by: -10 * 3_600)
            service.answer { _ in .accepted(id: nil) }
            await hub.settlePushes()
            #expect(service.sent.count == 2)
            #expect(try await hub.report(id).outcomes == ["apns": ["Success": 1]])
        }
    }

    @Test func `a clock that is set back by seconds does not shorten the wait that a service asked for`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(3_600), "503") }
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            try await hub.install("phone", handle: "AAAA", tags: ["World"])
            try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.settlePushes()
            clock.jump(by: -30)
            await hub.settlePushes()
            #expect(service.sent.count == 1)
            clock.advance(by: 3_631)
            await hub.settlePushes()
            #expect(service.sent.count == 2)
        }
    }
}
