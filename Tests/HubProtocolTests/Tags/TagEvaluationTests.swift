import FoundationEssentials
import Testing

@testable import HubProtocol

struct TagEvaluationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let expression: String
        let demand: String
        var testDescription: String { expression }
    }

    /// For a device that has 'a' and 'b'.
    static let rows = [
        Row(expression: "x", demand: "needs 'x'"),
        Row(expression: "!a", demand: "excludes 'a'"),
        Row(expression: "a && x", demand: "needs 'x'"),
        Row(expression: "x && y && !b", demand: "needs 'x' and needs 'y' and excludes 'b'"),
        Row(expression: "x || y", demand: "needs one of 'x', 'y'"),
        Row(expression: "x || (y && !a)", demand: "needs 'x' or needs 'y' and excludes 'a'"),
        Row(expression: "!(a || x)", demand: "excludes 'a'"),
        Row(expression: "!(a && b)", demand: "excludes 'a && b'"),
        Row(expression: "!!x", demand: "needs 'x'"),
    ]

    private func evaluation(_ text: String, _ tags: String...) throws -> TagEvaluation {
        let tags = Set(try tags.map { try Tag($0) })
        return TagEvaluation(try TagExpression(parsing: text).root) { tags.contains($0) }
    }

    @Test(arguments: rows) func `what an expression asks for is said in words`(row: Row) throws {
        let evaluation = try evaluation(row.expression, "A", "b")
        #expect(!evaluation.holds)
        #expect(evaluation.demand == row.demand)
    }

    @Test(arguments: ["a && (b || c) && !d", "a || b && c", "!(a && b)", "!a", "(a || b) && !(c || d)", "!!a"])
    func `each part is written so that it means the same`(text: String) throws {
        let parsed = try TagExpression(parsing: text)
        let written = TagEvaluation(parsed.root) { _ in true }.expression
        #expect(try TagExpression(parsing: written).root == parsed.root)
        #expect(written.count <= text.count)
    }

    @Test func `every part has its truth, and travels as JSON`() throws {
        let evaluation = try evaluation("World && !Sports", "World", "Sports")
        let json = JSONEncoder()
        json.outputFormatting = .sortedKeys
        let bytes = try json.encode(evaluation)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"expression":"World && !Sports","holds":false,"operands":["#
                + #"{"expression":"World","holds":true},{"expression":"!Sports","holds":false,"operands":["#
                + #"{"expression":"Sports","holds":true}],"operator":"not"}],"operator":"and"}"#
        )
        #expect(try JSONDecoder().decode(TagEvaluation.self, from: bytes) == evaluation)
    }
}
