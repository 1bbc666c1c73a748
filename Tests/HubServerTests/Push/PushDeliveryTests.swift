import Foundation
import HubProtocol
import HubRouting
import HubStore
import Logging
import PushServices
import Testing

import class HubTestServer.Gate
import class HubTestServer.LogLines

@testable import HubServer

/// Messages on their way to a push service.
struct PushDeliveryTests {
    private static let credential = PlatformCredential(
        .apns,
        [.init(name: "AppId", value: "TEAM"), .init(name: "AppName", value: "org.example.news")]
    )

    /// Runs a hub that has a credential for APNs.
    private func run(
        _ service: ScriptedPushService,
        scratch: Scratch? = nil,
        clock: TestClock = TestClock(),
        logger: Logger = .quiet,
        _ body: (TestHub) async throws -> Void
    ) async throws {
        try await TestHub.run(try scratch ?? Scratch(), clock: clock, logger: logger) {
            $0.pushServices = service
        } _: { hub in
            try await hub.set { $0.credentials = [Self.credential] }
            try await body(hub)
        }
    }

    private func phones(_ count: Int, _ hub: TestHub, tags: [String] = ["World"]) async throws {
        for number in 0..<count { try await hub.install("p\(number)", handle: handle(number), tags: tags) }
    }

    private func handle(_ number: Int) -> String { "AA\(String(format: "%04d", number))" }

    private func state(_ id: MessageID, _ hub: TestHub) async throws -> DeliveryState? {
        let message = try #require(try await hub.hub.store.message(hub: hub.hub.record.id, id: id, through: hub.head))
        return try await hub.hub.store.deliveryStates(of: message.logged.sequence).first
    }

    @Test func `each registration that matches is sent its own text once`() async throws {
        let service = ScriptedPushService()
        try await run(service) { hub in
            try await phones(3, hub)
            try await hub.install("other", handle: "BBBB", tags: ["Sports"])
            let id = try await hub.send(format: "template", #"{"title":"Flood"}"#, tags: "World")
            await hub.service.push.settle()
            #expect(service.handles == (0..<3).map { handle($0) })
            #expect(Set(service.sent.map(\.body)) == [#"{"aps":{"alert":"Flood"}}"#])
            let report = try await hub.report(id)
            #expect(report.state == .completed && report.outcomes == ["apns": ["Success": 3]])
            let ended = try await state(id, hub)
            #expect(ended?.delivery.remaining == 0 && ended?.delivery.endedAt != nil)
        }
    }

    @Test func `a hub without a credential gives up at once`() async throws {
        let service = ScriptedPushService()
        try await TestHub.run(try Scratch()) {
            $0.pushServices = service
        } _: { hub in
            try await phones(1, hub)
            let id = try await hub.send(format: "template", #"{"title":"Flood"}"#)
            let ended = try #require(try await state(id, hub)).delivery
            #expect(ended.endedAs == .abandoned && ended.remaining == 0)
            #expect(try await hub.report(id).state == .abandoned)
            try await hub.set { $0.credentials = [Self.credential] }
            await hub.service.push.settle()
            #expect(service.sent.isEmpty, "what came before there was a credential is not sent")
        }
    }

    @Test func `a target that fails for now is tried again until it has the message`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(30), "503") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(1, hub)
            let id = try await hub.send(format: "template", #"{"title":"Flood"}"#)
            await hub.service.push.settle()
            #expect(service.sent.count == 1)
            #expect(try await hub.report(id).state == .processing)
            #expect(try await state(id, hub)?.retries == 1)
            service.answer { _ in .accepted(id: nil) }
            clock.advance(by: 31)
            await hub.service.push.settle()
            #expect(service.sent.count == 2)
            #expect(service.sent[0].target.id == service.sent[1].target.id)
            #expect(try await hub.report(id).outcomes == ["apns": ["Success": 1]])
            #expect(try await state(id, hub)?.retries == 0)
        }
    }

    @Test func `a rate limit is logged once for each pause`() async throws {
        let service = ScriptedPushService { _ in .throttled(.credential, after: .seconds(30), "TooManyRequests") }
        let (clock, lines) = (TestClock(), LogLines())
        func count() -> Int { lines.all.count { $0.contains("limits the rate of messages") } }
        try await run(service, clock: clock, logger: lines.logger) { hub in
            try await phones(20, hub)
            try await hub.send(format: "template", #"{"title":"Flood"}"#)
            await hub.service.push.settle()
            #expect(service.sent.count > 1 && count() == 1)
            clock.advance(by: 31)
            hub.service.push.wakeAll()
            await hub.service.push.settle()
            #expect(count() == 2)
        }
    }

    @Test func `only the end of its time ends a message's retries`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(3_000), "503") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(1, hub)
            let id = try await hub.send(format: "template", #"{"title":"Flood"}"#)
            await hub.service.push.settle()
            for _ in 0..<100 {
                clock.advance(by: 3_600)
                hub.service.push.wakeAll()
                await hub.service.push.settle()
            }
            #expect(service.sent.count > 60)
            let report = try await hub.report(id)
            #expect(report.state == .abandoned && report.outcomes == ["apns": ["AbandonedNotificationMessages": 1]])
        }
    }

    @Test func `what the message itself allows bounds its retries`() async throws {
        let service = ScriptedPushService { _ in .retry(after: nil, "503") }
        service.set(lifetime: .once)
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(1, hub)
            let id = try await hub.send(format: "template", #"{"title":"Flood"}"#)
            await hub.service.push.settle()
            #expect(service.sent.first?.target.expiresAt == nil)
            clock.advance(by: 61)
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["AbandonedNotificationMessages": 1]])
            #expect(service.sent.count == 1)
        }
    }

    @Test func `a device that changed hands never gets its former user's message`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(10), "503") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await hub.install("phone", handle: "AAAA", tags: ["World"])
            let id = try await hub.send(format: "template", #"{"title":"For Ann"}"#, tags: "World")
            await hub.service.push.settle()
            try await hub.install("phone", handle: "AAAA", tags: ["Sports"])
            service.answer { _ in .accepted(id: nil) }
            clock.advance(by: 60)
            await hub.service.push.settle()
            #expect(service.sent.count == 1)
            #expect(try await hub.report(id).outcomes == ["apns": ["Skipped": 1]])
        }
    }

    @Test func `a registration that is gone is counted and not sent to`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(10), "503") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(1, hub)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            _ = try await hub.send("DELETE", "installations/p0", as: hub.listen)
            clock.advance(by: 60)
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["Skipped": 1]])
        }
    }

    @Test func `a refused credential fails no target, and one probe finds out when it is taken`() async throws {
        let service = ScriptedPushService { _ in .refusedCredential("InvalidProviderToken") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(10, hub)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            let refused = service.sent.count
            #expect(refused >= 1 && refused <= 10)
            #expect(try await hub.report(id).outcomes == nil)
            #expect(hub.hub.push.refusal(.apns) == "InvalidProviderToken")
            clock.advance(by: 61)
            hub.service.push.wakeAll()
            await hub.service.push.settle()
            #expect(service.sent.count == refused + 1, "one probe")
            service.answer { _ in .accepted(id: nil) }
            clock.advance(by: 121)
            hub.service.push.wakeAll()
            await hub.service.push.settle()
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["Success": 10]])
        }
    }

    @Test func `a dead handle is removed from every registration that has it`() async throws {
        let service = ScriptedPushService { sent in
            sent.target.channel.handle == "AAAA"
                ? .deadHandle(DeadHandle(reason: "Unregistered")) : .accepted(id: nil)
        }
        try await run(service) { hub in
            try await hub.install("phone", handle: "AAAA", tags: ["World"])
            let alone = Registration(
                id: .random(),
                tags: [try Tag("World")],
                platform: .apns,
                pushChannel: .handle("aaaa")
            )
            _ = try await hub.hub.registrations.put(alone, if: .none, bytes: 0, grant: hub.manageGrant)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["ExpiredChannel": 1]])
            #expect(try await hub.hub.store.registration(hub: hub.hub.record.id, id: alone.id) == nil)
            let phone = try await hub.hub.store.installation(hub: hub.hub.record.id, id: try InstallationID("phone"))
            #expect(phone?.installation.pushChannelExpired == true)
            _ = try await hub.send(format: "template", #"{"title":"y"}"#)
            await hub.service.push.settle()
            #expect(service.sent.count == 1, "a dead handle is not tried again")
            try await hub.install("phone", handle: "BBBB", tags: ["World"])
            _ = try await hub.send(format: "template", #"{"title":"z"}"#)
            await hub.service.push.settle()
            #expect(service.sent.count == 2, "a new handle is")
        }
    }

    @Test func `a handle that was registered after it died stays`() async throws {
        let clock = TestClock()
        let died = Timestamp(clock.now) - .seconds(60)
        let service = ScriptedPushService { _ in .deadHandle(DeadHandle(since: died, reason: "Unregistered")) }
        try await run(service, clock: clock) { hub in
            try await phones(1, hub)
            _ = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            let phone = try await hub.hub.store.installation(hub: hub.hub.record.id, id: try InstallationID("p0"))
            #expect(phone?.installation.pushChannelExpired == false)
        }
    }

    @Test func `a wrong endpoint does not empty a hub`() async throws {
        let service = ScriptedPushService { _ in
            .deadHandle(DeadHandle(isCertain: false, reason: "BadDeviceToken"))
        }
        try await run(service) { hub in
            try await phones(5, hub)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["BadChannel": 5]])
            for number in 0..<5 {
                let id = try InstallationID("p\(number)")
                let phone = try await hub.hub.store.installation(hub: hub.hub.record.id, id: id)
                #expect(phone?.installation.pushChannelExpired == false)
            }
        }
    }

    @Test func `one handle is sent the same text once`() async throws {
        let service = ScriptedPushService()
        try await run(service) { hub in
            for name in ["a", "b", "c"] { try await hub.install(name, handle: "AAAA", tags: ["World"]) }
            let other = #"{\"aps\":{\"alert\":\"{'D ' + $(title)}\"}}"#
            try await hub.install("d", handle: "AAAA", tags: ["World"], body: other)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            #expect(service.sent.map(\.body).sorted() == [#"{"aps":{"alert":"D x"}}"#, #"{"aps":{"alert":"x"}}"#])
            #expect(try await hub.report(id).outcomes == ["apns": ["Success": 2, "Skipped": 2]])
        }
    }

    @Test func `a message that no service can take fails with its reason`() async throws {
        let service = ScriptedPushService()
        try await run(service) { hub in
            try await phones(2, hub)
            let id = try await hub.send(format: "template", #"{"title":"bad"}"#)
            await hub.service.push.settle()
            #expect(service.sent.isEmpty)
            let report = try await hub.report(id)
            #expect(report.outcomes == ["apns": ["InvalidNotificationFormat": 2]] && report.state == .completed)
            let delivery = try #require(try await state(id, hub))
            let failures = try await hub.hub.store.failedTargets(of: delivery.delivery.key, limit: 10).map(\.failure)
            #expect(failures.map(\.reason) == ["it says 'bad'", "it says 'bad'"])
        }
    }

    @Test func `a direct send reaches its handles, known or not, once each`() async throws {
        let service = ScriptedPushService()
        try await run(service) { hub in
            let id = try await hub.send(format: "apple", #"{"aps":{"alert":"x"}}"#, device: "ABCD")
            await hub.service.push.settle()
            #expect(service.handles == ["ABCD"])
            #expect(try await hub.report(id).state == .completed)
        }
    }

    @Test func `a restart goes on where the last one stopped`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let service = ScriptedPushService { sent in
            sent.target.channel.handle == "AA0001" ? .accepted(id: nil) : .retry(after: .seconds(10), "503")
        }
        try await run(service, scratch: scratch, clock: clock) { hub in
            let stored = try #require(try await hub.hub.store.hub(id: hub.hub.record.id))
            try await hub.hub.perform { transaction, _ in
                var stored = stored
                stored.description.credentials = [Self.credential]
                try transaction.update(stored)
                return ((), [])
            }
            try await phones(3, hub)
            _ = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            #expect(service.sent.count == 3)
        }
        service.answer { _ in .accepted(id: nil) }
        clock.advance(by: 60)
        try await TestHub.run(scratch, clock: clock) {
            $0.pushServices = service
        } _: { hub in
            await hub.service.push.settle()
            #expect(service.handles == ["AA0000", "AA0000", "AA0001", "AA0002", "AA0002"])
            let reports = try await hub.newest()
            #expect(reports.first?.outcomes == ["apns": ["Success": 3]])
        }
    }

    @Test func `queued messages are not sent with a credential of another app`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(10), "503") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(2, hub)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            try await hub.set {
                $0.credentials = [
                    PlatformCredential(
                        .apns,
                        [.init(name: "AppId", value: "OTHER"), .init(name: "AppName", value: "org.example.other")]
                    )
                ]
            }
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["WrongToken": 2]])
            let phone = try await hub.hub.store.installation(hub: hub.hub.record.id, id: try InstallationID("p0"))
            #expect(phone?.installation.pushChannelExpired == false)
        }
    }

    @Test func `a certificate for another app ends queued messages, and a renewed one or a key does not`() async throws
    {
        let service = ScriptedPushService { _ in .retry(after: .seconds(10), "503") }
        @Sendable func certificate(_ app: String, password: String) -> PlatformCredential {
            PlatformCredential(
                .apns,
                [.init(name: "ApnsCertificate", value: app), .init(name: "CertificateKey", value: password)]
            )
        }
        try await run(service) { hub in
            try await hub.set { $0.credentials = [certificate("org.example.news", password: "1")] }
            try await phones(2, hub)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            for credential in [certificate("org.example.news", password: "2"), Self.credential] {
                try await hub.set { $0.credentials = [credential] }
                await hub.service.push.settle()
                #expect(try await hub.report(id).outcomes == nil)
                #expect(try await state(id, hub)?.delivery.remaining == 2)
            }
            try await hub.set { $0.credentials = [certificate("org.example.other", password: "3")] }
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["WrongToken": 2]])
        }
    }

    @Test func `a later message with the same key makes a retry superfluous`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(10), "503") }
        service.set(collapseKey: "score")
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(1, hub)
            let first = try await hub.send(format: "template", #"{"title":"1:0"}"#)
            await hub.service.push.settle()
            service.answer { _ in .accepted(id: nil) }
            let second = try await hub.send(format: "template", #"{"title":"2:0"}"#)
            await hub.service.push.settle()
            clock.advance(by: 60)
            await hub.service.push.settle()
            #expect(service.sent.map(\.body).map { $0.contains("1:0") } == [true, false])
            #expect(try await hub.report(first).outcomes == ["apns": ["Skipped": 1]])
            #expect(try await hub.report(second).outcomes == ["apns": ["Success": 1]])
            #expect(
                hub.hub.counters.push.all == [
                    .init(platform: .apns, outcome: .skipped): 1, .init(platform: .apns, outcome: .success): 1,
                ]
            )
        }
    }

    @Test func `devices that fail for days do not hold up later messages`() async throws {
        let service = ScriptedPushService { sent in
            sent.target.channel.handle.hasSuffix("0000") ? .retry(after: .seconds(3_000), "503") : .accepted(id: nil)
        }
        try await run(service) { hub in
            try await phones(2, hub)
            let count = DeliveryLane.maximumReading + 6
            for number in 0..<count { _ = try await hub.send(format: "template", #"{"title":"\#(number)"}"#) }
            await hub.service.push.settle()
            #expect(service.handles.count { $0 == handle(1) } == count)
        }
    }

    @Test func `a hub that is disabled sends nothing, and goes on when it is enabled`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(30), "503") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(1, hub)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            await hub.service.push.settle()
            try await hub.set { $0.isDisabled = true }
            service.answer { _ in .accepted(id: nil) }
            clock.advance(by: 60)
            hub.service.push.wakeAll()
            await hub.service.push.settle()
            #expect(service.sent.count == 1)
            try await hub.set { $0.isDisabled = false }
            hub.service.push.wakeAll()
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["Success": 1]])
        }
    }

    @Test func `a probe that comes too late for its message does not keep the credential out of use`() async throws {
        let service = ScriptedPushService { _ in .refusedCredential("InvalidProviderToken") }
        let clock = TestClock()
        try await run(service, clock: clock) { hub in
            try await phones(1, hub)
            service.set(lifetime: .until(Timestamp(clock.now) + .seconds(90)))
            let short = try await hub.send(format: "template", #"{"title":"short"}"#)
            await hub.service.push.settle()
            service.answer { _ in .accepted(id: nil) }
            func wait() async {
                clock.advance(by: 120)
                hub.service.push.wakeAll()
                await hub.service.push.settle()
            }
            // Nothing else is there to probe with.
            await wait()
            #expect(try await hub.report(short).outcomes == ["apns": ["AbandonedNotificationMessages": 1]])
            service.set(lifetime: .unspecified)
            let long = try await hub.send(format: "template", #"{"title":"long"}"#)
            for _ in 0..<4 { await wait() }
            #expect(try await hub.report(short).outcomes == ["apns": ["AbandonedNotificationMessages": 1]])
            #expect(try await hub.report(long).outcomes == ["apns": ["Success": 1]])
        }
    }

    @Test func `a device whose refusal is its own does not stop the others`() async throws {
        // Its refusal is judged by what others are answered after it.
        let gate = Gate()
        let service = ScriptedPushService { sent in
            if sent.target.channel.handle.hasSuffix("0000") { return .refusedCredential("401") }
            await gate.opened()
            return .accepted(id: nil)
        }
        let clock = TestClock()
        let log = LogLines(level: .error) { line in
            if line.contains("a push service refuses the hub's credential") { gate.open() }
        }
        try await run(service, clock: clock, logger: log.logger) { hub in
            try await phones(20, hub)
            let id = try await hub.send(format: "template", #"{"title":"x"}"#)
            for _ in 0..<8 {
                await hub.service.push.settle()
                clock.advance(by: 1_000)
                hub.service.push.wakeAll()
            }
            await hub.service.push.settle()
            #expect(try await hub.report(id).outcomes == ["apns": ["Success": 19, "WrongToken": 1]])
        }
    }
}
