import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices
import Synchronization
import Testing

@testable import HubServer

/// Hosts that refuse the sender, or keep failing, while other hosts of the same platform work.
@Suite(.timeLimit(.minutes(3))) struct HostRefusalTests {
    private static let bad = "bad.notify.windows.com"
    private static let good = "good.notify.windows.com"
    private static let credential = PlatformCredential(
        .wns,
        [.init(name: "PackageSid", value: "ms-app://s-1"), .init(name: "SecretKey", value: "secret")]
    )

    private func run(
        _ service: ScriptedPushService,
        clock: TestClock,
        _ body: (TestHub) async throws -> Void
    ) async throws {
        try await TestHub.run(try Scratch(), clock: clock) {
            $0.pushServices = service
        } _: { hub in
            try await hub.set { $0.credentials = [Self.credential] }
            try await body(hub)
        }
    }

    private func register(_ count: Int, at host: String, _ hub: TestHub) async throws {
        for number in 0..<count {
            let registration = Registration(
                id: .random(),
                tags: [try Tag("World")],
                platform: .wns,
                pushChannel: .handle("https://\(host)/?token=\(number)")
            )
            _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
        }
    }

    private func sent(_ service: ScriptedPushService, to host: String) -> Int {
        service.sent.count { $0.target.channel.host == host }
    }

    @Test func `a host that refuses the sender is paused alone, and nothing is lost`() async throws {
        let service = ScriptedPushService { sent in
            sent.target.channel.host == Self.bad ? .refusedSender("403 BadJwtToken") : .accepted(id: nil)
        }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await register(300, at: Self.bad, hub)
            try await register(300, at: Self.good, hub)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await hub.settlePushes()
            #expect(sent(service, to: Self.good) == 300)
            #expect(sent(service, to: Self.bad) < 300, "those in flight before the answers were read")
            let second = try await hub.send(format: "windows", "<toast>2</toast>", tags: "World")
            await hub.settlePushes()
            #expect(sent(service, to: Self.good) == 600)
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": 300]], "those of the paused host wait")
            service.answer { _ in .accepted(id: nil) }
            for _ in 0..<40 {
                clock.advance(by: 30)
                await hub.settlePushes()
            }
            for id in [id, second] {
                #expect(try await hub.report(id).outcomes == ["wns": ["Success": 600]])
            }
        }
    }

    @Test func `a subscription that alone is refused ends, and its host goes on`() async throws {
        let service = ScriptedPushService { sent in
            sent.target.channel.handle.hasSuffix("token=0") ? .refusedSender("403") : .accepted(id: nil)
        }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await register(50, at: Self.bad, hub)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            for _ in 0..<4 {
                await hub.settlePushes()
                clock.advance(by: 6)
            }
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": 49, "WrongToken": 1]])
        }
    }

    @Test func `what waits in memory for a paused host goes out at once when the host has recovered`() async throws {
        let service = ScriptedPushService { sent in
            sent.target.channel.host == Self.bad ? .retry(after: nil, "503") : .accepted(id: nil)
        }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await register(400, at: Self.bad, hub)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await hub.settlePushes()
            clock.advance(by: 60)
            let second = try await hub.send(format: "windows", "<toast>2</toast>", tags: "World")
            await hub.settlePushes()
            #expect(service.sent.count { $0.body.contains("2") } <= 2, "probes at most")
            service.answer { _ in .accepted(id: nil) }
            clock.advance(by: 3)
            await hub.settlePushes()
            #expect(service.sent.count { $0.body.contains("2") } >= 400)
            for _ in 0..<60 {
                clock.advance(by: 15)
                await hub.settlePushes()
            }
            for id in [id, second] { #expect(try await hub.report(id).outcomes == ["wns": ["Success": 400]]) }
        }
    }
}
