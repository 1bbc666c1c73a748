import Foundation
import HTTPTypes
import HubRouting
import HubStore
import Testing

@testable import HubProtocol
@testable import HubServer

/// SQLite ends a text at a NUL: two names that differ behind one would be the same there.
struct ControlCharacterTests {
    static let controls = ["\u{0}", "\u{1}", "\n", "\u{7F}", "\u{85}"]

    /// Escaped as JSON wants it.
    private static func json(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control
                ? "\\u" + String(scalar.value + 0x10000, radix: 16).dropFirst() : String(scalar)
        }.joined()
    }

    private static func percent(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    private let template = #"{"body":"<t/>","headers":{"X-WNS-Type":"wns/toast"}}"#

    private func installation(_ member: String) -> String {
        #"{"installationId":"w","platform":"wns","pushChannel":"https://w/",\#(member)}"#
    }

    @Test(arguments: controls)
    func `names of templates, tiles and push variables hold no control characters`(control: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let (one, two) = (Self.json("a\(control)b"), Self.json("a\(control)c"))
            let members = [
                #""templates":{"\#(one)":\#(template),"\#(two)":\#(template)}"#,
                #""secondaryTiles":{"\#(one)":{"pushChannel":"https://w/2"},"\#(two)":{"pushChannel":"https://w/3"}}"#,
                #""secondaryTiles":{"t":{"pushChannel":"https://w/2","templates":{"\#(one)":\#(template)}}}"#,
                #""pushVariables":{"\#(one)":"x"}"#,
            ]
            for member in members {
                let reply = try await hub.send("PUT", "installations/w", as: hub.listen, installation(member))
                #expect(
                    reply.status == 400 && reply.error?.detail.contains("control character") == true,
                    "\(reply.body)"
                )
            }
            #expect(
                try await hub.send("PUT", "installations/w", as: hub.listen, installation(#""tags":[]"#)).status == 200
            )
            let patches = [
                #"{"op":"add","path":"/templates/\#(one)","value":\#(template)}"#,
                #"{"op":"add","path":"/secondaryTiles/\#(one)","value":{"pushChannel":"https://w/2"}}"#,
                #"{"op":"add","path":"/pushVariables/\#(one)","value":"x"}"#,
            ]
            for patch in patches {
                let reply = try await hub.send("PATCH", "installations/w", as: hub.listen, "[\(patch)]")
                #expect(
                    reply.status == 400 && reply.error?.detail.contains("control character") == true,
                    "\(reply.body)"
                )
            }
            #expect(try await hub.send("DELETE", "installations/w", as: hub.listen).status == 204)
        }
    }

    /// Stored by a hub of before, which took such names.
    @Test func `an installation that has such names can be read, patched, replaced and deleted`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let bad = "a\u{0}b"
            let old = InstallationTemplate(body: "<t/>", headers: ["X-WNS-Type": "wns/toast"])
            func store() async throws {
                let installation = Installation(
                    id: try InstallationID("w"),
                    platform: .wns,
                    pushChannel: .handle("https://w/"),
                    templates: [bad: old],
                    secondaryTiles: [bad: SecondaryTile(pushChannel: .handle("https://w/2"))]
                )
                try await hub.hub.installations.put(installation, bytes: 0, grant: hub.manageGrant, channel: nil)
            }
            func send(_ method: String, _ body: String = "") async throws -> Int {
                try await hub.send(method, "installations/w", as: hub.listen, body).status
            }
            try await store()
            #expect(try await send("GET") == 200)
            let name = Self.json(bad)
            let repair =
                #"[{"op":"remove","path":"/templates/\#(name)"},{"op":"remove","path":"/secondaryTiles/\#(name)"}]"#
            #expect(try await send("PATCH", repair) == 200)
            #expect(try await send("DELETE") == 204)
            try await store()
            let good = installation(#""templates":{"a":\#(template),"b":\#(template)}"#)
            #expect(try await send("PUT", good) == 200)
            #expect(try await send("PUT", good) == 200)
            #expect(try await send("DELETE") == 204)
            try await store()
            #expect(try await send("DELETE") == 204)
            #expect(try await send("GET") == 404)
        }
    }

    /// Every operation with control characters wherever its address has a name or a value.
    @Test(arguments: controls)
    func `no address with a control character is a failure of the hub, nor another's name`(control: String) async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let names = #"{"categories":["World"]}"#
            #expect(try await hub.send("PUT", "categories/p", as: hub.full, names).status == 200)
            let root = try #require(hub.service.directory.namespaceRules.first)
            let odd = Self.percent("p\(control)x")
            for route in RouteTable.routes {
                let segments = route.address.split(separator: "/").map { segment in
                    segment == ":hub" ? "news" : segment.hasPrefix(":") ? odd : String(segment)
                }
                let queries = [
                    "", "?$filter=\(odd)&$top=\(odd)&ContinuationToken=\(odd)&device=\(odd)&wait=\(odd)&test=\(odd)",
                    "?$filter=ChannelUri+eq+'\(odd)'", "?deviceHandle=\(odd)&direct&tags=\(odd)",
                ]
                // The hub itself is needed for the rest.
                if segments == ["news"], route.method == .delete { continue }
                for query in queries {
                    let path = "/" + segments.joined(separator: "/") + query
                    for body in ["", #"{"categories":["\#(Self.json("a\(control)b"))"]}"#, installation(#""tags":[]"#)]
                    {
                        let reply = try await hub.send(
                            route.method.rawValue,
                            path,
                            as: nil,
                            headers: ["Authorization": hub.token(root, resource: "http://h/")],
                            body
                        )
                        #expect(reply.status < 500, "\(route.method) \(path): \(reply.status) \(reply.body)")
                    }
                }
            }
            #expect(try await hub.send("GET", "categories", as: hub.listen).status == 200)
        }
    }
}
