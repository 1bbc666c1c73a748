import HubProtocol
import Testing

@testable import WebEdge

@Suite struct FormFieldsTests {
    static let cases: [(query: String?, name: String, value: String?)] = [
        ("a=1&b=2", "b", "2"), ("Direct", "direct", ""), ("DIRECT=", "direct", ""), ("direct=true", "direct", "true"),
        ("%24filter=x", "$filter", "x"), ("$Filter=x", "$filter", "x"), ("a=1+2%2B3", "a", "1 2+3"),
        ("a=1&A=2", "a", "1"),
        ("a=b=c", "a", "b=c"), ("a=%zz", "a", "%zz"), ("xdirect=1", "direct", nil), ("", "a", nil), (nil, "a", nil),
        ("=1&a=2", "a", "2"), ("&&a=2&", "a", "2"), ("a=%E2%82%AC", "a", "€"),
        ("continuationtoken=A-b_9", "ContinuationToken", "A-b_9"),
    ]

    @Test(arguments: cases)
    func `a value is found whatever the case of its name`(query: String?, name: String, value: String?) {
        #expect(FormFields(query, ignoresCase: true)[name] == value)
    }

    @Test func `a query is kept as it was sent`() {
        #expect(FormFields(nil).text == "" && FormFields("").text == "")
        #expect(FormFields("a=1&B=%20+x").text == "a=1&B=%20+x")
        #expect(FormFields("f=a+%2B'b", ignoresCase: true).literal("F") == "a++'b")
    }

    @Test(arguments: ["a=%FF", "%C3%28=x", "a=%ED%A0%80", "a=%zz", "a=%4", "a=%4&1=b", "a=%C3&b=%A9"])
    func `a body that is not UTF-8 in valid percent-encoding is not a form`(text: String) {
        #expect(FormFields(body: text.utf8) == nil)
    }

    @Test func `a form has the fields that were encoded, with their own case`() throws {
        let fields = [(name: "a b", value: "c&d=é+"), (name: "e", value: ""), (name: "e", value: "2")]
        let form = try #require(FormFields(body: FormFields(fields).text.utf8))
        #expect(form.text == "a%20b=c%26d%3D%C3%A9%2B&e=&e=2")
        #expect(form["a b"] == "c&d=é+" && form["E"] == nil && form.all("e") == ["", "2"])
        #expect(form.names == ["a b", "e", "e"])
        #expect(FormFields(body: [0x61, 0xFF]) == nil)
    }
}
