import Foundation
import HubProtocol
import HubRouting
import HubStore
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

    @Test func `a message ends at its own expiry while its credential is refused`() async throws {
        let service = ScriptedPushService { _ in .refusedCredential("InvalidProviderToken") }
        let clock = TestClock()
        service.set(lifetime: .until(Timestamp(clock.now) + .seconds(120)))
        try await ScriptedHub.run(service, clock: clock) { hub in
            let id = try await hub.send(format: "apple", #"{"aps":{"alert":"x"}}"#, device: "ABCD")
            await hub.settlePushes()
            #expect(service.sent.count == 1)
            #expect(try await hub.report(id).outcomes == nil)
            clock.advance(by: 119)
            await hub.settlePushes()
            #expect(try await hub.report(id).outcomes == nil)
            let attempts = service.sent.count
            clock.advance(by: 2)
            await hub.settlePushes()
            #expect(try await hub.report(id).outcomes == ["apns": ["InvalidCredentials": 1]])
            #expect(service.sent.count == attempts, "an expired message is not sent as a probe")
        }
    }

    @Test func `a message ends at its own expiry while many others are before it`() async throws {
        let service = ScriptedPushService { _ in .refusedCredential("InvalidProviderToken") }
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            for number in 0..<DeliveryLane.maximumReading {
                try await hub.send(format: "apple", #"{"aps":{"alert":"x"}}"#, device: "AA\(number)")
                await hub.settlePushes()
            }
            service.set(lifetime: .until(Timestamp(clock.now) + .seconds(120)))
            let id = try await hub.send(format: "apple", #"{"aps":{"alert":"last"}}"#, device: "ABCD")
            await hub.settlePushes()
            #expect(!service.handles.contains("ABCD"))
            clock.advance(by: 121)
            await hub.settlePushes()
            #expect(try await hub.report(id).outcomes == ["apns": ["InvalidCredentials": 1]])
            #expect(!service.handles.contains("ABCD"))
            let others = try await hub.newest().filter { $0.outcomes != nil }
            #expect(others.count == 1, "the others have not expired")
        }
    }

    @Test func `the expiry of a message is forgotten with its last target`() async throws {
        let service = ScriptedPushService()
        let clock = TestClock()
        let end = Timestamp(clock.now) + .seconds(120)
        service.set(lifetime: .until(end))
        try await ScriptedHub.run(service, clock: clock) { hub in
            service.answer { _ in .retry(after: .seconds(10), "503") }
            let id = try await hub.send(format: "apple", #"{"aps":{"alert":"x"}}"#, device: "ABCD")
            await hub.settlePushes()
            let lane = try #require(hub.service.push.lanes.first)
            let waiting = await lane.expiries.next
            #expect(waiting == end, "a message with a retry still expires")
            service.answer { _ in .accepted(id: nil) }
            clock.advance(by: 30)
            await hub.settlePushes()
            #expect(try await hub.report(id).outcomes == ["apns": ["Success": 1]])
            let left = await lane.expiries.next
            #expect(left == nil)
        }
    }

    @Test func `expiries are noted up to a limit, and the earliest is known`() {
        func key(_ number: Int) -> DeliveryKey {
            DeliveryKey(sequence: LogSequence(rawValue: Int64(number)), platform: .apns)
        }
        let start = Timestamp(milliseconds: 0)
        var expiries = MessageExpiries()
        #expect(expiries.next == nil && expiries.expired(at: start, atMost: 10).isEmpty)
        for number in 1...MessageExpiries.maximum + 1 {
            expiries.note(key(number), expiresAt: start + .seconds(number))
        }
        #expect(expiries.isFull && expiries.next == start + .seconds(1))
        let expired = expiries.expired(at: start + .seconds(3), atMost: 2)
        #expect(expired == [key(1), key(2)])
        expiries.forget(expired)
        #expect(!expiries.isFull && expiries.next == start + .seconds(3))
    }
}
