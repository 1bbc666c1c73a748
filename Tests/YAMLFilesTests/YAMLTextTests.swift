import Testing
import YAMLFiles

/// YAML that would exhaust the stack.
@Suite struct YAMLTextTests {
    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static let forms: [(name: String, text: @Sendable (Int) -> String)] = [
        ("lists", { repeated("[", $0) + repeated("]", $0) }),
        ("mappings", { repeated("{a: ", $0) + "1" + repeated("}", $0) }),
        ("lists in block style", { repeated("- ", $0) + "1" }),
        ("keys in block style", { repeated("? ", $0) + "1" }),
        ("indented mappings", { (0..<$0).map { repeated(" ", $0) + "a:" }.joined(separator: "\n") }),
        ("lists in mappings", { repeated("{a: [", $0 / 2) + repeated("]}", $0 / 2) }),
    ]

    @Test(arguments: forms.indices, [64, 65, 999, 1_000, 1_001, 3_000])
    func `nesting is bounded`(form: Int, levels: Int) {
        // Indentation alone makes these texts long.
        let read = { try YAMLText.root(of: Self.forms[form].text(levels)) }
        if levels <= YAMLText.maximumDepth {
            #expect(throws: Never.self, "\(Self.forms[form].name)") { try read() }
        } else if levels > YAMLText.maximumDepth + 1 {
            #expect(throws: YAMLProblem.self, "\(Self.forms[form].name)") { try read() }
        }
    }

    @Test(arguments: ["[", "{a: [", "- ", "? ", "- [", "[{"], [65, 1_000, 100_000])
    func `a text that ends within many levels is an error`(opening: String, count: Int) {
        #expect(throws: YAMLProblem.self) { try YAMLText.root(of: Self.repeated(opening, count)) }
    }

    /// Each line nests the one before it.
    private static func chain(_ count: Int) -> String {
        let nested = repeated("[", 60), end = repeated("]", 60)
        let lines = (1..<count).map { "a\($0): &a\($0) \(nested)*a\($0 - 1)\(end)\n" }
        return "a0: &a0 [x]\n" + lines.joined()
    }

    @Test func `aliases do not multiply levels without limit`() throws {
        #expect(try YAMLText.root(of: Self.chain(YAMLText.maximumAnchors)) != nil)
        for count in [YAMLText.maximumAnchors + 1, 100_000] {
            let error = #expect(throws: YAMLProblem.self) { try YAMLText.root(of: Self.chain(count)) }
            #expect(error?.text == "has more than 32 anchors (&name)")
        }
    }

    @Test func `an ampersand in a text or an address is not an anchor`() throws {
        let line = "- {title: News & Views, url: \"https://a.example/?a=1&b=2\", more: AT&T}\n"
        #expect(try YAMLText.root(of: Self.repeated(line, 1_000)) != nil)
    }
}
