import Testing

@testable import HubProtocol

@Suite struct MessagePropertiesTests {
    @Test func `texts, numbers and booleans become text, null is absence`() throws {
        let message = try MessageProperties(
            json: #"{"Title":"é\n😀","n":1.50e1,"yes":true,"no":false,"gone":null,"half":"\ud83d"}"#.bytes
        )
        #expect(message["title"] == "é\n😀")
        #expect(message["N"] == "1.50e1")
        #expect(message["yes"] == "true")
        #expect(message["no"] == "false")
        #expect(message["gone"] == nil)
        #expect(message["half"] == "\u{FFFD}")
        #expect(message.names == ["Title", "half", "n", "no", "yes"])
    }

    @Test func `what is encoded is read back, in one order`() throws {
        let message = MessageProperties(["b": "\"\\\u{1}", "A": "1", "c": ""])
        #expect(message.encoded() == #"{"A":"1","b":"\"\\\u0001","c":""}"#.bytes)
        #expect(try MessageProperties(json: message.encoded()) == message)
        #expect(MessageProperties([:]).encoded() == "{}".bytes)
    }

    @Test(arguments: [
        ("[]", "not a JSON object"), ("", "not valid JSON"), ("{\"a\":{}}", "'a' is an object"),
        ("{\"a\":[1],\"b\":{}}", "'b' is an object"), ("{\"a\":\"\",\"a\":\"\"}", "twice"),
    ])
    func `what no template can insert is refused and named`(json: String, part: String) {
        #expect { try MessageProperties(json: json.bytes) } throws: { error in
            (error as? ProtocolError)?.status == 400 && "\(error)".contains(part)
        }
    }

    @Test(arguments: [
        #"{"deep-link":"x","a":"1"}"#, #"{"":"x","é":"x","a":"1"}"#, #"{"a":"1","A":"2"}"#,
        "{\"\(String(repeating: "b", count: 121))\":\"x\",\"a\":\"1\"}",
    ])
    func `names that no template can write, and repeats in another case, are passed over`(json: String) throws {
        let message = try MessageProperties(json: json.bytes)
        #expect(message.names == ["a"] && message["a"] == "1")
    }

    @Test func `size, depth and encoding are bounded`() {
        let large = "{\"a\":\"\(String(repeating: "x", count: 65_536))\"}"
        #expect { try MessageProperties(json: large.bytes) } throws: { ($0 as? ProtocolError)?.status == 413 }
        let deep = "{\"a\":" + String(repeating: "[", count: 60_000)
        #expect { try MessageProperties(json: deep.bytes) } throws: { ($0 as? ProtocolError)?.status == 400 }
        #expect(throws: ProtocolError.self) {
            try MessageProperties(json: Array("{\"a\":\"".utf8) + [0xFF, 0x22, 0x7D])
        }
    }

    @Test func `a byte order mark is passed over`() throws {
        #expect(try MessageProperties(json: [0xEF, 0xBB, 0xBF] + "{\"a\":\"b\"}".bytes)["a"] == "b")
    }

    @Test func `of names that differ in case the first in order stands`() {
        #expect(MessageProperties(["a": "2", "A": "1"])["a"] == "1")
    }

    @Test(arguments: [
        ("low", MessageUrgency.low), ("very-low", .low), ("", .normal), ("normal", .normal), ("whatever", .normal),
        ("High", .critical), ("breaking", .critical), ("urgent", .critical), ("CRITICAL", .critical),
    ])
    func `urgency is read from a word`(word: String, urgency: MessageUrgency) {
        #expect(MessageUrgency(word: word) == urgency)
    }

    @Test func `a property that names a language tells it`() throws {
        let french = try LanguageName("French")
        #expect(french.newsProperty.language(of: .news) == "French" && french.newsProperty.language(of: .link) == nil)
        for name in [french.newsProperty, french.titleProperty, french.linkProperty] { #expect(name.isLocalized) }
        #expect(!MessageProperty.title.isLocalized)
    }

    @Test func `the texts of an object are read, and other members ignored`() {
        let texts = MessageProperty.texts(of: #"{"title":"t","n":1,"o":{"link":"x"},"other":""}"#)
        #expect(texts == [.title: "t", "other": ""])
        for body in ["", "[]", #""title""#, #"{"title":"t""#] { #expect(MessageProperty.texts(of: body) == [:]) }
    }
}
