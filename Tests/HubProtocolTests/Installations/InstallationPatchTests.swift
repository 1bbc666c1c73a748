import Formats
import Testing

@testable import HubProtocol

@Suite struct InstallationPatchTests {
    static let base = #"""
        {"installationId":"a","platform":"wns","pushChannel":"https://old","tags":["x","y"],"pushVariables":{"k":"v"},\#
        "templates":{"t/1~":{"body":"<a/>","headers":{"X-WNS-Type":"wns/tile"},"expiry":"0","tags":["q"]}},\#
        "secondaryTiles":{"s":{"pushChannel":"https://s"}}}
        """#

    private static func patched(_ operations: String) throws -> Installation {
        let base = try Installation(json: Self.base.bytes)
        return try InstallationPatch(json: "[\(operations)]".bytes).applied(to: base)
    }

    private static func refusal(_ operations: String) -> String {
        do {
            _ = try Self.patched(operations)
            return ""
        } catch {
            return "\((error as? ProtocolError)?.status ?? 0) \(error)"
        }
    }

    /// Each row: one operation, and the part of the document after it that shows what it did.
    @Test(arguments: [
        (#"{"op":"replace","path":"/pushChannel","value":"https://new"}"#, #""pushChannel":"https://new""#),
        (#"{"op":"add","path":"/userId","value":"bob"}"#, #""userId":"bob""#),
        (#"{"op":"add","path":"/tags","value":"z"}"#, #""tags":["x","y","z"]"#),
        (#"{"op":"add","path":"/tags","value":"X"}"#, #""tags":["x","y"]"#),
        (#"{"op":"add","path":"/tags","value":"[\"y\",\"z\"]"}"#, #""tags":["x","y","z"]"#),
        (#"{"op":"add","path":"/tags","value":["z","w"]}"#, #""tags":["x","y","z","w"]"#),
        (#"{"op":"replace","path":"/tags","value":"z"}"#, #""tags":["z"]"#),
        (#"{"op":"replace","path":"/tags","value":" [\"z\"]"}"#, #""tags":["z"]"#),
        (#"{"op":"remove","path":"/tags"}"#, #""expirationTime":"9999-12-31T23:59:59.9999999Z","pushVariables""#),
        (#"{"op":"remove","path":"/tags","value":null}"#, #"Z","pushVariables""#),
        (#"{"op":"add","path":"/tags/z"}"#, #""tags":["x","y","z"]"#),
        (#"{"op":"replace","path":"/tags/z","value":"ignored"}"#, #""tags":["x","y","z"]"#),
        (#"{"op":"remove","path":"/tags/X"}"#, #""tags":["y"]"#),
        (#"{"op":"remove","path":"/tags/absent"}"#, #""tags":["x","y"]"#),
        (#"{"op":"add","path":"/pushVariables","value":"{\"a\":\"1\"}"}"#, #""pushVariables":{"a":"1"}"#),
        (#"{"op":"add","path":"/pushVariables","value":{"a":"1"}}"#, #""pushVariables":{"a":"1"}"#),
        (#"{"op":"add","path":"/pushVariables/a","value":"1"}"#, #""pushVariables":{"a":"1","k":"v"}"#),
        (#"{"op":"add","path":"/pushVariables/a-b","value":"1"}"#, #""pushVariables":{"a-b":"1","k":"v"}"#),
        (#"{"op":"remove","path":"/pushVariables/k"}"#, #""tags":["x","y"],"templates""#),
        (#"{"op":"remove","path":"/pushVariables"}"#, #""tags":["x","y"],"templates""#),
        (
            #"{"op":"add","path":"/templates/n","value":"{\"body\":\"<b/>\",\"headers\":{\"X-WNS-Type\":\"wns/tile\"}}"}"#,
            #""templates":{"n":{"body":"<b/>","headers":{"X-WNS-Type":"wns/tile"}},"t/1~""#
        ),
        (
            #"{"op":"replace","path":"/templates/t~11~0","value":{"body":"<b/>","headers":{"X-WNS-Type":"wns/raw"}}}"#,
            #""templates":{"t/1~":{"body":"<b/>","headers":{"X-WNS-Type":"wns/raw"},"tags":["t/1~"]}}"#
        ),
        (
            #"{"op":"replace","path":"/templates","value":{"n":{"body":"<b/>","headers":{"X-WNS-Type":"wns/tile"}}}}"#,
            #""templates":{"n":{"body":"<b/>""#
        ),
        (#"{"op":"remove","path":"/templates/t~11~0"}"#, #""pushVariables":{"k":"v"},"secondaryTiles""#),
        (#"{"op":"remove","path":"/templates/absent"}"#, #""templates":{"t/1~""#),
        (#"{"op":"replace","path":"/templates/t~11~0/body","value":"<c/>"}"#, #""body":"<c/>""#),
        (#"{"op":"remove","path":"/templates/t~11~0/expiry"}"#, #""headers":{"X-WNS-Type":"wns/tile"},"tags""#),
        (#"{"op":"replace","path":"/templates/t~11~0/expiry","value":"$(e)"}"#, #""expiry":"$(e)""#),
        (
            #"{"op":"replace","path":"/templates/t~11~0/headers","value":"{\"x-wns-type\":\"wns/toast\",\"X-WNS-Tag\":\"$(t)\"}"}"#,
            #""headers":{"X-WNS-Tag":"$(t)","x-wns-type":"wns/toast"}"#
        ),
        (#"{"op":"add","path":"/templates/t~11~0/tags","value":"r"}"#, #""tags":["q","r","t/1~"]"#),
        (#"{"op":"add","path":"/templates/t~11~0/tags/r"}"#, #""tags":["q","r","t/1~"]"#),
        (#"{"op":"remove","path":"/templates/t~11~0/tags/q"}"#, #""expiry":"0","tags":["t/1~"]}}"#),
        (#"{"op":"remove","path":"/templates/absent/tags/q"}"#, #""templates":{"t/1~""#),
        (#"{"op":"remove","path":"/templates/absent/expiry"}"#, #""templates":{"t/1~""#),
        (
            #"{"op":"replace","path":"/secondaryTiles/s/pushChannel","value":"https://s2"}"#,
            #""secondaryTiles":{"s":{"pushChannel":"https://s2""#
        ),
        (#"{"op":"add","path":"/secondaryTiles/s/tags","value":"z"}"#, #""tags":["z"]}}}"#),
        (
            #"{"op":"add","path":"/secondaryTiles/s/templates/n","value":{"body":"<b/>","headers":{"X-WNS-Type":"wns/tile"}}}"#,
            #""templates":{"n":{"body":"<b/>""#
        ),
        (
            #"{"op":"add","path":"/secondaryTiles/n/pushChannel","value":"https://n"}"#,
            #""secondaryTiles":{"n":{"pushChannel":"https://n""#
        ),
        (
            #"{"op":"add","path":"/secondaryTiles/n","value":"{\"pushChannel\":\"https://n\"}"}"#,
            #"{"n":{"pushChannel":"https://n""#
        ),
        (
            #"{"op":"add","path":"/secondaryTiles/s","value":{"pushChannel":"https://n","pushChannelExpired":true}}"#,
            #"{"s":{"pushChannel":"https://n","pushChannelExpired":false}}"#
        ),
        (#"{"op":"remove","path":"/secondaryTiles/s"}"#, #""tags":["q","t/1~"]}}}"#),
        (
            #"{"op":"remove","path":"/secondaryTiles/absent/tags/z"}"#,
            #""secondaryTiles":{"s":{"pushChannel":"https://s","pushChannelExpired":false}}"#
        ),
    ])
    func `each path does what it says`(operation: String, part: String) throws {
        let json = try Self.patched(operation).encodedJSON(as: .reply)
        #expect(json.contains(part), "\(operation) gave \(json)")
    }

    @Test(arguments: [
        (#"{"op":"remove","path":"/pushChannel"}"#, "cannot be removed"),
        (#"{"op":"replace","path":"/pushChannel","value":"nowhere"}"#, "absolute URI"),
        (#"{"op":"replace","path":"/installationId","value":"b"}"#, "the path is not one of"),
        (#"{"op":"replace","path":"/platform","value":"gcm"}"#, "the path is not one of"),
        (#"{"op":"remove","path":"/templates"}"#, "the path is not one of"),
        (#"{"op":"add","path":"/templates/t/bodies","value":"x"}"#, "the path is not one of"),
        (#"{"op":"add","path":"/templates/t/body/x","value":"x"}"#, "the path is not one of"),
        (#"{"op":"add","path":"/tags/a/b","value":"x"}"#, "the path is not one of"),
        (#"{"op":"add","path":"/secondaryTiles/s/userId","value":"x"}"#, "the path is not one of"),
        (#"{"op":"add","path":"tags","value":"x"}"#, "JSON pointer"),
        (#"{"op":"add","path":"","value":"x"}"#, "JSON pointer"),
        (#"{"op":"add","path":"/tags/","value":"x"}"#, "JSON pointer"),
        (#"{"op":"add","path":"/tags/a~2","value":"x"}"#, "JSON pointer"),
        (#"{"op":"move","path":"/tags/a","from":"/tags/x"}"#, "not one of add, remove, replace"),
        (#"{"op":"add","path":"/tags"}"#, "needs a value"), (#"{"path":"/tags"}"#, "needs an 'op'"),
        (#""x""#, "not an object"),
        (#"{"op":"add","path":"/tags","value":"a,b"}"#, "contains ','"),
        (#"{"op":"add","path":"/tags","value":7}"#, "not an array"),
        (#"{"op":"add","path":"/tags","value":"[\"a\""}"#, "not JSON"),
        (#"{"op":"add","path":"/tags/$UserId:{a}"}"#, "begins with '$'"),
        (#"{"op":"remove","path":"/tags/$InstallationId:{a}"}"#, "begins with '$'"),
        (#"{"op":"add","path":"/tags","value":["$UserId:{a}"]}"#, "begins with '$'"),
        (#"{"op":"add","path":"/userId","value":"a b"}"#, "userId 'a b'"),
        (#"{"op":"add","path":"/pushVariables/a","value":1}"#, "not a string"),
        (#"{"op":"add","path":"/templates/n","value":"x"}"#, "not JSON"),
        (#"{"op":"add","path":"/templates/n","value":"[]"}"#, "not an object"),
        (#"{"op":"add","path":"/templates/n","value":{}}"#, "has no body"),
        (#"{"op":"remove","path":"/templates/t~11~0/body"}"#, "neither a JSON object nor"),
        (#"{"op":"add","path":"/templates/n/tags","value":"x"}"#, "templates/n/body"),
        (#"{"op":"add","path":"/templates/n/body","value":"<a/>"}"#, "X-WNS-Type"),
        (#"{"op":"replace","path":"/templates/t~11~0/body","value":"<a>$(</a>"}"#, "property name"),
        (#"{"op":"remove","path":"/templates/t~11~0/headers"}"#, "X-WNS-Type"),
        (#"{"op":"add","path":"/secondaryTiles/n/tags","value":"z"}"#, "secondaryTiles/n/pushChannel is missing"),
    ])
    func `what cannot be done is refused`(operation: String, part: String) {
        let said = Self.refusal(operation)
        #expect(said.hasPrefix("400 ") && said.contains(part), "\(operation): \(said)")
    }

    @Test func `several operations may pass through a state that alone would be refused`() throws {
        let patched = try Self.patched(
            #"{"op":"add","path":"/templates/n/tags","value":"x"},{"op":"add","path":"/templates/n/body","value":"<b/>"},"#
                + #"{"op":"add","path":"/templates/n/headers","value":{"X-WNS-Type":"wns/tile"}}"#
        )
        #expect(patched.templates["n"]?.tags.map(\.text) == ["x"])
    }

    @Test func `operations are applied all or none, and every bad one is named`() throws {
        let said = Self.refusal(
            #"{"op":"add","path":"/tags","value":"z"},{"op":"x","path":"/tags"},{"op":"add","path":"/nowhere","value":"x"}"#
        )
        #expect(said.contains("operation 2 (x /tags)") && said.contains("operation 3 (add /nowhere)"))
    }

    @Test func `operations are applied in order`() throws {
        let patched = try Self.patched(
            #"{"op":"replace","path":"/tags","value":"a"},{"op":"add","path":"/tags/b"},{"op":"remove","path":"/tags/a"}"#
        )
        #expect(patched.tags.map(\.text) == ["b"])
        #expect(try Self.patched("") == Installation(json: Self.base.bytes))
    }

    @Test func `tags that it removes by name can be asked`() throws {
        let patch = try InstallationPatch(
            json: #"""
                [{"op":"remove","path":"/tags/username:bob"},{"op":"remove","path":"/secondaryTiles/s/templates/t/tags/q"},\#
                {"op":"add","path":"/tags","value":["m"]},{"op":"add","path":"/templates/n","value":{"body":"{}","tags":["n"]}}]
                """#.bytes
        )
        #expect(patch.removedTags.map(\.text) == ["username:bob", "q"])
    }

    @Test func `a stream installation whose channel is kept as a digest can be patched`() throws {
        var agent = try Installation(json: InstallationTests.agent())
        agent.pushChannel = nil
        let patch = try InstallationPatch(json: #"[{"op":"add","path":"/tags/World"}]"#.bytes)
        #expect(try patch.applied(to: agent).tags.map(\.text) == ["World"])
        let bad = try InstallationPatch(json: #"[{"op":"add","path":"/pushChannel","value":"short"}]"#.bytes)
        #expect(throws: ProtocolError.self) { try bad.applied(to: agent) }
        let xml = try InstallationPatch(json: #"[{"op":"add","path":"/templates/x","value":{"body":"<a/>"}}]"#.bytes)
        #expect(throws: ProtocolError.self) { try xml.applied(to: agent) }
    }

    @Test func `a browser's channel keeps the form that its client has stored`() throws {
        let stored = #"{"endpoint":"https://push.example/1","p256dh":"BA","auth":"AU"}"#
        let new = #"{"endpoint":"https://push.example/2","p256dh":"BB","auth":"AV"}"#
        for form in [stored, JSONText(stored).text] {
            let json = #"{"installationId":"a","pushChannel":\#(form),"platform":"browser"}"#
            for value in [new, JSONText(new).text] {
                let patch = try InstallationPatch(
                    json: #"[{"op":"replace","path":"/pushChannel","value":\#(value)}]"#.bytes
                )
                let patched = try patch.applied(to: Installation(json: json.bytes)).encodedJSON(as: .request)
                #expect(patched == json.replacing(form, with: form == stored ? new : JSONText(new).text))
            }
        }
    }

    @Test func `patches are bounded`() throws {
        let one = #"{"op":"add","path":"/tags/a"}"#
        let many = Array(repeating: one, count: 201).joined(separator: ",")
        #expect(Self.refusal(many).contains("more than 200 operations"))
        #expect(throws: ProtocolError.self) { try InstallationPatch(json: "{}".bytes) }
        let body = "<a>\(String(repeating: "x", count: 40_000))</a>"
        var grown = try Installation(json: Self.base.bytes)
        for name in ["n", "m"] {
            let value = #"{"body":"\#(body)","headers":{"X-WNS-Type":"wns/tile"}}"#
            let patch = try InstallationPatch(
                json: #"[{"op":"add","path":"/templates/\#(name)","value":\#(value)}]"#.bytes
            )
            if name == "m" {
                #expect(throws: ProtocolError.self) { try patch.applied(to: grown) }
            } else {
                grown = try patch.applied(to: grown)
            }
        }
    }
}
