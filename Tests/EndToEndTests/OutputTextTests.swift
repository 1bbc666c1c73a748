import HubProtocol
import Testing
import WebPages

@testable import newswire

/// The text of commands: aligned, and harmless for a terminal whatever a hub or a feed sends.
struct OutputTextTests {
    private static func fact(_ name: String, _ value: String) -> ReportFact? { ReportFact(name, value) }

    private static func lines(_ facts: ReportFact?...) -> [String] { Output.facts(facts.compactMap(\.self)).lines }

    @Test func `values begin in one column, and labels in lower case`() {
        #expect(
            Self.lines(Self.fact("Id", "a"), Self.fact("Open streams", "2"), Self.fact("Empty", "")) == [
                "id            a", "open streams  2", "empty         ",
            ]
        )
        #expect(Output.facts([]).lines == [])
    }

    @Test func `a label that is wider than the others does not move them`() {
        let wide = String(repeating: "w", count: 40)
        #expect(
            Self.lines(Self.fact("Id", "a"), Self.fact(wide, "b")) == [
                "id" + String(repeating: " ", count: 32) + "a", "\(wide) b",
            ]
        )
    }

    @Test func `a value of several lines cannot look like another label`() {
        #expect(
            Self.lines(Self.fact("Text", "a\nstate  sent"), Self.fact("State", "failed")) == [
                "text   a", "       state  sent", "state  failed",
            ]
        )
    }

    @Test(arguments: ["\u{1B}[2J", "\u{202E}", "\u{7}", "\u{9B}31m"])
    func `no control character reaches the terminal`(hostile: String) {
        let outputs: [Output] = [
            .facts([Self.fact("L\(hostile)", "v\(hostile)")].compactMap(\.self)), .rows([["a\(hostile)", nil, "b"]]),
            .lines(["x\(hostile)"]),
        ]
        for line in outputs.flatMap(\.lines) {
            #expect(!line.unicodeScalars.contains { hostile.unicodeScalars.first == $0 }, "\(line.debugDescription)")
        }
    }

    @Test func `cells are separated, and absent ones are left out`() {
        #expect(Output.rows([["a", nil, "b"], ["c"]]).lines == ["a  b", "c"])
    }
}
