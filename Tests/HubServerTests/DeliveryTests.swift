import Foundation
import HubProtocol
import HubRouting
import HubStore
import StreamProbe
import Synchronization
import Testing

import class HubTestServer.Gate

@testable import HubServer

/// What became of messages, asked through the routes.
struct DeliveryTests {
    private let phone =
        #"{"installationId":"p","platform":"apns","pushChannel":"aa11","tags":["World"],"#
        + #""templates":{"t":{"body":"{\"aps\":{\"alert\":\"$(title)\"}}"}}}"#

    // MARK: - Counts

    @Test func `a message is counted by platform and followed at its streams`() async throws {
        let scratch = try Scratch()
        let agents = ["back", "open", "away", "gone"].map { Agent($0, tags: ["World"]) }
        try await TestHub.run(scratch) { hub in
            for agent in agents { try await hub.register(agent) }
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            let streams = try agents.prefix(2).map { try hub.probe($0) }
            try await hub.settle(streams)
            let id = try await hub.accept("x", tags: "World")
            try await hub.settle(streams)
            try await hub.hub.installations.delete(InstallationID("gone"), grant: hub.manageGrant, channel: nil)
            // One comes back with what it has.
            let again = try hub.probe(agents[0], after: streams[0].probe.cursor)
            try await hub.settle([again, streams[1]])

            let report = try await hub.report(id)
            #expect(report.tags == "World")
            #expect(report.matched == ["apns": 1, "stream": 4])
            var expected = StreamOutcomes()
            expected.matched = 3
            expected.written = 2
            expected.resumedPast = 1
            expected.pending = 1
            expected.gone = 1
            #expect(report.streams == expected)
            #expect(report.state == .abandoned, "there is no credential for the phone")
            #expect(report.acceptedAt == "2030-03-17T17:46:40Z" && report.expiresAt == "2030-03-20T17:46:40Z")
        }
        // What was seen is known after a restart.
        try await TestHub.run(scratch) { hub in
            let report = try #require(try await hub.newest().first)
            #expect(report.matched == ["apns": 1, "stream": 4])
            #expect(report.streams.written == 2 && report.streams.resumedPast == 1)
            let late = try hub.probe(agents[2])
            try await hub.settle([late])
            #expect(try await hub.newest().first?.streams.pending == 0)
            #expect(try await hub.newest().first?.state == .abandoned, "the phone did not get it")
        }
    }

    @Test func `a message is for those who wanted it when it came`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var (comes, leaves) = (Agent("comes", tags: ["Sports"]), Agent("leaves", tags: ["World"]))
            for agent in [comes, leaves] { try await hub.register(agent) }
            let id = try await hub.accept("x", tags: "World")
            (comes.tags, leaves.tags) = (["World"], ["Sports"])
            for agent in [comes, leaves, Agent("new", tags: ["World"])] { try await hub.register(agent) }
            let report = try await hub.report(id)
            #expect(report.matched == ["stream": 1])
            #expect(report.streams.matched == 1 && report.streams.pending == 1 && report.streams.gone == 0)
            #expect(try await hub.report(id, "leaves").device?.outcome == .pending)
            #expect(try await hub.report(id, "comes").device?.outcome == .notMatched)
        }
    }

    @Test func `a change in the very commit of a message counts, and is noted`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            try await hub.register(Agent("a", tags: ["World"]))
            // Both wait behind what the writer is doing, and are committed together.
            let (isHeld, gate) = (Gate(), Gate())
            hub.hub.writer.whenReached {
                isHeld.open()
                gate.blockUntilOpen()
            }
            defer { gate.open() }
            await isHeld.opened()
            // The hub's own upkeep may wait there, too.
            var waiting = hub.hub.writer.backlog.changes
            async let registered: Void = hub.register(Agent("b", tags: ["World"]))
            try await hub.wait { hub.hub.writer.backlog.changes > waiting }
            waiting = hub.hub.writer.backlog.changes
            async let accepted = hub.accept("x", tags: "World")
            try await hub.wait { hub.hub.writer.backlog.changes > waiting }
            gate.open()
            try await registered
            let id = try await accepted
            #expect(try await hub.report(id).matched == ["stream": 2])
            try await hub.hub.flushRecounted()
            let head = hub.head
            let stored = try await hub.hub.store.message(hub: hub.hub.record.id, id: id, through: head)
            #expect(stored?.matched?.platforms == ["stream": 2])
            #expect(try await hub.hub.ask { $0.recounted.isEmpty })
        }
    }

    @Test func `counts are those of the streams that match`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let expressions = [nil, "World", "World && !Sports", "!World", "$InstallationId:{a3}"]
            for round in 0..<40 {
                let agent = Agent("a\(round % 7)", tags: [["World"], ["Sports"], ["World", "Sports"], []][round % 4])
                if round % 9 == 8 {
                    try await hub.hub.installations.delete(
                        InstallationID(agent.id),
                        grant: hub.manageGrant,
                        channel: nil
                    )
                } else {
                    try await hub.hub.installations.put(
                        agent.installation,
                        bytes: 0,
                        grant: hub.manageGrant,
                        channel: agent.secret
                    )
                }
                for text in expressions {
                    let parsed = try text.map { try TagExpression(parsing: $0) }
                    let id = try await hub.accept("x", tags: text)
                    let anew = try await hub.hub.ask { $0.matched(by: parsed).counts.total }
                    let matched = try await hub.report(id).matched
                    #expect(matched == (anew == 0 ? [:] : ["stream": anew]), "\(round) \(text ?? "all")")
                }
            }
        }
    }

    @Test func `each of more agents than are looked up at once is reported`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let count = 1_030
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    let agent = Agent("a\(number)", tags: [number == 7 ? "Sports" : "World"])
                    group.addTask { try await hub.register(agent) }
                }
                try await group.waitForAll()
            }
            for (tags, pending) in [(nil, count), ("World", count - 1), ("Sports", 1)] {
                let report = try await hub.report(try await hub.accept("x", tags: tags))
                #expect(report.streams.pending == pending && report.matched == ["stream": pending], "\(tags ?? "all")")
            }
        }
    }

    @Test func `the newest messages are listed, those of nobody too`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register(Agent("a", tags: ["World"]))
            var ids: [MessageID] = []
            for title in ["1", "2", "3"] { ids.append(try await hub.accept(title, tags: "World")) }
            ids.append(try await hub.accept("nobody", tags: "Sports"))
            #expect(try await hub.newest().map(\.id) == ids.reversed())
            #expect(try await hub.newest("?last=2").map(\.state) == [.noTargetFound, .completed])
            for wrong in ["0", "101", "x", ""] {
                let reply = try await hub.send("GET", "deliveries?last=\(wrong)", as: hub.full)
                #expect(reply.status == 400 && reply.body.contains("from 1 to 100"), "\(wrong)")
            }
        }
    }

    // MARK: - One device

    @Test func `a device that does not match is explained tag by tag`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register(Agent("alice", tags: ["Sports", "Tech"]))
            let id = try await hub.accept("x", tags: "World && !Sports || Weather")
            let device = try #require(try await hub.report(id, "alice").device)
            #expect(device.outcome == .notMatched)
            #expect(
                device.explanation == [
                    """
                    device 'alice' did not get it: the expression needs 'World' and excludes 'Sports' or needs \
                    'Weather' and it has 'Sports', 'Tech'
                    """
                ]
            )
            let expression = try #require(device.templates?.first?.expression)
            #expect(!expression.holds && expression.operator == .or)
            let leaves = expression.operands?.first?.operands?.map { "\($0.expression) \($0.holds)" }
            #expect(leaves == ["World false", "!Sports false"])
            let plain = try await hub.accept("x", tags: "World")
            #expect(
                try await hub.report(plain, "alice").device?.explanation == [
                    "device 'alice' did not get it: the expression needs 'World' and it has 'Sports', 'Tech'"
                ]
            )
            try await hub.register(Agent("bare"))
            let last = try await hub.accept("x", tags: "World")
            #expect(
                try await hub.report(last, "bare").device?.explanation == [
                    "device 'bare' did not get it: the expression needs 'World' and it has no tags"
                ]
            )
        }
    }

    @Test func `templates have tags of their own, may show nothing, or be missing`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["World"])
            agent.templates = [
                "local": InstallationTemplate(body: #"{"title":"$(title)"}"#, tags: [try Tag("Town")]),
                "other": InstallationTemplate(body: #"{"text":"$(headline)","fixed":"yes"}"#),
            ]
            try await hub.register(agent)
            var none = Agent("none", tags: ["World"])
            none.templates = [:]
            try await hub.register(none)
            let town = try await hub.accept("x", tags: "Town")
            let matched = try #require(try await hub.report(town, "a").device)
            #expect(matched.templates?.map(\.matches) == [true, false])
            #expect(matched.templates?.map(\.isEmpty) == [false, true])
            #expect(matched.explanation.count == 1)

            let world = try await hub.accept("x", tags: "World")
            let shown = try #require(try await hub.report(world, "a").device)
            #expect(shown.templates?.map(\.matches) == [true, true])
            let empty = "its template 'other' shows nothing of it, which has no value for 'headline'"
            #expect(shown.explanation.last == empty)
            let missing = try await hub.report(world, "none").device
            #expect(missing?.outcome == .notMatched)
            #expect(missing?.explanation.first?.contains("it has no template") == true)

            let sports = try await hub.accept("x", tags: "Sports")
            #expect(
                try await hub.report(sports, "a").device?.explanation == [
                    """
                    device 'a' did not get it: for its template 'local' the expression needs 'Sports' and it has \
                    'World', 'Town'; for its template 'other' the expression needs 'Sports' and it has 'World'
                    """
                ]
            )
        }
    }

    @Test func `a stream is followed from pending over written to resumed past`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let id = try await hub.accept("x", tags: "World")
            func device() async throws -> DeviceReport { try #require(try await hub.report(id, "a").device) }

            var seen = try await device()
            #expect(seen.outcome == .pending && seen.stream?.isOpen == false && seen.stream?.position == nil)
            #expect(seen.explanation == ["the message is pending for device 'a': it has never opened its stream"])

            // Its connection takes what begins a stream and no more.
            let full = try hub.probe(agent, taking: false)
            try await hub.settle([full])
            seen = try await device()
            #expect(seen.outcome == .pending && seen.stream?.isOpen == true)
            #expect(seen.explanation[0].contains("open but has not reached"))
            full.take(true)
            try await hub.settle([full])
            seen = try await device()
            #expect(seen.outcome == .written && seen.stream?.position == hub.head)
            full.disconnect()
            seen = try await device()
            #expect(seen.outcome == .written && seen.stream?.isOpen == false)
            #expect(seen.stream?.disconnectedAt == "2030-03-17T17:46:40Z")

            let next = try await hub.accept("y", tags: "World")
            let pending = try await hub.report(next, "a").device
            #expect(pending?.outcome == .pending)
            #expect(pending?.explanation[0].contains("closed since 2030-03-17T17:46:40Z") == true)

            let again = try hub.probe(agent, after: full.probe.cursor)
            try await hub.settle([again])
            seen = try await device()
            #expect(seen.outcome == .resumedPast && seen.stream?.resumedFrom == full.probe.cursor)
            #expect(seen.explanation[0].contains("got it"))
            #expect(try await hub.report(next, "a").device?.outcome == .written)
        }
    }

    @Test func `a stream that was replaced or revoked, or came with a strange cursor, is explained`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let first = try hub.probe(agent, after: "elsewhere-7")
            let second = try hub.probe(agent, after: "elsewhere-7")
            try await hub.settle([first, second])
            let secret = agent.secret
            agent.secret = .random()
            try await hub.hub.installations.put(agent.installation, bytes: 0, grant: hub.manageGrant, channel: secret)
            try await hub.settle([first, second])
            let id = try await hub.accept("x", tags: "World")
            let device = try #require(try await hub.report(id, "a").device)
            #expect(device.outcome == .pending)
            for said in ["'elsewhere-7', which this hub does not know", "its key or its secret", "a newer stream"] {
                #expect(device.explanation.contains { $0.contains(said) }, "\(said): \(device.explanation)")
            }
            #expect(device.stream?.replacedAt != nil && device.stream?.revokedAt != nil)
            try await hub.service.housekeeping.flushProgress()
            #expect(try await hub.report(id, "a").device == device, "the store knows it too")
        }
    }

    @Test func `a message that is late, changed later, elsewhere or too large is explained`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            var agent = Agent("a", tags: ["World"])
            // A single template is cut at the limit; two of them are over it.
            for name in ["huge", "too"] { agent.templates[name] = try .huge(tags: ["Huge"]) }
            try await hub.register(agent)
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            let huge = try await hub.accept("x", tags: "Huge", message: String(repeating: "x", count: 20_000))
            let id = try await hub.accept("x", tags: "World")
            clock.advance(by: 60)
            agent.tags = ["Sports"]
            try await hub.register(agent)
            try await hub.register(Agent("later", tags: ["World"]))

            let changed = try #require(try await hub.report(id, "a").device)
            #expect(changed.outcome == .pending && changed.tags == ["World"] && changed.tagsNow == ["Sports"])
            #expect(
                changed.explanation.last == """
                    it was changed at 2030-03-17T17:47:40Z, after the message; its earlier choice counts, and has \
                    'Sports' today
                    """
            )
            let later = try #require(try await hub.report(id, "later").device)
            #expect(later.outcome == .registeredLater && later.tags == nil)
            #expect(later.explanation[0].contains("registered at 2030-03-17T17:47:40Z, after the message"))
            let phone = try #require(try await hub.report(id, "p").device)
            #expect(phone.outcome == .notDelivered && phone.stream == nil)
            #expect(phone.explanation[0].contains("had no credential for platform 'apns'"))
            #expect(try await hub.report(huge, "a").device?.outcome == .tooLarge)
            let unregistered = try #require(try await hub.report(id, "nobody").device)
            #expect(unregistered.outcome == .notRegistered && unregistered.explanation[0].contains("not registered"))
            #expect(try await hub.report(id, "A").device?.id == "a", "ids that fold alike are one")
            #expect(try await hub.report(id, "x%3Ay").device?.id == "x:y")
            #expect(try await hub.send("GET", "deliveries/\(id)?device=not%20an%20id", as: hub.full).status == 400)

            clock.advance(by: 72 * 3600)
            #expect(try await hub.report(id, "a").device?.outcome == .expired)
            #expect(try await hub.report(id).streams.expired == 1)
            #expect(try await hub.report(id).state == .abandoned)
        }
    }

    @Test func `of all that have changed since a message came, what they wanted then counts`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            // More than are looked at in one snapshot.
            let agents = (0..<130).map { Agent("a\($0)", tags: [$0 < 120 ? "World" : "Sports"]) }
            for agent in agents { try await hub.register(agent) }
            let id = try await hub.accept("x", tags: "World")
            let later = try await hub.accept("y", tags: "World")
            for var agent in agents {
                agent.tags = agent.tags == ["World"] ? ["Sports"] : ["World"]
                try await hub.register(agent)
            }
            let last = try await hub.accept("z", tags: "World")
            #expect(try await hub.report(id).streams.matched == 120)
            #expect(try await hub.newest().map(\.id) == [last, later, id])
            #expect(try await hub.newest().map(\.streams.matched) == [10, 120, 120])
        }
    }

    @Test func `a message that is too large for a device is not counted as written there`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["World"])
            for name in ["huge", "too"] { agent.templates[name] = try .huge(tags: ["Huge"]) }
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            let id = try await hub.accept("x", tags: "Huge", message: String(repeating: "x", count: 20_000))
            for change in 0...1 {
                try await hub.accept("later", tags: "World")
                try await hub.settle([stream])
                #expect(try await hub.report(id, "a").device?.outcome == .tooLarge)
                let report = try await hub.report(id)
                #expect(report.streams.matched == 1 && report.streams.written == 0, "\(change)")
                #expect(report.state == .completed)
                agent.tags = ["Sports"]
                try await hub.register(agent)
            }
        }
    }

    @Test func `the content of a message is shown, unless it is for persons or devices, secret or native`() async throws
    {
        let content: [MessageProperty: String] = ["title": "Bridge", "messageParam": "It is open.", "story": "s"]
        try await TestHub.run(try Scratch()) { hub in
            let shown = try await hub.report(try await hub.accept(tags: "World", with: content))
            #expect(shown.properties == ["title": "Bridge", "messageParam": "It is open.", "story": "s"])
            #expect(shown.title == "Bridge" && shown.text == "It is open." && shown.withheld == nil)
            let listed = try #require(try await hub.newest().first)
            #expect(listed.title == "Bridge" && listed.properties == nil)

            for tags in ["username:alice", "World || username:alice", "$InstallationId:{p}"] {
                let personal = try await hub.report(try await hub.accept(tags: tags, with: content))
                #expect(personal.properties == nil && personal.title == nil && personal.text == nil, "\(tags)")
                #expect(personal.withheld == .personal, "\(tags)")
            }
            var secret = content
            secret[.secureID] = "17"
            let secure = try await hub.report(try await hub.accept(tags: "World", with: secret))
            #expect(secure.properties == nil && secure.title == nil && secure.withheld == .secure)
            let direct = try await hub.report(try await hub.accept(native: "Bridge", handles: ["p"]))
            #expect(direct.properties == nil && direct.title == nil)
            let native = try await hub.report(try await hub.accept(native: "Bridge", tags: "World"))
            #expect(native.properties == nil && native.title == "Bridge" && native.withheld == nil)
        }
    }

    @Test func `a message that is gone, or never was, is refused with the retention`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let id = try await hub.accept("x")
            try await hub.pass(73 * 3600, of: TestTime())
            for unknown in [id.text, "nothing"] {
                let reply = try await hub.send("GET", "deliveries/\(unknown)", as: hub.full)
                #expect(reply.status == 404)
                #expect(
                    reply.error?.detail.contains("no message '\(unknown)' here") == true
                        && reply.error?.detail.contains("stored for 72 h") == true
                )
            }
            #expect(try await hub.newest().isEmpty)
        }
    }

    @Test func `another hub's device and message are unknown`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            let (unregistered, id) = (try Agent("b", tags: ["World"]).installation, MessageID.random())
            try await hub.hub.perform { transaction, _ in
                let other = try transaction.insertHub(HubName("other"), rules: AccessRule.standardRules(), at: 0)
                _ = try transaction.insert(unregistered, channelDigest: [1], hub: other.id, at: 0)
                let record = try MessageRecord(id: id, tags: nil, body: Array("{}".utf8))
                _ = try transaction.appendMessage(record, hub: other.id, at: 0)
                return ((), [])
            }
            let own = try await hub.accept("x")
            #expect(try await hub.report(own, "b").device?.outcome == .notRegistered)
            #expect(try await hub.report(own).streams.matched == 0)
            #expect(try await hub.send("GET", "deliveries/\(id)", as: hub.full).status == 404)
            #expect(try await hub.newest().map(\.id) == [own])
        }
    }
}
