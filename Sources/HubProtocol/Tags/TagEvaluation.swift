/// A tag expression with the truth of each of its parts for one recipient, to explain the result tag by tag.
package struct TagEvaluation: Sendable, Equatable, Codable {
    package enum Operator: String, Sendable, Codable {
        case not, and, or
    }

    /// This part as text; for a tag, the tag.
    package let expression: String
    package let holds: Bool
    /// `nil` for a tag.
    package let `operator`: Operator?
    package let operands: [TagEvaluation]?

    package init(_ node: TagExpression.Node, contains: (Tag) -> Bool) {
        func evaluated(_ nodes: [TagExpression.Node]) -> [TagEvaluation] {
            nodes.map { TagEvaluation($0, contains: contains) }
        }
        holds = node.matches(contains)
        switch node {
        case .tag(let tag):
            (`operator`, operands) = (nil, nil)
            expression = tag.text
        case .not(let operand):
            let operands = evaluated([operand])
            (`operator`, self.operands) = (.not, operands)
            expression = operands.map { "!" + $0.text(within: .not) }.joined()
        case .and(let nodes):
            let operands = evaluated(nodes)
            (`operator`, self.operands) = (.and, operands)
            expression = operands.map { $0.text(within: .and) }.joined(separator: " && ")
        case .or(let nodes):
            let operands = evaluated(nodes)
            (`operator`, self.operands) = (.or, operands)
            expression = operands.map(\.expression).joined(separator: " || ")
        }
    }

    /// With parentheses where the operator around it binds more tightly.
    private func text(within outer: Operator) -> String {
        switch (outer, `operator`) {
        case (_, nil), (_, .not), (.and, .and), (.or, _): expression
        case (.not, _), (.and, .or): "(\(expression))"
        }
    }
}

extension TagEvaluation {
    /// The missing condition of an expression that is false, as the rest of a sentence about it: `needs 'World' and
    /// excludes 'Sports'`.
    package var demand: String { demand(true) }

    private func demand(_ wanted: Bool) -> String {
        let operands = operands ?? []
        switch (`operator`, wanted) {
        case (nil, true): return "needs '\(expression)'"
        case (nil, false), (.and, false): return "excludes '\(expression)'"
        case (.not, _): return operands.map { $0.demand(!wanted) }.joined()
        case (.and, true): return Self.joined(operands.filter { !$0.holds }, true, " and ")
        case (.or, false): return Self.joined(operands.filter(\.holds), false, " and ")
        case (.or, true):
            guard operands.allSatisfy({ $0.operator == nil }) else { return Self.joined(operands, true, " or ") }
            return "needs one of \(operands.map { "'\($0.expression)'" }.joined(separator: ", "))"
        }
    }

    private static func joined(_ operands: [TagEvaluation], _ wanted: Bool, _ word: String) -> String {
        operands.map { $0.demand(wanted) }.joined(separator: word)
    }
}
