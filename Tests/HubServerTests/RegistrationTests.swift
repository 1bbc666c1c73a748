import Foundation
import HubRouting
import HubStore
import Synchronization
import Testing

@testable import HubProtocol
@testable import HubServer

struct RegistrationTests {
    @Test func `a registration is counted for messages of its platform or of templates, until it is gone`() async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let native = try await hub.put(.apple("AA11", tags: ["World"]))
            let template = try await hub.put(.apple("AA11", tags: ["World", "Sports"], template: #"{"aps":{}}"#))
            let world = try TagExpression(parsing: "World")
            #expect(try await hub.hub.recipients(of: world, .apple).platforms == ["apns": 1])
            #expect(try await hub.hub.recipients(of: world, .template).platforms == ["apns": 1])
            #expect(try await hub.hub.recipients(of: world, .gcm).total == 0)
            #expect(try await hub.hub.recipients(of: try TagExpression(parsing: "!sports"), .template).total == 0)
            try await hub.hub.registrations.delete(template.registration.id, if: .none)
            #expect(try await hub.hub.recipients(of: nil, .template).total == 0)
            #expect(try await hub.hub.recipients(of: nil, .apple).total == 1)
            try await hub.hub.registrations.delete(native.registration.id, if: ETagCondition(ifMatch: "1"))
            #expect(try await hub.hub.recipients(of: nil, .apple).total == 0)
            await #expect(throws: ProtocolError.noRegistration) {
                try await hub.hub.registrations.delete(native.registration.id, if: .none)
            }
        }
    }

    @Test func `an ETag counts the writes, and a write that names another one changes nothing`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var registration = try Registration.apple("AA11", tags: ["a"])
            #expect(try await hub.put(registration).registration.etag == 1)
            registration.tags = [try Tag("b")]
            #expect(try await hub.put(registration, if: ETagCondition(ifMatch: "1")).registration.etag == 2)
            registration.tags = [try Tag("c")]
            for wrong in ["1", "3"].map(ETagCondition.init(ifMatch:)) {
                let error = try await #require(throws: ProtocolError.self) {
                    try await hub.put(registration, if: wrong)
                }
                #expect(error.status == 412)
            }
            let stored = try await hub.hub.registrations.registration(registration.id)
            #expect(stored.registration.tags.map(\.text) == ["b"])
            #expect(try await hub.put(registration, if: .exists).registration.etag == 3)
            let unknown = try Registration.apple("AA11", tags: [])
            for condition in ["*", "1"].map(ETagCondition.init(ifMatch:)) {
                let error = try await #require(throws: ProtocolError.self) { try await hub.put(unknown, if: condition) }
                #expect(error.status == 404)
            }
        }
    }

    @Test func `what registers again as it is lives on from then, and its tags are shown as it wrote them`()
        async throws
    {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            try await hub.set { $0.registrationLifetime = .seconds(86_400) }
            var registration = try Registration.apple("AA11", tags: ["World"])
            let first = try await hub.put(registration)
            _ = try await hub.accept("first", tags: "World")
            for (tag, etag) in [("World", 2), ("WORLD", 3)] {
                clock.advance(by: 60)
                registration.tags = [try Tag(tag)]
                let answered = try await hub.put(registration)
                let stored = try await hub.hub.registrations.registration(registration.id)
                #expect(stored == answered)
                #expect(stored.registration.etag == etag)
                #expect(stored.registration.tags.map(\.text) == [tag])
                #expect(stored.registration.expirationTime == clock.now + 86_400)
                #expect(stored.updatedAt == first.updatedAt + .seconds(60 * (etag - 1)))
                #expect(stored.changedAfter == first.changedAfter, "for routing it is what it was")
            }
        }
    }

    @Test func `texts are stored in the form of Unicode that they came in`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let id = RegistrationID.random()
            for letter in ["\u{E9}", "e\u{301}"] {
                let body = #"{"aps":{"alert":"caf\#(letter)"}}"#
                var registration = try Registration.apple("AA11", tags: ["caf\(letter)"], template: body)
                registration.id = id
                try await hub.put(registration)
                let stored = try await hub.hub.registrations.registration(id).registration
                #expect(stored.template.map { Array($0.body.utf8) } == Array(body.utf8))
                #expect(stored.tags.map { Array($0.text.utf8) } == [Array("caf\(letter)".utf8)])
            }
        }
    }

    @Test func `a registration comes back with all that it brought`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let browser = BrowserPushChannel(endpoint: "https://push.example/x", p256dh: "a", auth: "b")
            let template = RegistrationTemplate(
                name: "é",
                body: "{}",
                headers: ["a": "b"],
                expiry: "0",
                priority: "5",
                messageType: "1"
            )
            for var registration in [
                Registration(id: .random(), platform: .gcm, pushChannel: .handle("g"), isFcm: true),
                Registration(id: .random(), platform: .gcm, pushChannel: .handle("g")),
                Registration(id: .random(), platform: .browser, pushChannel: .browser(browser), template: template),
                Registration(
                    id: .random(),
                    tags: [try Tag("b"), try Tag("a")],
                    pushVariables: ["a": "\u{1}'"],
                    platform: .wns,
                    pushChannel: .handle("https://x.example"),
                    secondaryTileName: "tile"
                ),
            ] {
                try await hub.put(registration)
                registration.etag = 1
                #expect(try await hub.hub.registrations.registration(registration.id).registration == registration)
            }
        }
    }

    @Test func `a registration that cannot be read does not fail others, and can be replaced`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            let all = try (0..<3).map { try Registration.apple("AA\($0)", tags: ["World", "t\($0)"]) }
            for registration in all { try await hub.put(registration) }
            let spoil = "UPDATE registration SET record = 'nonsense' WHERE registrationID = '\(all[1].id)'"
            try await scratch.damage(spoil)
            #expect(try await hub.list(.all).count == 2)
            #expect(try await hub.list(.tag(Tag("World"))).count == 2)
            #expect(try await hub.list(.handle(HandleFilter(parsing: "ChannelUri eq 'AA1'"), hub.listenGrant)).isEmpty)
            await #expect(throws: ProtocolError.noRegistration) {
                try await hub.hub.registrations.registration(all[1].id)
            }
            #expect(try await hub.hub.recipients(of: nil, .apple).total == 3)

            #expect(try await hub.put(all[1]).registration.etag == 2)
            #expect(try await hub.list(.all).count == 3)
            #expect(try await hub.hub.recipients(of: nil, .apple).total == 3, "the former one is forgotten")
            try await scratch.damage(spoil)
            try await hub.hub.registrations.delete(all[1].id, if: .none)
            #expect(try await hub.hub.recipients(of: nil, .apple).total == 2)
            #expect(try await hub.hub.recipients(of: try TagExpression(parsing: "t1"), .apple).total == 0)

            try await scratch.damage("UPDATE registration SET tags = 'no tag', expiresAt = 5")
            #expect(try await hub.hub.registrations.endExpired(at: 5, limit: 10) == 2)
            #expect(try await hub.hub.registrations.endExpired(at: 5, limit: 10) == 0)
        }
    }

    @Test func `registrations survive a restart, in lists and in what messages match`() async throws {
        let scratch = try Scratch()
        let kept = try Registration.apple("AA11", tags: ["World"], template: #"{"aps":{"alert":"$(a)"}}"#)
        try await TestHub.run(scratch) { hub in
            _ = try await hub.put(kept)
            try await hub.register(Agent("agent", tags: ["World"]))
            try await hub.install("phone", tags: ["World"])
        }
        try await TestHub.run(scratch) { hub in
            let world = try TagExpression(parsing: "World")
            #expect(try await hub.hub.recipients(of: world, .template).platforms == ["apns": 2, "stream": 1])
            #expect(try await hub.hub.recipients(of: world, .apple).platforms == ["apns": 1])
            #expect(try await hub.hub.registrations.registration(kept.id).registration.template == kept.template)
            #expect(try await hub.list(.all).count == 3, "the agent's are not among them")
        }
    }

    @Test func `an installation has a native registration and one per template, which follow it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.install("phone", user: "ann", tags: ["World"])
            let first = try await hub.list(.all)
            #expect(first.count == 2)
            for stored in first {
                let own = stored.registration.template == nil ? [] : ["Loud"]
                #expect(
                    stored.registration.tags.map(\.text)
                        == ["$InstallationId:{phone}", "$UserId:{ann}", "World"] + own
                )
                #expect(stored.registration.etag == 1)
            }
            try await hub.install("phone", tags: ["Sports"])
            let second = try await hub.list(.all)
            #expect(Set(second.map(\.registration.id)) == Set(first.map(\.registration.id)))
            #expect(second.allSatisfy { $0.registration.etag == 2 })
            #expect(try await hub.list(.tag(Tag("$InstallationId:{PHONE}"))).count == 2)
            #expect(try await hub.list(.tag(Tag("World"))).isEmpty)
            for (handle, count) in [("AABB", 2), ("aabb", 2), ("aabc", 0)] {
                let filter = try HandleFilter(parsing: "DeviceToken eq '\(handle)'")
                #expect(try await hub.list(.handle(filter, hub.listenGrant)).count == count)
                #expect(try await hub.list(.handle(filter, hub.listenGrant), limit: 1).count == count)
            }
        }
    }

    @Test func `an installation's registrations are read-only, and go with their part of the installation`()
        async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.install("phone", tags: ["World"])
            let parts = try await hub.list(.all).map(\.registration)
            let template = try #require(parts.first { $0.template != nil })
            let native = try #require(parts.first { $0.template == nil })
            let refusal = try await #require(throws: ProtocolError.self) { try await hub.put(template) }
            #expect(refusal.status == 410, "SDKs of devices ask for a new id then")
            #expect(refusal.detail.contains("new registration id") && refusal.detail.contains("/installations/phone"))
            try await hub.hub.registrations.delete(template.id, if: .none)
            let id = try InstallationID("phone")
            let rest = try await hub.hub.installations.installation(id, grant: hub.listenGrant, channel: nil)
            #expect(rest.installation.templates.isEmpty)
            try await hub.hub.registrations.delete(native.id, if: .none)
            #expect(try await hub.list(.all).isEmpty)
            await #expect(throws: ProtocolError.noInstallation) {
                try await hub.hub.installations.installation(id, grant: hub.listenGrant, channel: nil)
            }
        }
    }

    /// Native and template first of an installation and its tile, in both orders.
    @Test(arguments: [false, true], [nil, "*", "\"1\""])
    func `a client deletes one by one what it has listed of a handle`(
        nativeFirst: Bool,
        condition: String?
    ) async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.installDesk()
            let filter = try HandleFilter(parsing: "ChannelUri eq 'https://wns.example/1'")
            let listed = try await hub.list(.handle(filter, hub.listenGrant)).map(\.registration)
            #expect(listed.count == 4)
            let first = listed.filter { ($0.template == nil) == nativeFirst }
            for registration in first + listed.filter({ !first.contains($0) }) {
                try await hub.hub.registrations.delete(registration.id, if: ETagCondition(ifMatch: condition))
            }
            #expect(try await hub.list(.all).isEmpty)
            #expect(try await hub.hub.recipients(of: nil, .template).total == 0)
        }
    }

    @Test func `an id that went with its installation has ended, one that was deleted itself has not`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for isByID in [true, false] {
                try await hub.install("phone", tags: ["World"])
                let parts = try await hub.list(.all).map(\.registration)
                let native = try #require(parts.first { $0.template == nil })
                let template = try #require(parts.first { $0.template != nil })
                if isByID {
                    try await hub.hub.registrations.delete(native.id, if: .none)
                    await #expect(throws: ProtocolError.noRegistration) {
                        try await hub.hub.registrations.delete(native.id, if: .none)
                    }
                } else {
                    try await hub.hub.installations.delete(
                        InstallationID("phone"),
                        grant: hub.listenGrant,
                        channel: nil
                    )
                    try await hub.hub.registrations.delete(native.id, if: .exists)
                }
                for _ in 0..<2 { try await hub.hub.registrations.delete(template.id, if: ETagCondition(ifMatch: "7")) }
                for condition in [ETagCondition.none, .exists, ETagCondition(ifMatch: "1")] {
                    let gone = try await #require(throws: ProtocolError.self) {
                        try await hub.put(template, if: condition)
                    }
                    #expect(gone.status == 410 && gone.detail.contains("new registration id"))
                }
                await #expect(throws: ProtocolError.noRegistration) {
                    try await hub.hub.registrations.registration(template.id)
                }
            }
        }
    }

    @Test func `an installation replaces its imported registrations`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let tags = ["$InstallationId:{phone}", "Old"]
            let imported = [
                try Registration.apple("AABB", tags: tags),
                try Registration.apple("AABB", tags: tags, template: #"{"aps":{"alert":"$(a)"}}"#),
            ]
            for registration in imported { try await hub.put(registration) }
            let other = try Registration.apple("AABB", tags: ["$InstallationId:{phone-2}", "Old"])
            try await hub.put(other)
            for _ in 0..<2 { try await hub.install("phone", tags: ["New"]) }
            let left = try await hub.list(.all)
            #expect(left.count == 3 && left.count { $0.installation == nil } == 1)
            #expect(left.contains { $0.registration.id == other.id })
            for (tag, count) in [("Old", 1), ("New", 1), ("$InstallationId:{phone}", 1)] {
                #expect(
                    try await hub.hub.recipients(of: try TagExpression(parsing: tag), .apple).total == count,
                    "\(tag)"
                )
            }
            // Its device asks for a new id, and does not bring the old one back.
            let error = try await #require(throws: ProtocolError.self) { try await hub.put(imported[0]) }
            #expect(error.status == 410)
        }
    }

    @Test func `an installation that was deleted takes what an import has brought of it along`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let id = try InstallationID("phone")
            for isThere in [false, true] {
                if isThere { try await hub.install("phone", tags: ["New"]) }
                let imported = try Registration.apple("AABB", tags: ["$InstallationId:{phone}", "Old"])
                try await hub.put(imported)
                let sent = try await hub.accept("x", tags: "Old")
                if !isThere {
                    let device = try #require(try await hub.report(sent, "phone").device)
                    #expect(device.outcome != .notRegistered && device.registrations?[0].id == imported.id)
                }
                try await hub.hub.installations.delete(id, grant: hub.listenGrant, channel: nil)
                #expect(try await hub.list(.all).isEmpty)
                #expect(try await hub.hub.recipients(of: try TagExpression(parsing: "Old"), .apple).total == 0)
            }
        }
    }

    @Test func `a template or tile that a change takes away ends its registrations, not those of others`() async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.installDesk()
            let before = try await hub.list(.all)
            try await hub.patch("desk", #"[{"op":"remove","path":"/secondaryTiles/s"}]"#)
            let gone = before.filter { $0.registration.secondaryTileName != nil }
            #expect(gone.count == 2)
            for stored in gone { try await hub.hub.registrations.delete(stored.registration.id, if: .none) }
            #expect(
                try await hub.list(.all) == before.filter { $0.registration.secondaryTileName == nil },
                "nobody has written these"
            )
        }
    }

    @Test func `what of an installation nobody has written keeps its ETag and its time`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            try await hub.install("phone", tags: ["World"])
            _ = try await hub.accept("first", tags: "World")
            let before = try await hub.list(.all)
            clock.advance(by: 60)
            try await hub.patch("phone", #"[{"op":"add","path":"/templates/loud/tags","value":"Louder"}]"#)
            for (old, new) in zip(before, try await hub.list(.all)) {
                #expect(old.registration.id == new.registration.id)
                let isWritten = new.registration.template != nil
                #expect(new.registration.etag == (isWritten ? 2 : 1))
                #expect(new.updatedAt == old.updatedAt + .seconds(isWritten ? 60 : 0))
                #expect((new.changedAfter > old.changedAfter) == isWritten)
            }
            #expect(try await hub.hub.recipients(of: try TagExpression(parsing: "Louder"), .template).total == 1)
            #expect(try await hub.hub.recipients(of: try TagExpression(parsing: "World"), .apple).total == 1)
            try await hub.install("phone", tags: ["WORLD"])
            #expect(Set(try await hub.list(.all).map(\.registration.etag)) == [2, 3], "shown as it was written")
            // All of them have these.
            try await hub.patch("phone", #"[{"op":"add","path":"/pushVariables/a","value":"b"}]"#)
            #expect(Set(try await hub.list(.all).map(\.registration.etag)) == [3, 4])
        }
    }

    @Test func `a list does not begin where another one's token points`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for number in 10..<13 { _ = try await hub.put(try .apple("AA\(number)", tags: ["World"])) }
            for (selection, other) in [
                (RegistrationSelection.all, RegistrationSelection.tag(try Tag("World"))),
                (.tag(try Tag("World")), .all),
            ] {
                let next = try #require(try await hub.hub.registrations.page(other, from: nil, limit: 1).next)
                let refusal = try await #require(throws: ProtocolError.self) {
                    _ = try await hub.hub.registrations.page(selection, from: next, limit: 1)
                }
                #expect(refusal.status == 400 && refusal.detail.contains("belongs to another list"))
            }
        }
    }

    @Test func `Listen sets no reserved tag, and does not take one away`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var registration = try Registration.apple("AA11", tags: ["username:ann", "World"])
            let refusal = try await #require(throws: ProtocolError.self) {
                try await hub.put(registration, as: hub.listenGrant)
            }
            #expect(refusal.status == 401)
            _ = try await hub.put(registration)
            registration.tags = [try Tag("Sports")]
            let stored = try await hub.put(registration, as: hub.listenGrant)
            #expect(stored.registration.tags.map(\.text) == ["Sports", "username:ann"])
            #expect(try await hub.put(registration).registration.tags.map(\.text) == ["Sports"])
        }
    }

    @Test func `pages of every list hold each registration once`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var expected: Set<RegistrationID> = []
            for number in 0..<23 {
                let stored = try await hub.put(try .apple("AA\(10 + number)", tags: ["World"]))
                expected.insert(stored.registration.id)
            }
            for selection in [RegistrationSelection.all, .tag(try Tag("world"))] {
                for limit in [1, 5, 22, 23, 24] {
                    let listed = try await hub.list(selection, limit: limit).map(\.registration.id)
                    #expect(listed.count == 23)
                    #expect(Set(listed) == expected)
                }
            }
        }
    }

    @Test func `what a registration was is kept for the messages that came before its change`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            var registration = try Registration.apple("AA11", tags: ["World"])
            _ = try await hub.put(registration)
            _ = try await hub.accept("first", tags: "World")
            let first = hub.head
            registration.tags = [try Tag("Sports")]
            _ = try await hub.put(registration)
            _ = try await hub.put(registration)
            _ = try await hub.accept("second", tags: "World")
            try await hub.hub.registrations.delete(registration.id, if: .none)
            let store = hub.hub.store
            let record = hub.hub.record.id
            func tags(at sequence: LogSequence) async throws -> [[String]] {
                try await store.formerRegistrations(hub: record, handle: "aa11", at: sequence, limit: 9)
                    .map { $0.registration.tags.map(\.text) }
            }
            #expect(try await tags(at: first) == [["World"]])
            #expect(try await tags(at: hub.head) == [["Sports"]])
            #expect(try await tags(at: 0).isEmpty)
        }
    }
}

// MARK: - Help

extension TestHub {
    @discardableResult
    fileprivate func put(
        _ registration: Registration,
        if condition: ETagCondition = .none,
        as grant: Grant? = nil
    ) async throws -> StoredRegistration {
        try await hub.registrations.put(registration, if: condition, bytes: 0, grant: grant ?? manageGrant)
    }

    fileprivate func patch(_ id: String, _ operations: String) async throws {
        let patch = try InstallationPatch(json: Array(operations.utf8))
        try await hub.installations.patch(InstallationID(id), patch, bytes: 0, grant: listenGrant, channel: nil)
    }

    fileprivate func install(_ id: String, user: String? = nil, tags: [String]) async throws {
        let installation = Installation(
            id: try InstallationID(id),
            userID: try user.map { try UserID($0) },
            platform: .apns,
            pushChannel: .handle("AABB"),
            tags: try tags.map { try Tag($0) },
            templates: ["loud": InstallationTemplate(body: #"{"aps":{"alert":"$(a)"}}"#, tags: [try Tag("Loud")])]
        )
        try await hub.installations.put(installation, bytes: 0, grant: listenGrant, channel: nil)
    }

    /// Stores an installation with a template and a tile that has one, too, all on one channel.
    fileprivate func installDesk() async throws {
        let toast = InstallationTemplate(body: "<toast/>", headers: ["X-WNS-Type": "wns/toast"])
        let channel = PushChannel.handle("https://wns.example/1")
        let installation = Installation(
            id: try InstallationID("desk"),
            platform: .wns,
            pushChannel: channel,
            templates: ["t": toast],
            secondaryTiles: ["s": SecondaryTile(pushChannel: channel, templates: ["u": toast])]
        )
        try await hub.installations.put(installation, bytes: 0, grant: listenGrant, channel: nil)
    }

    fileprivate func list(_ selection: RegistrationSelection, limit: Int = 100) async throws -> [StoredRegistration] {
        var (found, position) = ([StoredRegistration](), String?.none)
        for _ in 0..<100 {
            let page = try await hub.registrations.page(selection, from: position, limit: limit)
            #expect(page.registrations.count <= limit)
            found += page.registrations
            position = page.next
            if position == nil { break }
        }
        return found
    }
}

extension Registration {
    fileprivate static func apple(_ token: String, tags: [String], template: String? = nil) throws -> Registration {
        Registration(
            id: .random(),
            tags: try tags.map { try Tag($0) },
            platform: .apns,
            pushChannel: .handle(token),
            template: template.map { RegistrationTemplate(name: "t", body: $0) }
        )
    }
}
