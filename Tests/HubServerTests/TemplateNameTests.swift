import Formats
import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import StreamProbe
import Testing

@testable import HubServer

/// The name of an installation's template is a tag of that template (protocol §4.3).
struct TemplateNameTests {
    private static func phone(_ templates: String, user: String = "u7") -> String {
        """
        {"installationId":"p","platform":"apns","pushChannel":"62BC","userId":"\(user)","tags":["World"],\
        "templates":{\(templates)}}
        """
    }

    private static func template(_ name: String, tags: String = "") -> String {
        #""\#(name)":{"body":"{\"aps\":{\"alert\":\"$(a)\"}}"\#(tags)}"#
    }

    private func matched(_ hub: TestHub, _ expression: String) async throws -> Int {
        try await hub.hub.recipients(of: try TagExpression(parsing: expression), .template).total
    }

    @Test func `an expression selects a device and one of its templates by name`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let two = [Self.template("newsEN"), Self.template("newsFR", tags: #","tags":["Loud"]"#)]
                .joined(separator: ",")
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, Self.phone(two)).status == 200)
            #expect(try await matched(hub, "World") == 2)
            #expect(try await matched(hub, "newsEN && $UserId:{u7}") == 1)
            #expect(try await matched(hub, "NEWSFR") == 1, "tags are equal in any case of letters")
            #expect(try await matched(hub, "newsEN && $UserId:{u8}") == 0)
            #expect(
                try await hub.hub.recipients(of: try TagExpression(parsing: "newsEN"), .apple).total == 0,
                "not the native one"
            )
            let read = try await hub.send("GET", "installations/p", as: hub.listen).body
            #expect(read.contains(#""tags":["newsEN"]"#) && read.contains(#""tags":["Loud","newsFR"]"#), "\(read)")
            let list = try await hub.send("GET", "/news/tags/newsFR/registrations", as: hub.full).body
            #expect(list.contains("<Tags>$InstallationId:{p},$UserId:{u7},World,Loud,newsFR</Tags>"), "\(list)")
            // What was read can be sent back, and changes nothing.
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, read).status == 200)
            #expect(try await hub.send("GET", "installations/p", as: hub.listen).body == read)
        }
    }

    @Test func `an agent receives what is sent to the name of its template, live and after an absence`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            try await hub.accept("while away", tags: "newswire && $InstallationId:{a}")
            let stream = try await hub.stream(agent)
            #expect(try await stream.message().title == "while away")
            try await hub.accept("other", tags: "newsEN")
            try await hub.accept("live", tags: "newswire && !Sports")
            #expect(try await stream.message().title == "live")
        }
    }

    @Test func `a patch neither removes the tag nor loses it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let body = Self.phone(Self.template("newsEN", tags: #","tags":["Loud"]"#))
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, body).status == 200)
            for operation in [
                #"{"op":"remove","path":"/templates/newsEN/tags/newsEN"}"#,
                #"{"op":"remove","path":"/templates/newsEN/tags"}"#,
                #"{"op":"replace","path":"/templates/newsEN/tags","value":"[\"Quiet\"]"}"#,
                #"{"op":"replace","path":"/templates/newsEN/body","value":"{\"aps\":{}}"}"#,
            ] {
                let reply = try await hub.send("PATCH", "installations/p", as: hub.listen, "[\(operation)]")
                #expect(reply.status == 200, "\(operation)")
                #expect(try await matched(hub, "newsEN") == 1, "\(operation)")
            }
            let added = #"[{"op":"add","path":"/templates/newsFR","value":"{\"body\":\"{}\"}"}]"#
            #expect(try await hub.send("PATCH", "installations/p", as: hub.listen, added).status == 200)
            #expect(try await matched(hub, "newsFR") == 1)
        }
    }

    @Test(arguments: ["Template Name", "x,username:alice", "a&b<c>", "ä b"])
    func `a name that is not a valid tag is stored and listed, and matches nothing`(name: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let alice = Agent("alice", tags: ["username:alice"])
            try await hub.register(alice, as: hub.manageGrant)
            let stream = try hub.probe(Agent("thief"))
            let sent = Self.phone(Self.template(name))
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, sent).status == 200)
            var thief = Agent("thief")
            thief.templates = [name: InstallationTemplate(body: AgentTemplate.body)]
            try await hub.register(thief)
            #expect(try await matched(hub, "username:alice") == 1, "Alice alone")
            #expect(try await matched(hub, "x") == 0)
            try await hub.accept("for Alice", tags: "username:alice")
            try await hub.accept("for all")
            let again = try hub.probe(thief)
            try await hub.settle([again])
            #expect(again.probe.titles == ["for all"] && stream.probe.titles.isEmpty)
            let read = try await hub.send("GET", "installations/p", as: hub.listen).body
            let installation = try Installation(json: Array(read.utf8), as: .reply)
            #expect(installation.templates.keys.elementsEqual([name]) && installation.templates[name]?.tags == [])
            #expect(read.contains(#""tags":[\#(JSONText(name).text)]"#), "\(read)")
            // A client that sends back what it has read is not refused.
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, read).status == 200)
            let list = try await hub.send("GET", "/news/tags/World/registrations", as: hub.full).body
            #expect(list.contains("<TemplateName>"), "\(list)")
            let tags = list.components(separatedBy: "<Tags>").dropFirst().map { $0.prefix { $0 != "<" } }
            #expect(tags.count == 2 && !tags.contains { $0.contains("username:") }, "\(tags)")
            #expect(name != "Template Name" || tags.contains { $0.hasSuffix(",World,Template Name") }, "\(tags)")
        }
    }

    @Test func `names with commas give nobody a tag after a restart`() async throws {
        let scratch = try Scratch()
        let thief = Agent("thief")
        try await TestHub.run(scratch) { hub in
            var named = thief
            named.templates = ["x,username:alice": InstallationTemplate(body: AgentTemplate.body)]
            try await hub.register(named)
        }
        try await TestHub.run(scratch) { hub in
            let counts = (alice: try await matched(hub, "username:alice"), x: try await matched(hub, "x"))
            #expect(counts == (0, 0))
            #expect(try await hub.hub.recipients(of: nil).total == 1)
        }
    }

    @Test(arguments: ["username:alice", "UserName:bob", "from:x", "$UserId:{alice}", "$installationid:{Desk}"])
    func `Listen adds no template whose name is a reserved tag, and Manage may`(name: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let body = Self.phone(Self.template(name))
            let put = try await hub.send("PUT", "installations/p", as: hub.listen, body)
            #expect(put.status == 401 && put.body.contains("Manage"), "\(put.body)")
            #expect(
                try await hub.send("PUT", "installations/p", as: hub.listen, Self.phone(Self.template("a"))).status
                    == 200
            )
            let pointer = name.replacing("~", with: "~0").replacing("/", with: "~1")
            let patch = #"[{"op":"add","path":"/templates/\#(pointer)","value":{"body":"{}"}}]"#
            #expect(try await hub.send("PATCH", "installations/p", as: hub.listen, patch).status == 401)
            let tile =
                #"{"installationId":"w","platform":"wns","pushChannel":"https://w/","secondaryTiles":{"t":{"pushChannel":"#
                + #""https://w/2","templates":{"\#(name)":{"body":"<t/>","headers":{"X-WNS-Type":"wns/toast"}}}}}}"#
            #expect(try await hub.send("PUT", "installations/w", as: hub.listen, tile).status == 401)
            #expect(try await matched(hub, name.hasPrefix("$") ? "$UserId:{alice}" : name) == 0)
            #expect(try await hub.send("PUT", "installations/p", as: hub.full, body).status == 200)
            let isTag = !name.hasPrefix("$")
            #expect(
                try await matched(hub, name) == (isTag ? 1 : 0),
                "only the hub itself assigns tags that begin with '$'"
            )
            // It stays what it is when its owner registers again.
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, body).status == 200)
        }
    }

    @Test func `the name counts towards no limit of tags`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: (0..<Installation.maximumTags).map { "t\($0)" })
            agent.templates = ["newsEN": InstallationTemplate(body: AgentTemplate.body)]
            #expect(try await hub.put(agent).status == 200)
            let read = try await hub.send("GET", "installations/a", as: hub.listen, channel: agent.secret)
            #expect(read.body.contains(#""tags":["newsEN"]"#))
            let patch = #"[{"op":"add","path":"/templates/newsEN/tags","value":"newsEN"}]"#
            let patched = try await hub.send("PATCH", "installations/a", as: hub.listen, channel: agent.secret, patch)
            #expect(patched.status == 200)
        }
    }
}
