import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices
import Synchronization
import Testing

@testable import HubServer

/// Hosts that refuse the sender, or keep failing, while other hosts of the same platform work.
@Suite(.timeLimit(.minutes(10))) struct HostRefusalTests {
    private static let bad = "bad.notify.windows.com"
    private static let good = "good.notify.windows.com"
    private static let credential = PlatformCredential(
        .wns,
        [.init(name: "PackageSid", value: "ms-app://s-1"), .init(name: "SecretKey", value: "secret")]
    )

    private func run(
        _ service: ScriptedPushService,
        scratch: Scratch? = nil,
        clock: TestClock,
        _ body: (TestHub) async throws -> Void
    ) async throws {
        try await TestHub.run(try scratch ?? Scratch(), clock: clock) {
            $0.pushServices = service
        } _: { hub in
            try await hub.set { $0.credentials = [Self.credential] }
            try await body(hub)
        }
    }

    @discardableResult
    private func register(
        _ count: Int,
        at host: String,
        _ hub: TestHub,
        tag: String = "World"
    ) async throws -> [RegistrationID] {
        var ids: [RegistrationID] = []
        for number in 0..<count {
            let registration = Registration(
                id: .random(),
                tags: [try Tag(tag)],
                platform: .wns,
                pushChannel: .handle("https://\(host)/?token=\(number)")
            )
            _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
            ids.append(registration.id)
        }
        return ids
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
            sent.body.contains("alone") ? .refusedSender("403") : .accepted(id: nil)
        }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await register(1, at: Self.bad, hub, tag: "Alone")
            let refused = try await hub.send(format: "windows", "<toast>alone</toast>", tags: "Alone")
            await hub.settlePushes()
            try await register(49, at: Self.bad, hub)
            let accepted = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await hub.settlePushes()
            #expect(try await hub.report(refused).outcomes == nil, "one refusal alone does not decide")
            clock.advance(by: 6)
            await hub.settlePushes()
            #expect(try await hub.report(refused).outcomes == ["wns": ["WrongToken": 1]])
            #expect(try await hub.report(accepted).outcomes == ["wns": ["Success": 49]])
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

    // MARK: - Targets in the store

    /// Lets all targets of a message wait in the store for a host that fails for ten minutes.
    private func wait(_ count: Int, _ service: ScriptedPushService, _ clock: TestClock, _ hub: TestHub) async throws
        -> MessageID
    {
        service.answer { sent in
            sent.target.channel.host == Self.bad ? .retry(after: .seconds(20), "503") : .accepted(id: nil)
        }
        try await register(count, at: Self.bad, hub)
        let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
        for _ in 0..<12 {
            await hub.settlePushes()
            clock.advance(by: 50)
        }
        await hub.settlePushes()
        #expect(try await hub.hub.store.deliveryStates(of: hub.hub.status.head).map(\.retries) == [count])
        return id
    }

    @Test func `what waits in the store for a failing host goes out at once when the host has recovered`() async throws
    {
        let service = ScriptedPushService()
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            let id = try await wait(60, service, clock, hub)
            let attempts = service.sent.count
            service.answer { _ in .accepted(id: nil) }
            clock.advance(by: 3)
            await hub.settlePushes()
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": 60]])
            #expect(service.sent.count == attempts + 60)
        }
    }

    @Test func `what waits in the store for a refusing host goes out at once when the host accepts the sender`()
        async throws
    {
        let service = ScriptedPushService { _ in .refusedSender("403 BadJwtToken") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await register(50, at: Self.bad, hub)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await hub.settlePushes()
            // The probes have come to an interval of a quarter of an hour.
            for _ in 0..<20 {
                clock.advance(by: 60)
                await hub.settlePushes()
            }
            service.answer { _ in .accepted(id: nil) }
            var seconds = 0
            while try await hub.report(id).outcomes == nil, seconds < 16 * 60 {
                clock.advance(by: 5)
                seconds += 5
                await hub.settlePushes()
            }
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": 50]], "all with the probe")
        }
    }

    @Test func `what waits in the store for a host goes out at the next start`() async throws {
        let (scratch, clock) = (try Scratch(), TestClock())
        let service = ScriptedPushService()
        var id: MessageID?
        try await run(service, scratch: scratch, clock: clock) { hub in
            id = try await wait(60, service, clock, hub)
        }
        service.answer { _ in .accepted(id: nil) }
        try await run(service, scratch: scratch, clock: clock) { hub in
            await hub.settlePushes()
            let id = try #require(id)
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": 60]])
        }
    }

    @Test func `a pause that a host has asked for lasts over a restart`() async throws {
        let (scratch, clock) = (try Scratch(), TestClock())
        let service = ScriptedPushService { _ in .retry(after: .seconds(30), "503") }
        var ids: [MessageID] = []
        try await run(service, scratch: scratch, clock: clock) { hub in
            try await register(50, at: Self.bad, hub)
            try await register(1, at: Self.bad, hub, tag: "Sports")
            ids.append(try await hub.send(format: "windows", "<toast/>", tags: "World"))
            await hub.settlePushes()
            service.answer { _ in .throttled(.host, after: .seconds(3_600), "406") }
            ids.append(try await hub.send(format: "windows", "<toast/>", tags: "Sports"))
            await hub.settlePushes()
            #expect(service.sent.count == 51)
            service.answer { _ in .accepted(id: nil) }
            // Retries are due, and there are targets that were never tried.
            clock.advance(by: 40)
            ids.append(try await hub.send(format: "windows", "<toast/>", tags: "World"))
            await hub.settlePushes()
            let waiting = try await hub.hub.store.dueRetries(
                hub: hub.hub.record.id,
                platform: .wns,
                at: Timestamp(clock.now) + .seconds(3_600),
                latest: .distantFuture,
                limit: 1_000
            )
            let end = Timestamp(clock.now) + .seconds(3_560)
            #expect(waiting.count == 101 && waiting.allSatisfy { $0.dueAt == end && $0.host == nil })
            #expect(waiting.count { $0.reason == "its host asked for a pause" } == 100)
            clock.advance(by: 20)
        }
        try await run(service, scratch: scratch, clock: clock) { hub in
            for seconds in [0, 600, 2_939] {
                clock.advance(by: Double(seconds))
                await hub.settlePushes()
                #expect(service.sent.count == 51, "within the hour")
            }
            clock.advance(by: 2)
            await hub.settlePushes()
            for (id, count) in zip(ids, [50, 1, 50]) {
                let outcomes = try await hub.report(id).outcomes
                #expect(outcomes == ["wns": ["Success": count]])
            }
        }
    }

    @Test func `one unusual target does not keep its host paused, though all targets wait in the store`() async throws {
        let service = ScriptedPushService()
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            let id = try await wait(60, service, clock, hub)
            let unusual = try #require(service.sent.last?.target.channel.handle)
            service.answer { sent in
                sent.target.channel.handle == unusual ? .retry(after: nil, "500") : .accepted(id: nil)
            }
            for _ in 0..<3 {
                clock.advance(by: 3)
                await hub.settlePushes()
            }
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": 59]])
        }
    }

    // MARK: - Reports

    @Test func `a host that refuses the sender is in the alarms, the metrics and the list of credentials`() async throws
    {
        let service = ScriptedPushService { sent in
            sent.target.channel.host == Self.bad ? .refusedSender("'\(Self.bad)' answered 403") : .accepted(id: nil)
        }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await register(5, at: Self.bad, hub)
            try await hub.send(format: "windows", "<toast/>", tags: "World")
            await hub.settlePushes()
            let sample = "newswire_push_credential_refused{hub=\"news\",platform=\"wns\",host=\"\(Self.bad)\"}"
            #expect(try await hub.metrics()[sample] == 1)
            try await hub.pass(minutes: 20) { await hub.settlePushes() }
            let alarm = try #require(try await hub.alarms().alarms.first)
            #expect(alarm.kind == "refusedCredential" && alarm.subject == "wns at \(Self.bad)")
            #expect(alarm.text.contains("answered 403"), "\(alarm.text)")
            let listed = try await hub.send("GET", "credentials", as: hub.full)
            #expect(listed.body.contains("refused by \(Self.bad) ("), "\(listed.body)")
            #expect(listed.body.contains(#""isUsable":true"#), "other hosts accept it")

            service.answer { _ in .accepted(id: nil) }
            try await hub.pass(minutes: 40) { await hub.settlePushes() }
            #expect(try await hub.metrics()[sample] == nil)
            #expect(try await hub.alarms().alarms.isEmpty)
        }
    }

    @Test(arguments: [
        (PushOutcome.retry(after: nil, "503"), bad as String?), (.throttled(.host, after: .seconds(600), "406"), bad),
        (.throttled(.credential, after: .seconds(600), "429"), nil),
    ])
    func `a push service that keeps failing, or asked for a pause, is in the metrics until it works`(
        failure: PushOutcome,
        host: String?
    ) async throws {
        let service = ScriptedPushService { sent in
            sent.target.channel.host == Self.bad ? failure : .accepted(id: nil)
        }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await register(HostFailures.failuresInRow + 6, at: Self.bad, hub)
            try await register(2, at: Self.good, hub)
            func paused() async throws -> [String] {
                try await hub.metrics().keys.filter { $0.hasPrefix("newswire_push_paused{") }
            }
            let sample = "newswire_push_paused{hub=\"news\",platform=\"wns\"\(host.map { ",host=\"\($0)\"" } ?? "")}"
            #expect(try await paused().isEmpty)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await hub.settlePushes()
            #expect(try await paused() == [sample])
            #expect(try await hub.metrics()[sample] == 1)
            service.answer { _ in .accepted(id: nil) }
            try await hub.pass(minutes: 40) { await hub.settlePushes() }
            #expect(try await paused().isEmpty)
            #expect(try await hub.report(id).outcomes == ["wns": ["Success": HostFailures.failuresInRow + 8]])
        }
    }

    @Test func `a push service that failed last is no longer in the metrics when nothing waits for it`() {
        var hostFailures = HostFailures()
        let now = Timestamp(milliseconds: 1_000_000)
        for second in 0..<HostFailures.failuresInRow {
            #expect(hostFailures.pauses.isEmpty)
            hostFailures.noteFailure("a.example", at: now + .seconds(second), fraction: 1)
        }
        let last = now + .seconds(HostFailures.failuresInRow - 1)
        #expect(hostFailures.pauses == ["a.example": last + HostFailures.reportedAfterFailure])
        hostFailures.noteFailure("a.example", at: last + .seconds(900), fraction: 1)
        #expect(hostFailures.pauses == ["a.example": last + .seconds(900) + HostFailures.reportedAfterFailure])
        hostFailures.noteSuccess("a.example", begunAt: last + .seconds(901))
        #expect(hostFailures.pauses.isEmpty)
    }

    @Test(arguments: [true, false])
    func `a host that refuses the sender is no longer reported when nothing waits for it`(expires: Bool) async throws {
        let service = ScriptedPushService { _ in .refusedSender("403 BadJwtToken") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            let devices = try await register(5, at: Self.bad, hub)
            try await hub.send(format: "windows", "<toast/>", tags: "World")
            for _ in 0..<5 {
                await hub.settlePushes()
                clock.advance(by: 60)
            }
            #expect(hub.hub.push.hostRefusals == [.wns: [Self.bad: "403 BadJwtToken"]])
            if expires {
                clock.advance(by: Double(hub.hub.configuration.timeToLive.components.seconds) + 60)
            } else {
                for device in devices { try await hub.hub.registrations.delete(device, if: .none) }
            }
            for _ in 0..<16 {
                clock.advance(by: 60)
                await hub.settlePushes()
            }
            #expect(hub.hub.push.hostRefusals.isEmpty)
        }
    }

    @Test func `a host that refuses the sender stays paused while targets in memory wait for it`() async throws {
        let service = ScriptedPushService { _ in .refusedSender("403 BadJwtToken") }
        let clock = TestClock()
        service.set(lifetime: .until(Timestamp(clock.now) + .seconds(120)))
        try await run(service, clock: clock) { hub in
            try await register(1, at: Self.bad, hub)
            let first = try await hub.send(format: "windows", "<toast/>", tags: "World")
            for _ in 0..<3 {
                await hub.settlePushes()
                clock.advance(by: 6)
            }
            #expect(service.sent.count == 3 && hub.hub.push.hostRefusals[.wns] != nil)
            service.set()
            let second = try await hub.send(format: "windows", "<toast>2</toast>", tags: "World")
            await hub.settlePushes()
            clock.advance(by: 110)
            for _ in 0..<12 {
                await hub.settlePushes()
                #expect(hub.hub.push.hostRefusals[.wns] != nil)
                clock.advance(by: 30)
            }
            #expect(try await hub.report(first).outcomes == ["wns": ["AbandonedNotificationMessages": 1]])
            #expect(try await hub.report(second).outcomes == nil)
            #expect(service.sent.count <= 6, "probes alone")
        }
    }

    @Test func `a refusal is forgotten with its credential`() async throws {
        let service = ScriptedPushService { _ in .refusedCredential("401") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await register(1, at: Self.bad, hub)
            let id = try await hub.send(format: "windows", "<toast/>", tags: "World")
            await hub.settlePushes()
            #expect(hub.hub.push.refusals == [.wns: "401"])
            try await hub.set { $0.credentials = [] }
            clock.advance(by: Double(hub.hub.configuration.timeToLive.components.seconds) + 60)
            for _ in 0..<3 {
                await hub.settlePushes()
                clock.advance(by: 2)
            }
            #expect(try await hub.report(id).outcomes != nil)
            try await hub.set { $0.credentials = [ScriptedHub.credential] }
            await hub.settlePushes()
            #expect(hub.hub.push.refusals.isEmpty)
        }
    }
}
