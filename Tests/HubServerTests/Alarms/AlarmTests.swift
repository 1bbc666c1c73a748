import Alarms
import Certificates
import Foundation
import HubProtocol
import HubRouting
import PushServices
import Testing

import enum HubTestServer.ExpiredCertificate

@testable import HubServer

/// Alarms of a hub, under a clock that the tests set.
struct AlarmTests {
    /// Reads what an agent with the tag `ops` gets, up to now.
    private func titles(_ stream: EventReader, _ hub: TestHub) async throws -> [String] {
        try await hub.accept("end", tags: TestHub.alarmTag)
        return try await stream.titles(until: "end")
    }

    @Test func `a silent category reaches an agent's stream, once, and its end too`() async throws {
        // All of it within the hour of the stream's token.
        try await TestHub.runAlarmed(try Scratch()) {
            $0.alarmRules.silences = ["World": .seconds(900)]
        } _: { hub in
            let agent = Agent("phone", tags: [TestHub.alarmTag])
            try await hub.register(agent)
            let stream = try await hub.stream(agent)
            await hub.service.alarms.look()
            try await hub.accept("news", tags: "World && lang")
            try await hub.pass(minutes: 15)
            #expect(try await hub.alarms().alarms.isEmpty)
            try await hub.pass(minutes: 15)
            let raised = try await titles(stream, hub)
            #expect(raised == ["No news in 'World'"])
            let list = try await hub.alarms()
            let alarm = try #require(list.alarms.first)
            #expect(list.alarms.count == 1 && list.tag == "ops" && list.omitted == nil)
            #expect(alarm.kind == "silentCategory" && alarm.subject == "World" && alarm.isRaised && !alarm.isSilenced)
            #expect(alarm.text.contains("newswire hub alarms silence \(alarm.id)"))
            // Neither a broadcast nor another category ends it.
            try await hub.accept("to all")
            try await hub.accept("other", tags: "Sports && !World")
            try await hub.pass(minutes: 5)
            #expect(try await hub.alarms().alarms.map(\.id) == [alarm.id])
            try await hub.accept("news", tags: "world")
            try await hub.pass(minutes: 15)
            let ended = try await titles(stream, hub)
            #expect(ended == ["to all", "Ended: No news in 'World'"])
            #expect(try await hub.alarms().alarms.isEmpty)
        }
    }

    @Test func `a certificate for APNs that has expired is in the alarms, with the reason`() async throws {
        try await TestHub.runAlarmed(try Scratch()) {
            $0.pushServices = PushServiceDirectory()
        } _: { hub in
            let certificate = PlatformCredential.Property(name: "ApnsCertificate", value: ExpiredCertificate.pem)
            try await hub.set { $0.credentials = [PlatformCredential(.apns, [certificate])] }
            await hub.service.push.settle()
            try await hub.pass(minutes: 20)
            let alarm = try #require(try await hub.alarms().alarms.first)
            #expect(alarm.kind == "refusedCredential" && alarm.subject == "apns")
            #expect(alarm.text.contains("ApnsCertificate expired on 2020-01-01"), "\(alarm.text)")
        }
    }

    @Test func `a feed that fails for a day, and its publisher's silence`() async throws {
        try await TestHub.runAlarmed(try Scratch()) { hub in
            let url = "https://a.example/feed"
            let since = hub.clock.now - 86_400 + 1_200
            try await hub.report(failing: [(url, since)])
            try await hub.pass(minutes: 15) { try await hub.report(failing: [(url, since)]) }
            #expect(try await hub.notices().isEmpty)
            try await hub.pass(minutes: 30) { try await hub.report(failing: [(url, since)]) }
            #expect(try await hub.notices() == ["Feed fails: \(url)"])
            let alarm = try #require(try await hub.alarms().alarms.first)
            #expect(alarm.publisher == "desk" && alarm.since == ISODateTime.formatSeconds(since))
            try await hub.report()
            try await hub.pass(minutes: 5)
            try await hub.pass(minutes: 35)
            #expect(
                try await hub.notices() == [
                    "Feed fails: \(url)", "Ended: Feed fails: \(url)", "Publisher 'desk' does not report",
                ]
            )
            try await hub.report()
            try await hub.pass(minutes: 5)
            #expect(try await hub.notices().last == "Ended: Publisher 'desk' does not report")
        }
    }

    @Test func `a feed that fails for a day at one publisher, and not so long at another`() async throws {
        try await TestHub.runAlarmed(try Scratch()) { hub in
            let url = "https://a.example/feed"
            let (recent, since) = (hub.clock.now, hub.clock.now - 2 * 86_400)
            try await hub.pass(minutes: 30) {
                for name in ["a", "z"] { try await hub.report(name, failing: [(url, recent)]) }
                try await hub.report("desk", failing: [(url, since)])
            }
            #expect(try await hub.notices() == ["Feed fails: \(url)"])
            #expect(try await hub.alarms().alarms.first?.publisher == "desk")
        }
    }

    @Test func `a publisher with a thousand failing feeds displaces none of another's`() async throws {
        try await TestHub.runAlarmed(try Scratch()) { hub in
            let since = hub.clock.now - 2 * 86_400
            let invented = (0..<AlarmObserver.maximumFeeds).map { ("https://a\($0).example/", since) }
            let url = "https://z.example/feed"
            try await hub.pass(minutes: 30) {
                try await hub.report("a", failing: invented)
                try await hub.report("desk", failing: [(url, since)])
            }
            let alarms = hub.hub.alarms.record.judge.alarms
            #expect(alarms.count == AlarmObserver.maximumFeeds)
            #expect(alarms.contains(Alarm(.failingFeed, url)))
        }
    }

    @Test func `ten thousand new categories displace none that is watched`() async throws {
        try await TestHub.runAlarmed(try Scratch()) {
            $0.alarmRules.silences = [:]
            $0.alarmRules.learning = .seconds(300)
            $0.alarmRules.shortestSilence = .seconds(900)
        } _: { hub in
            try await hub.hub.setCategories(["Harbour"], publisher: "z", bytes: 0)
            await hub.service.alarms.look()
            for _ in 1...3 {
                try await hub.accept("news", tags: "Harbour")
                try await hub.pass(minutes: 5)
            }
            let invented = (0..<AlarmObserver.maximumCategories).map { "c\($0)" }
            try await hub.hub.setCategories(invented, publisher: "a", bytes: 0)
            try await hub.pass(minutes: 30)
            #expect(hub.hub.alarms.record.judge.alarms == [Alarm(.silentCategory, "Harbour")])
        }
    }

    @Test func `what is wrong with one hub hides no alarm of another`() async throws {
        let scratch = try Scratch()
        try await TestHub.runAlarmed(scratch) { hub in
            let named = try await hub.make("other")
            let other = try hub.service.directory.hub(named: "other")
            await hub.service.alarms.look()
            #expect(try await hub.post("news", tags: "World", at: named).status == 201)
            try await hub.report(failing: [("https://a.example/feed", hub.clock.now)])
            try await scratch.damage("UPDATE publisherReport SET report = '{}'")
            try await hub.pass(minutes: 75)
            #expect(other.alarms.record.judge.alarms == [Alarm(.silentCategory, "World")])
        }
    }

    @Test func `an agent that should be there, from when it first was`() async throws {
        try await TestHub.runAlarmed(try Scratch()) {
            $0.alarmAgents = [try InstallationID("lobby"), try InstallationID("never")]
        } _: { hub in
            try await hub.pass(minutes: 120)
            #expect(try await hub.notices().isEmpty)
            let agent = Agent("lobby")
            try await hub.register(agent)
            try await hub.pass(minutes: 60)
            #expect(try await hub.notices().isEmpty)
            try await hub.pass(minutes: 10)
            #expect(try await hub.notices() == ["Agent 'lobby' is not connected"])
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            try await hub.pass(minutes: 5)
            #expect(try await hub.notices().last == "Ended: Agent 'lobby' is not connected")
            stream.disconnect()
            let removed = try await hub.send("DELETE", "installations/lobby", as: hub.full)
            #expect(removed.status == 204, "\(removed.body)")
            try await hub.pass(minutes: 70)
            #expect(try await hub.notices().count == 3, "one that was removed is missed, too")
        }
    }

    @Test func `a credential that expires soon`() async throws {
        let service = ScriptedPushService()
        try await ScriptedHub.run(service) {
            $0.alarmTag = try? Tag(TestHub.alarmTag)
        } _: { hub in
            service.set(expiry: Timestamp(hub.clock.now) + .seconds(20 * 86_400))
            try await hub.pass(minutes: 30)
            #expect(try await hub.notices().isEmpty)
            let end = Timestamp(hub.clock.now) + .seconds(13 * 86_400)
            service.set(expiry: end)
            try await hub.pass(minutes: 30)
            #expect(try await hub.notices() == ["Credential for apns expires on \(end.wholeSecond.prefix(10))"])
            #expect(try await hub.alarms().alarms.first?.deadline == end.wholeSecond)
            service.set(expiry: nil)
            try await hub.pass(minutes: 30)
            #expect(try await hub.notices().count == 2)
        }
    }

    @Test(arguments: [true, false])
    func `a certificate that expires soon, unless the hub renews it`(isOurs: Bool) async throws {
        let scratch = try Scratch()
        let source = CertificateSource.test(in: scratch)
        let identity = try source.identity(at: TestClock().now)
        let (chain, key) = ("\(scratch.folder)/chain.pem", "\(scratch.folder)/key.pem")
        try identity.chain.write(toFile: chain, atomically: true, encoding: .utf8)
        try identity.privateKey.write(toFile: key, atomically: true, encoding: .utf8)
        let clock = TestClock(identity.facts.notAfter - 10 * 86_400)
        try await TestHub.runAlarmed(scratch, clock: clock) {
            $0.certificate = isOurs ? source : .files(CertificateFiles(certificate: chain, key: key))
        } _: { hub in
            try await hub.pass(minutes: 30)
            let day = Timestamp(identity.facts.notAfter).wholeSecond.prefix(10)
            let expected = isOurs ? [] : ["TLS certificate of localhost expires on \(day)"]
            #expect(try await hub.notices() == expected)
        }
    }

    @Test func `messages that are dropped for size, until none is for an hour`() async throws {
        let scratch = try Scratch()
        try await TestHub.runAlarmed(scratch) { hub in
            try await hub.pass(minutes: 20)
            try await scratch.damage("UPDATE retention SET bySize = bySize + 7")
            try await hub.pass(minutes: 30)
            #expect(try await hub.notices() == ["The hub drops messages before they expire"])
            try await scratch.damage("UPDATE retention SET bySize = bySize + 7")
            try await hub.pass(minutes: 60)
            #expect(try await hub.notices().count == 1)
            try await hub.pass(minutes: 10)
            #expect(try await hub.notices().last == "Ended: The hub drops messages before they expire")
        }
    }
}

// MARK: - What raises nothing

extension AlarmTests {
    @Test func `a fresh install is quiet`() async throws {
        try await TestHub.runAlarmed(try Scratch()) { hub in
            try await hub.pass(minutes: 1_440)
            #expect(try await hub.notices().isEmpty)
            #expect(try await hub.alarms().alarms.isEmpty)
        }
    }

    @Test func `a restart neither raises nor clears again`() async throws {
        let (scratch, clock) = (try Scratch(), TestClock())
        try await TestHub.runAlarmed(scratch, clock: clock) { hub in
            await hub.service.alarms.look()
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 75)
            #expect(try await hub.notices().count == 1)
        }
        for _ in 1...2 {
            clock.advance(by: 3_600)
            try await TestHub.runAlarmed(scratch, clock: clock) { hub in
                #expect(try await hub.alarms().alarms.map(\.subject) == ["World"])
                try await hub.pass(minutes: 60)
                #expect(try await hub.notices() == ["No news in 'World'"])
            }
        }
        try await TestHub.runAlarmed(scratch, clock: clock) { hub in
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 10)
            #expect(try await hub.notices().count == 1, "a start settles")
            try await hub.pass(minutes: 10)
            #expect(try await hub.notices() == ["No news in 'World'", "Ended: No news in 'World'"])
        }
    }

    @Test func `time in which the hub was stopped does not count`() async throws {
        let (scratch, clock) = (try Scratch(), TestClock())
        for _ in 1...3 {
            try await TestHub.runAlarmed(scratch, clock: clock) { hub in
                await hub.service.alarms.look()
                try await hub.accept("news", tags: "World")
                try await hub.pass(minutes: 40)
                #expect(try await hub.notices().isEmpty)
            }
            clock.advance(by: 20_000)
        }
    }

    @Test func `an older copy that is put back raises nothing`() async throws {
        let (scratch, clock) = (try Scratch(), TestClock())
        try await TestHub.runAlarmed(scratch, clock: clock) { hub in
            await hub.service.alarms.look()
            try await hub.accept("news", tags: "World")
            let since = hub.clock.now - 90_000
            try await hub.report("watch", failing: [("https://a.example/", since)])
            try await hub.pass(minutes: 55) { try await hub.report() }
        }
        try scratch.copyHub(to: "older")
        try await TestHub.runAlarmed(scratch, clock: clock) { hub in
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 5)
        }
        try scratch.restoreHub(from: "older")
        clock.advance(by: 40_000)
        try await TestHub.runAlarmed(scratch, clock: clock) { hub in
            let before = try await hub.notices()
            try await hub.pass(minutes: 25)
            #expect(try await hub.notices() == before)
        }
    }

    @Test func `nothing is raised while the clock is off`() async throws {
        try await TestHub.runAlarmed(try Scratch()) { hub in
            await hub.service.alarms.look()
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 30)
            hub.clock.jump(by: 400 * 86_400)
            // It has to be steady for an hour before it is trusted.
            try await hub.pass(minutes: 60)
            #expect(try await hub.notices().isEmpty)
            hub.clock.jump(by: -400 * 86_400)
            try await hub.pass(minutes: 60)
            #expect(try await hub.notices().isEmpty)
            #expect(try await hub.alarms().alarms.isEmpty)
        }
    }

    @Test func `a hub that is disabled misses nothing`() async throws {
        try await TestHub.runAlarmed(try Scratch()) { hub in
            await hub.service.alarms.look()
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 30)
            try await hub.set { $0.isDisabled = true }
            try await hub.pass(minutes: 300)
            try await hub.set { $0.isDisabled = false }
            try await hub.pass(minutes: 10)
            #expect(try await hub.notices().isEmpty)
        }
    }
}
