import Foundation
import GRDB
import HubProtocol
import HubRouting
import HubStore
import PushServices
import Synchronization
import Testing

@testable import HubServer
@testable import HubStore

/// Deliveries while reads fail, credentials change or the hub stops.
@Suite(.timeLimit(.minutes(3))) struct PushInterruptionTests {
    private static let apple = #"{"aps":{"alert":"x"}}"#
    private static let fcm = PlatformCredential(.fcmV1, [.init(name: "ProjectId", value: "project")])

    private func renewed(_ text: String) -> PlatformCredential {
        PlatformCredential(.apns, ScriptedHub.credential.properties + [.init(name: "Token", value: text)])
    }

    @Test func `targets whose outcomes are recorded while due retries are read are not sent again`() async throws {
        let attempts = Mutex<[String: Int]>([:])
        let failures = 3
        let service = ScriptedPushService { sent in
            let count = attempts.withLock { attempts in
                attempts["\(sent.body) \(sent.target.channel.handle)", default: 0] += 1
                return attempts["\(sent.body) \(sent.target.channel.handle)", default: 0]
            }
            return count <= failures ? .throttled(.handle, after: nil, "503") : .accepted(id: nil)
        }
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            for round in 0..<4 {
                let id = try await hub.sendBatch(1_000, text: "\(round)")
                // No settling in between: answers are to arrive during reads.
                try await hub.poll {
                    clock.advance(by: 5)
                    hub.service.push.wakeAll()
                    return try await hub.report(id).outcomes == ["apns": ["Success": 1_000]]
                }
            }
            let counts = attempts.withLock { Set($0.values) }
            #expect(counts == [failures + 1], "nobody gets a message twice")
        }
    }

    @Test func `a read that fails once does not stop a message that was accepted`() async throws {
        let held = ScriptedPushService { _ in .throttled(.credential, after: .seconds(3_600), "429") }
        try await ScriptedHub.run(held) { hub in
            try await hub.send(format: "apple", Self.apple, device: "AAAA")
            await hub.settlePushes()
            try #require(held.sent.count == 1)
            let service = ScriptedPushService()
            let lease = NodeLease(isShared: false, clock: { .zero })
            let lane = DeliveryLane(
                hub: hub.hub,
                platform: .apns,
                service: service,
                audience: nil,
                lease: lease,
                term: lease.term,
                isClockSteady: { true }
            )
            try await hub.hub.store.rename("delivery", to: "hidden")
            await #expect(throws: (any Error).self) { try await lane.step() }
            try await hub.hub.store.rename("hidden", to: "delivery")
            _ = try await lane.step()
            await service.sent(atLeast: 1)
            #expect(service.handles == ["AAAA"])
            await lane.flush()
        }
    }

    @Test func `a lane that finishes for a new credential holds up no other lane`() async throws {
        let door = Door()
        let service = ScriptedPushService { sent in
            if sent.target.channel.handle == "AAAA" { await door.opened() }
            return .accepted(id: nil)
        }
        try await ScriptedHub.run(service) { hub in
            defer { door.open() }
            try await hub.send(format: "apple", Self.apple, device: "AAAA")
            await service.sent(atLeast: 1)
            try await hub.set { $0.credentials = [renewed("new"), Self.fcm] }
            try await hub.send(format: "fcmv1", #"{"message":{"data":{}}}"#, device: "BBBB")
            await service.sent(atLeast: 2)
            #expect(service.handles == ["AAAA", "BBBB"])
            // The next lane of the platform waits, or it would send again what is in flight.
            let next = try await hub.send(format: "apple", Self.apple, device: "CCCC")
            door.open()
            await hub.settlePushes()
            #expect(try await hub.report(next).outcomes == ["apns": ["Success": 1]])
            #expect(service.handles == ["AAAA", "BBBB", "CCCC"])
        }
    }

    @Test func `a stop ends the requests of a lane that finishes for a new credential`() async throws {
        let door = Door()
        let service = ScriptedPushService { _ in
            await door.opened()
            return .retry(after: nil, "shut down")
        }
        service.onShutdown { door.open() }
        try await ScriptedHub.run(service) { hub in
            try await hub.send(format: "apple", Self.apple, device: "AAAA")
            await service.sent(atLeast: 1)
            try await hub.set { $0.credentials = [renewed("new")] }
            try await hub.poll { hub.service.push.lanes.isEmpty }
        }
        #expect(service.sent.count == 1)
    }

    @Test func `a credential that is replaced while nothing can be recorded loses no outcome`() async throws {
        let door = Door()
        let service = ScriptedPushService { _ in
            await door.opened()
            return .badMessage(String(repeating: "x", count: 300))
        }
        try await ScriptedHub.run(service) { hub in
            defer { door.open() }
            let id = try await hub.sendBatch(service.concurrency)
            await service.sent(atLeast: service.concurrency)
            try await hub.set { $0.credentials = [renewed("new")] }
            try await hub.poll { hub.service.push.lanes.isEmpty }
            try await hub.hub.store.fill()
            door.open()
            try await hub.poll { hub.hub.writer.health.failureReason != nil }
            try await hub.hub.store.empty()
            await hub.settlePushes()
            #expect(try await hub.details(id).outcomes == [.apns: [.invalidNotificationFormat: service.concurrency]])
            #expect(service.sent.count == service.concurrency, "nothing was sent twice")
        }
    }

    @Test func `a first request without an answer does not hold up a service that has not proven itself`() async throws
    {
        let door = Door()
        let service = ScriptedPushService(concurrency: 1) { sent in
            if sent.target.channel.handle == "AA0000" { await door.opened() }
            return .accepted(id: nil)
        }
        try await ScriptedHub.run(service) { hub in
            defer { door.open() }
            try await hub.sendBatch(3)
            await service.sent(atLeast: 3)
            door.open()
            await hub.settlePushes()
            #expect(service.handles == ["AA0000", "AA0001", "AA0002"])
        }
    }

    @Test func `a new message does not wait for the turns of many long ones`() async throws {
        let door = Door()
        let service = ScriptedPushService { _ in .throttled(.credential, after: .seconds(60), "429") }
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            defer { door.open() }
            let long = DeliveryLane.maximumReading + 6
            for number in 0..<long { try await hub.sendBatch(300, text: "long \(number)") }
            await hub.settlePushes()
            let before = service.sent.count
            let isNew = Atomic(false)
            let others = Atomic(0)
            service.answer { sent in
                if sent.body.contains("new") {
                    isNew.store(true, ordering: .relaxed)
                } else if !isNew.load(ordering: .relaxed) {
                    others.add(1, ordering: .relaxed)
                }
                return .accepted(id: nil)
            }
            let id = try await hub.send(format: "apple", #"{"aps":{"alert":"new"}}"#, device: "BBBB")
            clock.advance(by: 61)
            await hub.settlePushes()
            #expect(try await hub.report(id).outcomes == ["apns": ["Success": 1]])
            #expect(others.load(ordering: .relaxed) <= 3 * DeliveryLane.chunk, "one or two turns, not 70")
            #expect(service.sent.count - before >= long * 300 + 1 - before)
        }
    }
}

extension HubStore {
    func rename(_ table: String, to other: String) async throws {
        try await pool.writeWithoutTransaction { try $0.execute(sql: "ALTER TABLE \(table) RENAME TO \(other)") }
    }
}
