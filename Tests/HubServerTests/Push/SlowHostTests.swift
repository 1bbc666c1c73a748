import HubProtocol
import HubRouting
import HubStore
import PushServices
import Synchronization
import Testing

import class HubTestServer.Gate

@testable import HubServer

/// Hosts of a push service that answer slowly, and those that do not.
@Suite(.timeLimit(.minutes(5))) struct SlowHostTests {
    private static let slow = "slow.notify.windows.com"
    private static let fast = "fast.notify.windows.com"
    private static let credential = PlatformCredential(
        .wns,
        [.init(name: "PackageSid", value: "ms-app://s-1"), .init(name: "SecretKey", value: "secret")]
    )

    /// Runs a hub whose slow host does not answer before the gate opens.
    private func run(
        _ service: ScriptedPushService = ScriptedPushService(),
        clock: TestClock = TestClock(),
        _ body: (TestHub, ScriptedPushService, _ slow: Gate) async throws -> Void
    ) async throws {
        let gate = Gate()
        try await TestHub.run(try Scratch(), clock: clock) {
            $0.pushServices = service
        } _: { hub in
            defer { gate.open() }
            try await hub.set { $0.credentials = [Self.credential] }
            try await body(hub, service, gate)
        }
    }

    /// Answers for the fast host at once, and opens a gate when all of so many targets were sent there.
    private func script(_ service: ScriptedPushService, slow: Gate, fast: Int) -> Gate {
        let count = Atomic(0)
        let isDone = Gate()
        service.answer { sent in
            if sent.target.channel.host == Self.slow {
                await slow.opened()
            } else if count.add(1, ordering: .relaxed).newValue == fast {
                isDone.open()
            }
            return .accepted(id: nil)
        }
        return isDone
    }

    /// Registers devices whose channels are at a host.
    private func register(_ count: Int, at host: String, _ hub: TestHub, tag: String = "World") async throws {
        for number in 0..<count {
            let registration = Registration(
                id: .random(),
                tags: [try Tag(tag)],
                platform: .wns,
                pushChannel: .handle("https://\(host)/?token=\(number)")
            )
            _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
        }
    }

    private func sent(_ service: ScriptedPushService, to host: String) -> [String] {
        service.sent.map(\.target.channel).filter { $0.host == host }.map(\.handle)
    }

    private func states(_ id: MessageID, _ hub: TestHub) async throws -> [DeliveryState] {
        let message = try #require(try await hub.hub.store.message(hub: hub.hub.record.id, id: id, through: hub.head))
        return try await hub.hub.store.deliveryStates(of: message.logged.sequence)
    }

    // MARK: - Delivery

    @Test func `a host that does not answer holds up no other`() async throws {
        try await run { hub, service, slow in
            try await register(300, at: Self.slow, hub)
            try await register(300, at: Self.fast, hub)
            let fast = script(service, slow: slow, fast: 300)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await fast.opened()
            #expect(sent(service, to: Self.slow).count == service.concurrency, "what one host may have in flight")
            #expect(try await states(id, hub).map(\.retries) == [0], "those that wait were not tried")
            slow.open()
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": 600]])
            #expect(service.sent.count == 600 && Set(service.handles).count == 600, "once each")
        }
    }

    @Test func `a later message reaches fast hosts while an earlier one waits for a slow one`() async throws {
        try await run { hub, service, slow in
            try await register(300, at: Self.slow, hub)
            try await register(10, at: Self.fast, hub)
            let fast = script(service, slow: slow, fast: 30)
            for _ in 0..<3 { try await hub.send(format: "windows", "<toast/>", tags: "World") }
            await fast.opened()
            #expect(sent(service, to: Self.slow).count == service.concurrency)
            slow.open()
            await hub.service.push.settle()
            let reports = try await hub.newest()
            #expect(reports.map(\.outcomes) == Array(repeating: ["wns": ["Success": 310]], count: 3))
        }
    }

    @Test func `one host alone has all that the service takes at once`() async throws {
        let service = ScriptedPushService()
        let count = Atomic(0)
        let isFull = Gate()
        try await run(service) { hub, _, slow in
            service.answer { _ in
                if count.add(1, ordering: .relaxed).newValue == service.concurrency { isFull.open() }
                await slow.opened()
                return .accepted(id: nil)
            }
            try await register(service.concurrency + 50, at: Self.slow, hub)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await isFull.opened()
            slow.open()
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": service.concurrency + 50]])
        }
    }

    @Test func `a retry that waits for a slow host costs no attempt`() async throws {
        let clock = TestClock()
        try await run(clock: clock) { hub, service, slow in
            let count = service.concurrency + 50
            try await register(count, at: Self.slow, hub)
            try await register(10, at: Self.fast, hub, tag: "Sports")
            service.answer { _ in .throttled(.handle, after: .seconds(30), "429") }
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await hub.service.push.settle()
            #expect(try await states(id, hub).map(\.retries) == [count])

            let fast = script(service, slow: slow, fast: 10)
            clock.advance(by: 60)
            hub.service.push.wakeAll()
            try await hub.send(format: "windows", "<toast/>", tags: "Sports")
            await fast.opened()
            #expect(sent(service, to: Self.slow).count == count + service.concurrency)
            slow.open()
            await hub.service.push.settle()
            let waiting = try await hub.hub.store.dueRetries(
                hub: hub.hub.record.id,
                platform: .wns,
                at: Timestamp(clock.now) + SlowHosts.longestPause,
                latest: .distantFuture,
                limit: 1_000
            )
            #expect(waiting.count == 50 && waiting.allSatisfy { $0.attempts == 1 })
            clock.advance(by: 31)
            hub.service.push.wakeAll()
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": count]])
            #expect(sent(service, to: Self.slow).count == 2 * count)
        }
    }

    @Test func `targets that wait in memory wait in the store when their host asks for a long pause`() async throws {
        try await run { hub, service, slow in
            let count = service.concurrency + 50
            try await register(count, at: Self.slow, hub)
            service.answer { _ in
                await slow.opened()
                return .throttled(.host, after: .seconds(3_600), "406")
            }
            await hub.service.push.settle()
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            for lane in hub.service.push.lanes { await lane.settle(exceptInFlight: true) }
            #expect(service.sent.count == service.concurrency)
            slow.open()
            await hub.settlePushes()
            #expect(service.sent.count == service.concurrency)
            #expect(try await states(id, hub).map(\.retries) == [count])
        }
    }

    @Test func `a slot is not used for a host that has freed it by asking for a pause`() async throws {
        try await run { hub, service, slow in
            try await register(service.concurrency + 50, at: Self.slow, hub)
            service.answer { _ in
                await slow.opened()
                return .throttled(.host, after: .seconds(60), "406")
            }
            try await hub.send(format: "windows", "<toast/>", tags: "World")
            // The lane waits for a slot for the next target.
            await service.sent(atLeast: service.concurrency)
            slow.open()
            await hub.settlePushes()
            #expect(service.sent.count == service.concurrency)
        }
    }

    @Test func `targets that wait for a slow host end with their message`() async throws {
        let clock = TestClock()
        try await run(clock: clock) { hub, service, slow in
            try await register(300, at: Self.slow, hub)
            try await register(10, at: Self.fast, hub)
            let fast = script(service, slow: slow, fast: 10)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await fast.opened()
            clock.advance(by: Double(hub.hub.configuration.timeToLive.components.seconds) + 1)
            slow.open()
            let ended = 300 - service.concurrency
            let expected = ["wns": ["Success": 310 - ended, "AbandonedNotificationMessages": ended]]
            // The hub looks for expired messages once a second of its clock, and ends none with requests in flight.
            for _ in 0..<2 {
                await hub.service.push.settle()
                clock.advance(by: 2)
                hub.service.push.wakeAll()
            }
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == expected)
        }
    }

    // MARK: - Slots

    /// Takes slots for a host until it has its share.
    private func fill(_ slots: PushSlots, _ host: String, limit: Int = 100) async -> Int {
        var count = 0
        while count < 1_000, await slots.take(limit: limit, for: host, waitingUntil: .now) == .taken { count += 1 }
        return count
    }

    @Test func `each further host gets a share of what is left`() async {
        let slots = PushSlots()
        #expect(slots.room(for: "a", limit: 100) == 100)
        var shares: [Int] = []
        for host in ["a", "b", "c", "d", "e", "f"] {
            let room = slots.room(for: host, limit: 100)
            shares.append(await fill(slots, host))
            #expect(shares.last == room)
        }
        #expect(shares == [100, 50, 25, 13, 6, 3])
        #expect(slots.room(for: "g", limit: 100) > 0)
    }

    @Test func `a host gets more again when others have less`() async {
        let slots = PushSlots()
        _ = await fill(slots, "a")
        #expect(await fill(slots, "b") == 50)
        for _ in 0..<40 { slots.land("a") }
        #expect(slots.room(for: "b", limit: 100) == 20)
        #expect(await fill(slots, "b") == 20)
    }

    @Test func `who waits for a host's share is woken when one of its requests ends`() async {
        let slots = PushSlots()
        _ = await fill(slots, "a")
        async let turn = slots.take(limit: 100, for: "a", waitingUntil: .now + .seconds(60))
        slots.land("a")
        #expect(await turn == .taken)
    }

    @Test func `who waits for a host's share gives up in time`() async {
        let slots = PushSlots()
        _ = await fill(slots, "a")
        #expect(await slots.take(limit: 100, for: "a", waitingUntil: .now + .milliseconds(5)) == .hostIsFull)
        slots.close()
        #expect(await slots.take(limit: 100, for: "b") == .closed)
    }

    @Test(.timeLimit(.minutes(1))) func `a deadline that passes while slots are looked at ends the wait`() async {
        let slots = PushSlots()
        _ = await fill(slots, "a")
        for nanoseconds in 0..<10_000 {
            let deadline = ContinuousClock.now + .nanoseconds(nanoseconds)
            let turn = await slots.take(limit: 100, for: "a", waitingUntil: deadline)
            guard turn == .hostIsFull else {
                Issue.record("\(turn) with a deadline after \(nanoseconds) ns")
                return
            }
        }
    }

    @Test func `a deadline that has passed takes a slot that is free`() async {
        let slots = PushSlots()
        #expect(await slots.take(limit: 1, for: "a", waitingUntil: .now - .seconds(1)) == .taken)
        #expect(await slots.take(limit: 1, for: "a", waitingUntil: .now - .seconds(1)) == .hostIsFull)
    }

    @Test func `one probe is one target, whatever its host`() async {
        let slots = PushSlots()
        #expect(await fill(slots, "a", limit: 1) == 1)
        #expect(slots.room(for: "a", limit: 1) == 0)
    }

    // MARK: - Targets that wait

    private func target(_ ordinal: Int64, of sequence: Int64 = 1) -> DeliveryLane.TargetKey {
        DeliveryLane.TargetKey(
            key: DeliveryKey(sequence: LogSequence(rawValue: sequence), platform: .browser),
            ordinal: Ordinal(rawValue: ordinal)
        )
    }

    @Test func `targets wait in turn, and are bounded`() {
        var hosts = SlowHosts()
        let added = (0..<Int64(SlowHosts.maximumWaiting) + 10).count { hosts.add(target($0), "a") }
        #expect(added == SlowHosts.maximumWaiting && hosts.count == added)
        let first = hosts.take("a", atMost: 3)
        #expect(first == [target(0), target(1), target(2)])
        let none = (hosts.take("b", atMost: 3), hosts.take("a", atMost: 0))
        #expect(none.0.isEmpty && none.1.isEmpty)
        hosts.forget(target(0).key)
        #expect(hosts.isEmpty && hosts.names.isEmpty && !hosts.hasTargets(of: target(0).key))
    }

    @Test func `targets of many messages do not keep all of them in memory`() {
        var hosts = SlowHosts()
        let added = (0..<Int64(SlowHosts.maximumMessages) + 10).count { hosts.add(target(1, of: $0), "a") }
        #expect(added == SlowHosts.maximumMessages)
        let more = hosts.add(target(2, of: 0), "b")
        #expect(more, "another target of the same message")
        _ = hosts.take("a", atMost: 1)
        #expect(hosts.hasTargets(of: target(2, of: 0).key))
        let ofAnother = hosts.add(target(1, of: 1_000), "a")
        #expect(!ofAnother)
        _ = hosts.take("b", atMost: 1)
        let inItsPlace = hosts.add(target(1, of: 1_000), "a")
        #expect(inItsPlace)
    }

    @Test func `a host counts as slow for a while`() {
        var hosts = SlowHosts()
        let start = Timestamp(milliseconds: 1_900_000_000_000)
        hosts.note("a", at: start)
        #expect(hosts.isSlow("a", at: start) && !hosts.isSlow("b", at: start))
        #expect(!hosts.isSlow("a", at: start + SlowHosts.memory))
        #expect(!hosts.isSlow("a", at: start - .seconds(1)), "the clock was set back")
    }
}
