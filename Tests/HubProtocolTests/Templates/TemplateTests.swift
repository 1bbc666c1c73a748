import Formats
import Markup
import Testing

@testable import HubProtocol

/// The message of the protocol's worked cases (§7.3).
private let message = MessageProperties(["name": "A & \"B\"", "n": "40", "t": "This is the title line"])

@Suite struct TemplateTests {
    @Test(arguments: [
        (#"$(name)"#, #""A & \"B\"""#),
        (#"{'Hi, ' + $(name)}"#, #""Hi, A & \"B\"""#),
        (#".(t, 20)"#, #""This is the title...""#),
        (#"$(t, 4)"#, #""This""#),
        (#"#(n)"#, "40"),
        (#"$(n)"#, #""40""#),
        (#"%(name)"#, #""A%20%26%20%22B%22""#),
        (#"$(missing)"#, #""""#),
        (#"Hello $(name)"#, #""Hello $(name)""#),
        // Beyond the table.
        (#"#(t)"#, #""This is the title line""#),
        (#"#(missing)"#, #""""#),
        (#"{#(n)}"#, "40"),
        (#"{$(n)}"#, #""40""#),
        (#"$(NAME)"#, #""A & \"B\"""#),
        (#"$( n )"#, #""40""#),
        (#"$(n) + ' x'"#, #""40 x""#),
        (#"{ '' + $(n) + \"''\" + 'it''s' }"#, #""40''it's""#),
        (#"{'#000000'}"#, ##""#000000""##),
        (#"$(missing:{none})"#, #""none""#),
        (#"$(missing:{a\\}b})"#, #""a}b""#),
        (#"$(missing:{}, 3)"#, #""""#),
        (#"$(n:{5})"#, #""40""#),
        (#"#(missing:{7})"#, "7"),
        (#".(missing:{abcdef}, 5)"#, #""ab...""#),
        (#"$(t, 0)"#, #""""#),
        (#"$(t, 22)"#, #""This is the title line""#),
        (#".(t, 22)"#, #""This is the title line""#),
        (#".(t, 3)"#, #""...""#),
        (#".(t, 2)"#, #""..""#),
        (#".(t, 0)"#, #""""#),
        (#"\u0024(n)"#, #""40""#),
        (#"$(n)  "#, #""40""#),
        (#" $(n)"#, #"" $(n)""#),
        (#""#, #""""#),
    ])
    func `a JSON template renders`(value: String, expected: String) throws {
        let template = try Template(parsing: "{\"v\":\"\(value)\"}")
        #expect(template.render(message) == "{\"v\":\(expected)}")
    }

    @Test(arguments: [
        ("<text>$(name)</text>", #"<text>A &amp; "B"</text>"#),
        (#"<t a="$(name)"/>"#, #"<t a="A &amp; &quot;B&quot;"/>"#),
        (#"<t a='{"it''s " + $(name)}'/>"#, ""),
        (#"<t a = '{&quot;it&apos;s &quot; + $(name)}' />"#, #"<t a = 'it&apos;s A &amp; &quot;B&quot;' />"#),
        ("<t>#(n)</t>", "<t>40</t>"),
        ("<t>%(name)</t>", "<t>A%20%26%20%22B%22</t>"),
        ("<t>Hello $(name)</t>", "<t>Hello $(name)</t>"),
        ("<t> $(name)</t>", "<t> $(name)</t>"),
        ("<t>$(n)<b/>$(n)</t>", "<t>40<b/>40</t>"),
        ("<t><!-- $(n) --><![CDATA[$(name)]]></t>", #"<t><!-- $(n) -->A &amp; "B"</t>"#),
        ("<t><![CDATA[a < $(name)]]></t>", "<t><![CDATA[a < $(name)]]></t>"),
        ("<t>&#36;(n)</t>", "<t>40</t>"),
        ("<t>&#x24;(n)</t>", "<t>40</t>"),
        ("<t>&amp; $(n)</t>", "<t>&amp; $(n)</t>"),
        (
            "<?xml version=\"1.0\" encoding=\"utf-16\"?>\n<t>$(n)</t>",
            "<?xml version=\"1.0\" encoding=\"utf-16\"?>\n<t>40</t>"
        ),
        ("<$(n)/>", ""),
        ("<x:t xmlns:x='{urn}' x:a=\"$(n)\"/>", "<x:t xmlns:x='{urn}' x:a=\"40\"/>"),
        ("<t a=\"x>y\" b=\"$(n)\"></t>", "<t a=\"x>y\" b=\"40\"></t>"),
        ("<?p $(n)?><t/>", "<?p $(n)?><t/>"),
        (
            #"<toast><visual><binding template="ToastText01"><text id="1">$(t)</text></binding></visual></toast>"#,
            #"<toast><visual><binding template="ToastText01"><text id="1">This is the title line</text></binding></visual></toast>"#
        ),
    ])
    func `an XML template renders`(body: String, expected: String) throws {
        guard !expected.isEmpty else {
            #expect(throws: TemplateError.self) { try Template(parsing: body) }
            return
        }
        #expect(try Template(parsing: body).render(message) == expected)
    }

    @Test func `a JSON template keeps its formatting, order and names`() throws {
        let body = """
              { "b" : [ 1.50, -0, true , null, "x\\u00e9", "$(n)", { "$(n)" : "#(n)" } ],
            \t"a":"{'1'}" }

            """
        let expected = """
              { "b" : [ 1.50, -0, true , null, "x\\u00e9", "40", { "$(n)" : 40 } ],
            \t"a":"1" }

            """
        #expect(try Template(parsing: body).render(message) == expected)
    }

    @Test(arguments: [
        ("40", true), ("0", true), ("0.5", true), ("12e3", true), ("1.5E+10", true), ("1e-2", true), ("-1", false),
        ("01", false), ("1.", false), (".5", false), ("1e", false), ("", false), (" 1", false), ("1 ", false),
        ("0x1", false), ("+1", false), ("١", false), ("NaN", false), ("1,0", false), ("00", false),
    ])
    func `a number loses its quotes only if JSON has such a number`(value: String, isNumber: Bool) throws {
        let rendered = try Template(parsing: ##"{"b":"#(n)"}"##).render(MessageProperties(["n": value]))
        #expect(rendered == (isNumber ? "{\"b\":\(value)}" : "{\"b\":\"\(value)\"}"))
    }

    @Test(arguments: [
        ("a😀b", 1, "a"), ("a😀b", 2, "a"), ("a😀b", 3, "a😀"), ("a😀b", 4, "a😀b"), ("😀", 1, ""), ("é", 1, "é"),
        ("e\u{301}x", 1, "e"), ("日本語", 2, "日本"), ("👨‍👩‍👧", 2, "👨"), ("", 5, ""),
    ])
    func `clipping counts UTF-16 units and never halves a pair`(value: String, limit: Int, expected: String) throws {
        let properties = MessageProperties(["p": value])
        let clipped = try #require(TemplateExpression(parsing: "$(p, \(limit))").rendered(properties))
        #expect(Array(clipped.unicodeScalars) == Array(expected.unicodeScalars))
        let shortened = try #require(TemplateExpression(parsing: ".(p, \(limit + 3))").rendered(properties))
        #expect(shortened.utf16.count <= limit + 3)
    }

    @Test func `values are escaped for where they stand`() throws {
        let nasty = MessageProperties(["p": "\"},{\\\n\r\t\u{1}</t>&'\u{2028}é😀"])
        #expect(
            try Template(parsing: #"{"p":"$(p)"}"#).render(nasty)
                == "{\"p\":\"\\\"},{\\\\\\n\\r\\t\\u0001</t>&'\u{2028}é😀\"}"
        )
        #expect(
            try Template(parsing: "<t a=\"$(p)\" b='$(p)'>$(p)</t>").render(nasty)
                == "<t a=\"&quot;},{\\&#10;&#13;&#9;\u{FFFD}&lt;/t&gt;&amp;'\u{2028}é😀\""
                + " b='&quot;},{\\&#10;&#13;&#9;\u{FFFD}&lt;/t&gt;&amp;&apos;\u{2028}é😀'>"
                + "\"},{\\\n&#13;\t\u{FFFD}&lt;/t&gt;&amp;'\u{2028}é😀</t>"
        )
    }

    @Test func `message first, then the device's variables, then the default`() throws {
        let template = try Template(parsing: #"{"v":"$(City:{nowhere})"}"#)
        let variables = ["CITY": "Rome"]
        func rendered(_ properties: [MessageProperty: String], _ variables: [String: String]) -> String? {
            template.render(MessageProperties(properties), variables: PushVariables(variables))
        }
        #expect(rendered(["city": "Oslo"], variables) == #"{"v":"Oslo"}"#)
        #expect(rendered(["city": ""], variables) == #"{"v":""}"#)
        #expect(rendered([:], variables) == #"{"v":"Rome"}"#)
        let several = ["City": "1", "cITY": "2", "CITy": "3", "a b": "4"]
        #expect(rendered([:], several) == #"{"v":"3"}"#, "the first in order")
        #expect(template.render(MessageProperties([:])) == #"{"v":"nowhere"}"#)
    }

    @Test func `a template names what it looks up`() throws {
        let template = try Template(parsing: ##"{"a":"{$(A) + '$(no)' + .(b_1, 3)}","b":["%(c)","x"],"d":"#(D)"}"##)
        #expect(template.propertyNames == ["a", "b_1", "c", "d"])
        #expect(template.syntax == .json)
    }

    @Test func `the localised template of the tutorial picks its language`() throws {
        let body = #"{"aps":{"alert":"$(News_French)"},"inAppMessage":"$(News_French)"}"#
        let news = MessageProperties(["messageParam": "x", "News_English": "News!", "News_French": "Nouvelles !"])
        #expect(
            try Template(parsing: body).render(news)
                == #"{"aps":{"alert":"Nouvelles !"},"inAppMessage":"Nouvelles !"}"#
        )
    }

    @Test func `the agent's own template renders a message and leaves out what is missing`() throws {
        let rendered = try Template(parsing: AgentTemplate.body).render(
            MessageProperties(["messageParam": "Breaking", "title": "T"])
        )
        #expect(
            rendered
                == #"{"title":"T","message":"Breaking","link":"","category":"","image":"","secureId":"","urgency":"","story":"","status":"","replaces":"","version":""}"#
        )
    }
}

@Suite struct TemplateRefusalTests {
    @Test(arguments: [
        (##"{"v":"#000000"}"##, 7), (#"{"v":"$body"}"#, 6), (#"{"v":"$BODYx"}"#, 6), (#"{"v":"{$body}"}"#, 7),
        (#"{"v":"$"}"#, 7), (#"{"v":"$()"}"#, 8), (#"{"v":"$(a"}"#, 9), (#"{"v":"$(a b)"}"#, 10),
        (#"{"v":"$(a-b)"}"#, 9),
        (#"{"v":"$(é)"}"#, 8), (#"{"v":"$(a) x"}"#, 11), (#"{"v":"$(a)$(b)"}"#, 10), (#"{"v":"$(a) - $(b)"}"#, 11),
        (#"{"v":"$(a) +"}"#, 12), (#"{"v":"{}"}"#, 7), (#"{"v":"{$(a)"}"#, 11), (#"{"v":"{"}"#, 7),
        (#"{"v":"{x}"}"#, 7),
        (#"{"v":"{'a}"}"#, 7), (#"{"v":".(a)"}"#, 6), (#"{"v":"%(a, 3)"}"#, 6), (##"{"v":"#(a, 3)"}"##, 6),
        (#"{"v":"{#(a) + 'x'}"}"#, 7), (#"{"v":"$(a, -1)"}"#, 11), (#"{"v":"$(a, )"}"#, 11),
        (#"{"v":"$(a, 9999999)"}"#, 11),
        (#"{"v":"$(a, 1.5)"}"#, 12), (#"{"v":"$(a:x)"}"#, 10), (#"{"v":"$(a:{x)"}"#, 9), (#"{"v":"%"}"#, 7),
        (#"{"v":"..."}"#, 7),
        // Offsets count characters of the body as written, escapes and wide characters included.
        (#"{"é😀":"\u0024(a) \"x"}"#, 17), ("<é a='x' b='$(&#97;) y'/>", 21), ("<t><![CDATA[$(a) é]]></t>", 17),
        ("<t>$(a) é</t>", 8),
    ])
    func `a bad expression is refused with its place`(body: String, offset: Int) {
        #expect { try Template(parsing: body) } throws: { error in
            (error as? TemplateError)?.offset == offset
        }
    }

    @Test(arguments: [
        "", "  ", "x", "[1]", "\"$(a)\"", "42", "{", "{\"a\":}", "{\"a\":1,}", "{\"a\":1}x", "{a:1}", "{\"a\":'b'}",
        "{\"a\":01}",
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "{\"a\":\"\\x\"}", "{\"a\":\"\n\"}", "{\"a\":tru}", "{\"a\":\"",
        "{\"a\":\"\\u12\"}",
        "<t>", "<t></x>", "<t/><t/>", "<t a=1/>", "<t>&nbsp;</t>", "<t>&undefined;</t>", "<!DOCTYPE t><t/>",
        "<!DOCTYPE t [<!ENTITY e 'x'>]><t>&e;</t>", "<t a='1' a='2'/>", "<t>\u{1}</t>", "<t>]]></t>", "<t",
        "<!-- x -->", "<?xml?>",
        "<t>a & b</t>", "{}<t/>",
    ])
    func `a body that is neither JSON object nor XML is refused`(body: String) {
        #expect(throws: TemplateError.self) { try Template(parsing: body) }
    }

    @Test func `what is wrong with the text around expressions is said with its place`() {
        #expect { try Template(parsing: "{\"é\": 1,\n \"é\": 2}") } throws: {
            "\($0)" == "the body is not valid JSON: the name 'é' appears twice in one object, at character 10"
        }
        #expect { try Template(parsing: "<t>\n<x>\n</t>") } throws: { "\($0)".contains("line 3") }
    }

    @Test func `depth, size and number of expressions are bounded`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)
        }
        _ = try Template(parsing: nested(64))
        #expect(throws: TemplateError.self) { try Template(parsing: nested(65)) }
        #expect(throws: TemplateError.self) { try Template(parsing: nested(13_000)) }
        #expect(throws: TemplateError.self) { try Template(parsing: String(repeating: "<a>", count: 20_000)) }
        func many(_ count: Int) -> String { "{\"a\":[\"$(a)\"\(String(repeating: ",\"$(a)\"", count: count - 1))]}" }
        _ = try Template(parsing: many(256))
        #expect(throws: TemplateError.self) { try Template(parsing: many(257)) }
        #expect(throws: TemplateError.self) {
            try Template(parsing: "{\"a\":\"\(String(repeating: "x", count: 65_536))\"}")
        }
    }

    @Test func `rendering ends as soon as its budget is exhausted`() throws {
        let template = try Template(parsing: "{\"a\":[\"$(a)\"\(String(repeating: ",\"$(a)\"", count: 255))]}")
        let message = MessageProperties(["a": String(repeating: "\u{1}", count: 60_000)])
        #expect(template.render(message) == nil)
        var budget = RenderingBudget(bytes: 1_000)
        #expect(template.render(message, variables: .none, within: &budget) == nil && budget.left == 1_000 - 6 - 16)
        let small = try #require(template.render(MessageProperties(["a": "b"])))
        #expect(throws: Never.self) { try JSONReader.read(small.bytes) }
        budget = RenderingBudget(bytes: Template.maximumRenderedBytes)
        _ = template.render(MessageProperties(["a": "b"]), variables: .none, within: &budget)
        let cost = Template.maximumRenderedBytes - budget.left
        #expect(cost == small.utf8.count + 256 * RenderingBudget.costOfTerm, "terms are charged as well as bytes")
    }

    @Test func `an expression has a bounded number of terms`() throws {
        func sum(_ count: Int) -> String {
            #"{"a":"{\#(Array(repeating: "$(v)", count: count).joined(separator: "+"))}"}"#
        }
        let most = try Template(parsing: sum(TemplateExpressionParser.maximumTerms))
        #expect(most.render(MessageProperties(["v": "x"]))?.utf8.count == 100 + 8)
        let error = #expect(throws: TemplateError.self) {
            try Template(parsing: sum(TemplateExpressionParser.maximumTerms + 1))
        }
        #expect(error?.reason.contains("more than 100 terms") == true)
    }

    @Test func `push variables have a bounded size together`() throws {
        func installation(_ bytes: Int) -> String {
            let value = String(repeating: "x", count: bytes / 2 - 1)
            let variables = #"{"a":"\#(value)","b":"\#(value)"}"#
            return #"{"installationId":"i","platform":"apns","pushChannel":"AA","pushVariables":\#(variables)}"#
        }
        _ = try Installation(json: installation(Installation.maximumVariableBytes).bytes)
        let error = #expect(throws: ProtocolError.self) {
            try Installation(json: installation(Installation.maximumVariableBytes + 2).bytes)
        }
        #expect(error?.detail.contains("16384 bytes") == true)
    }
}

extension TemplateExpression {
    fileprivate func rendered(_ message: MessageProperties) -> String? {
        var budget = RenderingBudget(bytes: Template.maximumRenderedBytes)
        return render(message, variables: .none, within: &budget)
    }
}

@Suite struct TemplateSafetyTests {
    /// The same numbers at every run (Knuth's MMIX constants).
    private struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 33
        }
    }

    private static let alphabet: [Unicode.Scalar] = [
        "\"", "'", "<", ">", "&", "\\", "{", "}", "]", "\0", "\n", "\r", "\t", "\u{1F}", "\u{7F}", "\u{85}", "\u{2028}",
        "\u{301}",
        "\u{FEFF}", "\u{FFFD}", "\u{FFFE}", "é", "😀", "a", "0", ".", "-", "$", "(", ")", ",", "%", "#", ":", ";", "/",
        " ",
    ]

    private static func text(_ generator: inout Generator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            text.append(alphabet.randomElement(using: &generator) ?? "a")
        }
        return String(text)
    }

    @Test func `whatever a value is, what is rendered stays well-formed and the value inside it`() throws {
        let json = try Template(parsing: ##"{"a":"$(p)","b":[".(p, 5)","#(p)","{'<' + %(p)}"]}"##)
        let xml = try Template(parsing: "<t a=\"$(p)\" b='.(p, 5)'>$(p)<i/><![CDATA[$(p)]]></t>")
        var generator = Generator(state: 7)
        for _ in 0..<500 {
            let value = Self.text(&generator)
            let message = MessageProperties(["p": value])
            guard case .object(let members) = try JSONReader.read(#require(json.render(message)).bytes).content else {
                Issue.record("no object from \(value.debugDescription)")
                return
            }
            #expect(members.first?.value.string?.utf8.elementsEqual(value.utf8) == true)
            let rendered = try #require(xml.render(message))
            #expect(throws: Never.self, "\(rendered.debugDescription)") { try XMLWellFormedness.check(rendered) }
        }
    }

    @Test func `no text makes a parser trap, and what parses renders`() {
        var generator = Generator(state: 11)
        for _ in 0..<1_500 {
            let text = Self.text(&generator)
            for body in [text, "{\"a\":\"\(text)\"}", "<t a='\(text)'>\(text)</t>"] {
                if let template = try? Template(parsing: body) { _ = template.render(MessageProperties(["a": text])) }
            }
            _ = try? TemplateExpression(parsing: "$(\(text)")
            _ = try? InlineTemplate(parsing: text)
            _ = try? TagExpression(parsing: text)
            _ = try? SharedAccessToken(parsing: "SharedAccessSignature sr=\(text)&sig=\(text)&se=1&skn=\(text)").covers(
                path: text
            )
            _ = try? ConnectionString(endpoint: "sb://\(text)", keyName: "a", key: text)
            _ = try? InstallationPatch(json: text.bytes)
            _ = ProtocolError(xml: "<Error><Code>400</Code><Detail>\(text)</Detail></Error>")
            _ = ISODateTime.parse("2019-01-01T\(text)")
        }
    }
}

@Suite struct TemplateExpressionTests {
    @Test(arguments: [
        ("wns/toast", "wns/toast", true), ("0", "0", true), ("$(n)", "40", false), ("{$(n) + 's'}", "40s", false),
        ("2030-01-02T03:04:05Z", "2030-01-02T03:04:05Z", true), ("", "", true), ("'x'", "'x'", true),
        ("{''}", "", false),
    ])
    func `a header's value is plain text or an expression`(text: String, expected: String, isLiteral: Bool) throws {
        let expression = try TemplateExpression(parsing: text)
        #expect(expression.rendered(message) == expected)
        #expect(expression.isLiteral == isLiteral)
    }
}

@Suite struct InlineTemplateTests {
    @Test(arguments: [
        ("Breaking $(n) News : $(t)", "Breaking 40 News : This is the title line"),
        ("$(t, 4)|.(t, 7)|%(name)|#(n)", "This|This...|A%20%26%20%22B%22|40"),
        ("no terms, 5% off $5 (really) {x} 'q'", "no terms, 5% off $5 (really) {x} 'q'"),
        ("$$(n) $.(n) $%(n) $#(n) $$ $", "$(n) .(n) %(n) #(n) $$ $"), ("$$$(n)", "$$(n)"), ("a$", "a$"), ("", ""),
        ("$(gone:{?})!", "?!"), ("$(n)$(n)", "4040"), ("é😀$(n)", "é😀40"),
    ])
    func `terms stand inline`(text: String, expected: String) throws {
        #expect(try InlineTemplate(parsing: text).render(message) == expected)
    }

    @Test(arguments: [("é $(a", 5), ("x $(a b)", 6), ("x $()", 4), ("50%(see above)", 8), ("a.(t)", 1), ("$(a,x)", 4)])
    func `a malformed term is an error with its place`(text: String, offset: Int) {
        #expect { try InlineTemplate(parsing: text) } throws: { ($0 as? TemplateError)?.offset == offset }
    }

    @Test func `names and length are known`() throws {
        #expect(try InlineTemplate(parsing: "$(A) .(b, 3) $$(c)").propertyNames == ["a", "b"])
        #expect(throws: TemplateError.self) { try InlineTemplate(parsing: String(repeating: "x", count: 4_097)) }
    }
}
