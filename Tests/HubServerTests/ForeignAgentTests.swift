import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import StreamProbe
import Testing

@testable import HubServer

/// Two agents hold the same Listen key; one tries to get at the other.
struct ForeignAgentTests {
    private let victim = Agent("Victim-Ä", tags: ["World"])
    private let attacker = Agent("stranger", tags: ["World"])

    private func run(_ body: (TestHub) async throws -> Void) async throws {
        try await TestHub.run(try Scratch()) { hub in
            var named = victim
            named.tags += ["username:alice"]
            try await hub.register(named, as: hub.manageGrant)
            try await hub.register(attacker)
            try await body(hub)
        }
    }

    private func path(_ id: String) -> String { (try? InstallationID(id).urlPathSegment) ?? id }

    @Test func `no route gives another's installation away or changes it`() async throws {
        try await run { hub in
            let before = try await hub.hub.store.installation(hub: hub.hub.record.id, id: InstallationID(victim.id))
            let owner = try await hub.stream(Agent(victim.id, as: victim))
            // Spelled as registered, in other cases, and decomposed: one and the same installation.
            for id in [victim.id, "victim-ä", "VICTIM-Ä", "Victim-A\u{308}"] {
                for secret in [nil, attacker.secret, PushChannelSecret.random()] {
                    for route in RouteTable.routes
                    where route.right == .listen && route.address.contains("/installations/:id") {
                        let body: String
                        switch route.method {
                        case .put:
                            var taking = attacker.renamed(id)
                            taking.tags = ["Sports"]
                            body = taking.json
                        case .patch: body = #"[{"op":"add","path":"/tags","value":"Sports"}]"#
                        default: body = ""
                        }
                        let address = route.address.replacing(":hub", with: "news").replacing(":id", with: path(id))
                        let (method, path) = (route.method.rawValue, address)
                        let replies = [
                            try await hub.send(method, path, as: hub.listen, channel: secret, body),
                            // A stream has another way in behind another request.
                            try await hub.sendSecond(method, path, as: hub.listen, channel: secret, body),
                        ]
                        for reply in replies {
                            #expect(reply.status == (route.method == .put ? 409 : 404), "\(method) \(path)")
                            #expect(!reply.body.contains("World") && !reply.body.contains("alice"))
                        }
                    }
                }
            }
            #expect(
                try await hub.hub.store.installation(hub: hub.hub.record.id, id: InstallationID(victim.id)) == before
            )
            try await hub.accept("for the victim", tags: "$InstallationId:{\(victim.id)}")
            #expect(try await owner.message().title == "for the victim")
        }
    }

    @Test func `Listen neither sends nor announces nor counts`() async throws {
        try await run { hub in
            for route in RouteTable.routes where route.right != .listen {
                let address = route.address.replacing(":hub", with: "news").replacing(":publisher", with: "p")
                let reply = try await hub.send(
                    route.method.rawValue,
                    address,
                    as: hub.listen,
                    channel: attacker.secret,
                    "{}"
                )
                #expect(reply.status == 401, "\(address)")
            }
        }
    }

    @Test func `Manage may`() async throws {
        try await run { hub in
            let address = "installations/\(path(victim.id))"
            let read = try await hub.send("GET", address, as: hub.full)
            #expect(read.status == 200 && read.body.contains("username:alice"))
            #expect(!read.body.contains("pushChannel\""), "the secret is not even kept")
            let patch =
                #"[{"op":"remove","path":"/tags/username:alice"},{"op":"add","path":"/tags","value":"from:bob"}]"#
            #expect(try await hub.send("PATCH", address, as: hub.full, patch).status == 200)
            #expect(try await hub.send("GET", address, as: hub.full).body.contains("from:bob"))
            #expect(try await hub.send("DELETE", address, as: hub.full).status == 204)
        }
    }

    @Test func `a reply says whether the secret of the request is the agent's`() async throws {
        try await run { hub in
            let address = "installations/\(path(victim.id))"
            let header = HeaderName.pushChannelMatch.lowercased()
            let own = try await hub.send("GET", address, as: hub.full, channel: victim.secret)
            #expect(own.status == 200 && own.headers[header] == "true")
            let other = try await hub.send("GET", address, as: hub.full, channel: attacker.secret)
            #expect(other.status == 200 && other.headers[header] == "false", "Manage reads it all the same")
            #expect(try await hub.send("GET", address, as: hub.full).headers[header] == nil)
            let unread = try await hub.send("GET", address, as: hub.listen, channel: attacker.secret)
            #expect(unread.status == 404 && unread.headers[header] == nil)
        }
    }

    /// Ways of writing a reserved tag.
    static let reserved = [
        "username:alice", "USERNAME:alice", "UserName:mallory", "from:x", "FROM:x", "u\u{17F}ername:alice",
        "from:\u{301}x",
        "username:\u{301}alice", "username:",
    ]

    /// Where a tag may stand, as members of an installation.
    static let places: [(name: String, json: @Sendable (String) -> String)] = [
        ("tags", { #""tags":["World","\#($0)"]"# }),
        ("template", { #""templates":{"newswire":{"body":"{\"title\":\"$(title)\"}","tags":["\#($0)"]}}"# }),
    ]

    @Test(arguments: reserved)
    func `a reserved tag is refused, however it is written and wherever it appears`(tag: String) async throws {
        try await run { hub in
            let address = "installations/stranger"
            for place in Self.places {
                let body =
                    #"{"installationId":"stranger","platform":"stream","pushChannel":"\#(attacker.secret.text)",\#(place.json(tag))}"#
                let reply = try await hub.send("PUT", address, as: hub.listen, channel: attacker.secret, body)
                #expect(reply.status == 401 || reply.status == 400, "PUT \(place.name)")
            }
            let tile =
                #"{"installationId":"w","platform":"wns","pushChannel":"https://w/","secondaryTiles":{"t":{"pushChannel":"https://w/2","#
                + #""tags":["\#(tag)"]}}}"#
            let onTile = try await hub.send("PUT", "installations/w", as: hub.listen, tile)
            #expect([400, 401].contains(onTile.status))
            let nested =
                #"{"installationId":"w","platform":"wns","pushChannel":"https://w/","secondaryTiles":{"t":{"pushChannel":"https://w/2","#
                + #""templates":{"n":{"body":"<t>$(title)</t>","headers":{"X-WNS-Type":"wns/toast"},"tags":["\#(tag)"]}}}}}"#
            let templateOfTile = try await hub.send("PUT", "installations/w", as: hub.listen, nested)
            #expect([400, 401].contains(templateOfTile.status))
            let patches = [
                #"{"op":"add","path":"/tags","value":"\#(tag)"}"#,
                #"{"op":"add","path":"/tags/\#(tag)"}"#,
                #"{"op":"replace","path":"/tags","value":["\#(tag)"]}"#,
                #"{"op":"replace","path":"/tags","value":"[\"\#(tag)\"]"}"#,
                #"{"op":"add","path":"/templates/newswire/tags","value":"\#(tag)"}"#,
                #"{"op":"add","path":"/templates/n","value":{"body":"{\"a\":\"b\"}","tags":["\#(tag)"]}}"#,
            ]
            for patch in patches {
                let reply = try await hub.send("PATCH", address, as: hub.listen, channel: attacker.secret, "[\(patch)]")
                #expect(reply.status == 401 || reply.status == 400, "\(patch): \(reply.status)")
            }
            try await expectNothing(hub)
        }
    }

    @Test(arguments: [
        "$InstallationId:{Victim-Ä}", "$installationid:{victim-ä}", "$UserId:{alice}", "$USERID:{alice}", "$x",
    ])
    func `a tag that the hub gives is not to be taken`(tag: String) async throws {
        try await run { hub in
            for place in Self.places {
                let body =
                    #"{"installationId":"stranger","platform":"stream","pushChannel":"\#(attacker.secret.text)",\#(place.json(tag))}"#
                let reply = try await hub.send(
                    "PUT",
                    "installations/stranger",
                    as: hub.listen,
                    channel: attacker.secret,
                    body
                )
                #expect(reply.status == 400, "\(place.name)")
            }
            let patch = #"[{"op":"add","path":"/tags","value":"\#(tag)"}]"#
            let reply = try await hub.send(
                "PATCH",
                "installations/stranger",
                as: hub.listen,
                channel: attacker.secret,
                patch
            )
            #expect(reply.status == 400)
            try await expectNothing(hub)
        }
    }

    @Test(arguments: ["username:alice", "x} || username:alice", "$InstallationId:{Victim-Ä", "Victim-Ä}"])
    func `a user id becomes no other tag`(userID: String) async throws {
        try await run { hub in
            let patch = #"[{"op":"add","path":"/userId","value":"\#(userID)"}]"#
            let reply = try await hub.send(
                "PATCH",
                "installations/stranger",
                as: hub.listen,
                channel: attacker.secret,
                patch
            )
            #expect(reply.status == (userID == "username:alice" ? 200 : 400))
            try await expectNothing(hub)
        }
    }

    /// What is sent to the victim's names does not reach the stranger.
    private func expectNothing(_ hub: TestHub) async throws {
        let stream = try hub.probe(attacker)
        for tags in ["username:alice", "from:x", "$InstallationId:{\(victim.id)}", "World && username:alice"] {
            try await hub.accept("secret", tags: tags)
        }
        try await hub.accept("for all")
        try await hub.settle([stream])
        #expect(stream.probe.titles == ["for all"])
    }

    // MARK: - The tags that Manage has given

    @Test func `an agent that leaves its reserved tags out keeps them, where they were`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["World", "username:alice"])
            agent.templates["inner"] = InstallationTemplate(
                body: #"{"a":"b"}"#,
                tags: [try Tag("from:bob"), try Tag("x")]
            )
            try await hub.register(agent, as: hub.manageGrant)
            func stored() async throws -> Installation {
                let stored = try await hub.hub.store.installation(hub: hub.hub.record.id, id: InstallationID("a"))
                return try #require(stored).installation
            }
            // Everything is left out, the template too.
            try await hub.register(Agent("a", as: agent))
            var kept = try await stored()
            #expect(kept.tags.map(\.text) == ["username:alice"])
            #expect(kept.templates["inner"]?.tags.map(\.text) == ["from:bob", "x", "inner"])
            // What it has in one place gives it nothing in another.
            var moved = Agent("a", as: agent)
            moved.tags = ["from:bob"]
            await #expect(throws: ProtocolError.self) { try await hub.register(moved) }
            // PATCH: by name, all at once, with the template.
            func patch(_ operation: String) async throws -> Int {
                try await hub.send("PATCH", "installations/a", as: hub.listen, channel: agent.secret, "[\(operation)]")
                    .status
            }
            #expect(try await patch(#"{"op":"remove","path":"/tags/UserName:Alice"}"#) == 401)
            #expect(try await patch(#"{"op":"remove","path":"/templates/inner/tags/from:bob"}"#) == 401)
            for operation in [
                #"{"op":"remove","path":"/tags"}"#, #"{"op":"replace","path":"/tags","value":["Sports"]}"#,
                #"{"op":"remove","path":"/templates/inner"}"#, #"{"op":"remove","path":"/templates/inner/tags"}"#,
            ] {
                #expect(try await patch(operation) == 200, "\(operation)")
                kept = try await stored()
                #expect(kept.tags.contains { $0.text == "username:alice" }, "\(operation)")
                #expect(kept.templates["inner"]?.tags.contains { $0.text == "from:bob" } == true, "\(operation)")
            }
        }
    }

    @Test func `what stays with a reserved tag must still obey the rules`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let windows =
                #"{"installationId":"w","platform":"wns","pushChannel":"https://w/","templates":{"t":{"body":"<t/>","#
                + #""headers":{"X-WNS-Type":"wns/toast"},"tags":["username:alice"]}}}"#
            #expect(try await hub.send("PUT", "installations/w", as: hub.full, windows).status == 200)
            let changed = try await hub.put(Agent("w"))
            #expect(changed.status == 400 && changed.body.contains("templates/t/body"), "\(changed.body)")
            #expect(try await hub.send("GET", "installations/w", as: hub.full).body.contains(#""platform":"wns""#))

            let named = Agent("n", tags: ["username:alice"])
            try await hub.register(named, as: hub.manageGrant)
            var many = Agent("n", as: named)
            many.tags = (0..<Installation.maximumTags).map { "t\($0)" }
            #expect(try await hub.put(many).status == 400)
            let tags = many.tags.map { "\"\($0)\"" }.joined(separator: ",")
            let patch = #"[{"op":"replace","path":"/tags","value":[\#(tags)]}]"#
            let patched = try await hub.send("PATCH", "installations/n", as: hub.listen, channel: named.secret, patch)
            #expect(patched.status == 400)
            many.tags.removeLast()
            #expect(try await hub.put(many).status == 200)
        }
    }
}

extension Agent {
    /// Another's id and secret with nothing chosen.
    init(_ id: String, as other: Agent) {
        self.init(id)
        secret = other.secret
    }

    func renamed(_ id: String) -> Agent {
        var renamed = Agent(id, tags: tags)
        renamed.secret = secret
        return renamed
    }
}
