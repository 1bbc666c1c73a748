import Formats
import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct InstallationTests {
    static let secret = String(repeating: "a", count: 43)

    static func agent(_ members: String = "") -> [UInt8] {
        #"{"installationId":"a-1","platform":"stream","pushChannel":"\#(secret)"\#(members)}"#.bytes
    }

    private static func problems(_ json: [UInt8]) -> String {
        do {
            _ = try Installation(json: json)
            return ""
        } catch {
            return "\(error.status) \(error.detail)"
        }
    }

    @Test func `the service's own reply is read and written alike`() throws {
        let reply = #"""
            {"installationId":"95e4cf2e","pushChannel":"62BCD348","pushChannelExpired":false,"platform":"apns",\#
            "expirationTime":"9999-12-31T23:59:59.9999999Z","tags":["tag1"],"pushVariables":{"var1":"value1"},\#
            "templates":{"Template Name":{"body":"{\"aps\":{\"alert\":\"alert!\"}}",\#
            "expiry":"2018-11-07T16:18:32.6641371-08:00","tags":["Template Name"]}}}
            """#
        let installation = try Installation(json: reply.bytes, as: .reply)
        #expect(installation.expirationTime == nil)
        #expect(installation.encodedJSON(as: .reply) == reply)
        #expect(try Installation(json: reply.bytes) == installation)
    }

    @Test func `nulls are absent, unknown members are passed over, equal tags are one`() throws {
        let installation = try Installation(
            json: Self.agent(
                #","userId":null,"pushChannelExpired":null,"expirationTime":null,"tags":["a","A","b"],"x":{"y":[1]},"#
                    + #""templates":{"n":{"body":"{}","headers":{},"expiry":null,"tags":null}}"#
            )
        )
        #expect(installation.userID == nil)
        #expect(installation.tags.map(\.text) == ["a", "b"])
        #expect(installation.templates["n"] == InstallationTemplate(body: "{}"))
        #expect(installation.serverAssignedTags.map(\.text) == ["$InstallationId:{a-1}"])
    }

    @Test func `every problem is named at once`() {
        let json = #"""
            {"installationId":"a b","platform":7,"userId":"x y","pushChannel":5,"expirationTime":"soon",\#
            "tags":["ok","a,b","$UserId:{x}",3],"pushVariables":{"a":1},"templates":{"t":{},"u":[]}}
            """#
        let said = Self.problems(json.bytes)
        for part in [
            "400 ", "installationId 'a b' contains a space", "platform is a number", "userId 'x y'",
            "pushChannel is a number",
            "expirationTime 'soon'", "tag 'a,b' contains ','", "begins with '$'", "tags contains a number",
            "pushVariables/a is a number", "templates/t has no body", "templates/u is an array",
        ] {
            #expect(said.contains(part), "\(part) in \(said)")
        }
    }

    @Test(arguments: [
        ("{}", "installationId is missing; platform is missing"),
        (#"{"installationId":"a","platform":"fax","pushChannel":"x"}"#, "'fax' is not one of"),
        (#"{"installationId":"a","platform":"stream"}"#, "pushChannel is missing"),
        (
            #"{"installationId":"a","platform":"baidu","pushChannel":"user"}"#,
            "pushChannel is not a user id and a channel id, joined by '-'"
        ),
        (#"{"installationId":"a","platform":"stream","pushChannel":"short"}"#, "43 characters"),
        (#"{"installationId":"a","platform":"apns","pushChannel":"62B"}"#, "hexadecimal"),
        (#"{"installationId":"a","platform":"apns","pushChannel":"zz"}"#, "hexadecimal"),
        (#"{"installationId":"a","platform":"wns","pushChannel":"nowhere"}"#, "absolute URI"),
        (#"{"installationId":"a","platform":"wns","pushChannel":"https:x"}"#, "absolute URI"),
        (#"{"installationId":"a","platform":"wns","pushChannel":"https://"}"#, "absolute URI"),
        (#"{"installationId":"a","platform":"mpns","pushChannel":"urn:"}"#, "absolute URI"),
        (#"{"installationId":"a","platform":"mpns","pushChannel":"urn:a b"}"#, "absolute URI"),
        (#"{"installationId":"a","platform":"mpns","pushChannel":"1a:b"}"#, "absolute URI"),
        (#"{"installationId":"a","platform":"mpns","pushChannel":"a/b:c"}"#, "absolute URI"),
        (#"{"installationId":"a","platform":"mpns","pushChannel":":x"}"#, "absolute URI"),
        (#"{"installationId":"a","platform":"gcm","pushChannel":""}"#, "is empty"),
        (
            #"{"installationId":"a","platform":"gcm","pushChannel":{"endpoint":"https://x","p256dh":"a","auth":"b"}}"#,
            "only platform browser"
        ),
        (#"{"installationId":"a","platform":"browser","pushChannel":"x"}"#, "is not an object"),
        (
            #"{"installationId":"a","platform":"browser","pushChannel":{"endpoint":"http://x","p256dh":"a","auth":"b"}}"#,
            "https"
        ),
        (#"{"installationId":"a","platform":"browser","pushChannel":{"endpoint":"https://x"}}"#, "lacks"),
        (
            #"{"installationId":"a","platform":"gcm","pushChannel":"x","secondaryTiles":{"t":{"pushChannel":"https://x"}}}"#,
            "wns only"
        ),
        (
            #"{"installationId":"a","platform":"gcm","pushChannel":"x","templates":{"t":{"body":"<a/>"}}}"#,
            "not a JSON object"
        ),
        (
            #"{"installationId":"a","platform":"gcm","pushChannel":"x","templates":{"t":{"body":"{\"a\":\"$(\"}"}}}"#,
            "templates/t/body: a property name"
        ),
        (#"{"installationId":"a","platform":"gcm","pushChannel":"x","templates":{"":{"body":"{}"}}}"#, "1 to 200"),
        (
            #"{"installationId":"a","platform":"wns","pushChannel":"https://x","templates":{"t":{"body":"<a/>"}}}"#,
            "X-WNS-Type"
        ),
        (
            #"{"installationId":"a","platform":"apns","pushChannel":"aa","templates":{"t":{"body":"{}","headers":{"x":"1"}}}}"#,
            "apns-"
        ),
        (
            #"{"installationId":"a","platform":"apns","pushChannel":"aa","templates":{"t":{"body":"{}","headers":{"apns-x":"$("}}}}"#,
            "headers/apns-x"
        ),
        (
            #"{"installationId":"a","platform":"apns","pushChannel":"aa","templates":{"t":{"body":"{}","expiry":"later"}}}"#,
            "expiry 'later'"
        ),
        (
            #"{"installationId":"a","platform":"apns","pushChannel":"aa","templates":{"t":{"body":"{}","expiry":""}}}"#,
            "expiry"
        ),
        (
            #"{"installationId":"a","platform":"apns","pushChannel":"aa","templates":{"t":{"body":"{}","headers":{"apns-x":"a\nb"}}}}"#,
            "templates/t/headers/apns-x contains a control character"
        ),
        (
            #"{"installationId":"a","platform":"apns","pushChannel":"aa","templates":{"t":{"body":"{}","headers":{"apns-a b":"c"}}}}"#,
            "templates/t/headers/apns-a b: a header's name"
        ),
        (
            #"{"installationId":"a","platform":"apns","pushChannel":"aa","templates":{"t":{"body":"{}","headers":{"apns-expiration":"soon"}}}}"#,
            "templates/t/headers/apns-expiration 'soon'"
        ),
        (
            #"{"installationId":"a","platform":"apns","pushChannel":"aa","templates":{"t":{"body":"{}","headers":{"apns-x":"","APNS-X":""}}}}"#,
            "templates/t/headers/apns-x differs from another only in case"
        ),
        (#"{"installationId":"a","installationId":"b"}"#, "twice"),
    ])
    func `what breaks a rule is refused`(json: String, part: String) {
        let said = Self.problems(json.bytes)
        #expect(said.hasPrefix("400 ") && said.contains(part), "\(said)")
    }

    @Test(arguments: [
        #"{"installationId":"a","platform":"APNS","pushChannel":"aAbB","templates":{"t":{"body":"{}","expiry":"0","headers":{"Apns-Priority":"5"}}}}"#,
        #"{"installationId":"a","platform":"wns","pushChannel":"https://x","templates":{"t":{"body":"<toast/>","headers":{"x-wns-type":"wns/toast"}}}}"#,
        #"{"installationId":"a","platform":"wns","pushChannel":"https://x","templates":{"t":{"body":"{}","headers":{"X-WNS-Type":"wns/raw"}}}}"#,
        #"{"installationId":"a","platform":"mpns","pushChannel":"https://x","templates":{"t":{"body":"{}","headers":{"X-NotificationClass":"3"}}}}"#,
        #"{"installationId":"a","platform":"mpns","pushChannel":"http://x","templates":{"t":{"body":"{}"}}}"#,
        // As recorded (protocol §3.8).
        #"{"installationId":"a","platform":"wns","pushChannel":"https://some.url/","templates":{"t":{"body":"{\"aps\":{\"alert\":\"alert!\"}}","headers":{"X-WNS-Type":"wns/toast"}}}}"#,
        #"{"installationId":"a","platform":"wns","pushChannel":"urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66"}"#,
        #"{"installationId":"a","platform":"mpns","pushChannel":"X-a+b.1://"}"#,
        #"{"installationId":"a","platform":"gcm","pushChannel":"x","pushVariables":{"a-b":"1","é c":"2","a":"3","A":"4","":"5"}}"#,
        #"{"installationId":"a","platform":"fcmV1","pushChannel":"x:y_z-1","expirationTime":"2019-01-01T10:00+0000"}"#,
        #"{"installationId":"a","platform":"wns","pushChannel":"https://x","secondaryTiles":{"t":{"pushChannel":"https://y","tags":["a"]}}}"#,
    ])
    func `what clients send is taken`(json: String) {
        #expect(Self.problems(json.bytes) == "")
    }

    @Test func `the service's reply with a user is written alike`() throws {
        let reply = #"""
            {"installationId":"08c88ecf","pushChannel":"62BCD348","pushChannelExpired":false,"platform":"apns",\#
            "expirationTime":"9999-12-31T23:59:59.9999999Z","userId":"d798d460"}
            """#
        #expect(try Installation(json: reply.bytes, as: .reply).encodedJSON(as: .reply) == reply)
    }

    @Test func `a client cannot declare a channel dead, a tile's neither`() throws {
        let json = #"""
            {"installationId":"a","pushChannel":"https://x","pushChannelExpired":true,"platform":"wns",\#
            "expirationTime":"9999-12-31T23:59:59.9999999Z",\#
            "secondaryTiles":{"t":{"pushChannel":"https://y","pushChannelExpired":true}}}
            """#
        let sent = try Installation(json: json.bytes)
        #expect(!sent.pushChannelExpired && sent.secondaryTiles["t"]?.pushChannelExpired == false)
        #expect(try Installation(json: json.bytes, as: .reply).encodedJSON(as: .reply) == json, "a hub is believed")
    }

    @Test func `a browser's channel goes back as it came, as object or as text`() throws {
        let object = #"{"endpoint":"https://push.example/x","p256dh":"BAb-_","auth":"c2"}"#
        for channel in [object, JSONText(object).text] {
            let json = #"{"installationId":"a","pushChannel":\#(channel),"platform":"browser"}"#
            #expect(try Installation(json: json.bytes).encodedJSON(as: .request) == json)
        }
    }

    @Test func `a stream's secret is written in requests and never in replies`() throws {
        let installation = try Installation(json: Self.agent())
        #expect(installation.encodedJSON(as: .request).bytes.count == Self.agent().count)
        #expect(!installation.encodedJSON(as: .reply).contains(Self.secret))
        #expect(installation.encodedJSON(as: .reply).contains(#""pushChannelExpired":false"#))
        #expect(try Installation(json: installation.encodedJSON(as: .reply).bytes, as: .reply).pushChannel == nil)
    }

    @Test func `the id must be the path's, in any case`() throws {
        #expect(try Installation(json: Self.agent(), id: InstallationID("A-1")).id.text == "a-1")
        #expect { try Installation(json: Self.agent(), id: InstallationID("b")) } throws: {
            "\($0)".contains("is not the id in the path")
        }
    }

    @Test func `the limits are kept`() {
        func tags(_ count: Int) -> String { (0..<count).map { "\"t\($0)\"" }.joined(separator: ",") }
        #expect(Self.problems(Self.agent(",\"tags\":[\(tags(60))]")) == "")
        #expect(Self.problems(Self.agent(",\"tags\":[\(tags(61))]")).contains("more than 60 tags"))
        #expect(
            throws: Never.self,
            performing: { try Installation(json: Self.agent(",\"tags\":[\(tags(61))]"), maximumTags: 61) }
        )
        #expect {
            try Installation(json: Self.agent(",\"tags\":[\(tags(3))]"), maximumTags: 2)
        } throws: {
            "\($0)".contains("more than 2 tags")
        }
        let template = #""t":{"body":"{}","tags":["x"]}"#
        #expect(
            Self.problems(Self.agent(",\"tags\":[\(tags(60))],\"templates\":{\(template)}"))
                .contains("templates/t/tags: more than 60")
        )
        let many = (0..<51).map { "\"n\($0)\":{\"body\":\"{}\"}" }.joined(separator: ",")
        #expect(Self.problems(Self.agent(",\"templates\":{\(many)}")).contains("more than 50"))
        let long = String(repeating: "n", count: 201)
        #expect(Self.problems(Self.agent(",\"templates\":{\"\(long)\":{\"body\":\"{}\"}}")).contains("1 to 200"))
        #expect(Self.problems(Self.agent(",\"x\":\"\(String(repeating: "x", count: 65_536))\"")).hasPrefix("413 "))
        let invalidTags = (0..<500).map { _ in "\"$x\"" }.joined(separator: ",")
        #expect(Self.problems(Self.agent(",\"tags\":[\(invalidTags)]")).hasSuffix("and 480 more"))
    }

    @Test func `it survives a store`() throws {
        let installation = try Installation(
            json: Self.agent(#","userId":"bob","tags":["a"],"templates":{"t":{"body":"{}","tags":["b"]}}"#)
        )
        let data = try JSONEncoder().encode(installation)
        #expect(try JSONDecoder().decode(Installation.self, from: data) == installation)
    }

    @Test func `tags can be kept wherever they stand`() throws {
        let old = try Installation(
            json: #"""
                {"installationId":"a","platform":"wns","pushChannel":"https://x","tags":["username:bob","a"],\#
                "templates":{"t":{"body":"<x/>","headers":{"X-WNS-Type":"wns/tile"},"tags":["from:x"]}},\#
                "secondaryTiles":{"s":{"pushChannel":"https://x","tags":["username:eve","b"],"templates":{}}}}
                """#.bytes
        )
        var new = old
        new.tags = [try Tag("USERNAME:bob"), try Tag("c")]
        new.templates["t"]?.tags = []
        new.secondaryTiles["s"]?.tags = []
        new.keepTags(of: old) { ReservedTagPrefixes.standard.contains($0) }
        #expect(new.tags.map(\.text) == ["USERNAME:bob", "c"])
        #expect(new.templates["t"]?.tags.map(\.text) == ["from:x"])
        #expect(new.secondaryTiles["s"]?.tags.map(\.text) == ["username:eve"])
    }
}
