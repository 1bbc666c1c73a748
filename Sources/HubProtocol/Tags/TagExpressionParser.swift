/// Recursive descent over the grammar of protocol §6, with `!` before `&&` before `||`.
struct TagExpressionParser {
    private let scalars: [Unicode.Scalar]
    private let limits: TagExpression.Limits
    private var position = 0
    private var depth = 0
    private var tagOffsets: [Int] = []
    private var isDisjunction = true

    init(_ text: String, limits: TagExpression.Limits) {
        // One more than allowed, so that a huge text is not copied only to be refused.
        scalars = Array(text.unicodeScalars.prefix(limits.length + 1))
        self.limits = limits
    }

    mutating func parse() throws(TagExpressionError) -> TagExpression.Node {
        guard scalars.count <= limits.length else {
            throw TagExpressionError(
                offset: limits.length,
                reason: "it is longer than \(limits.length) characters"
            )
        }
        let node = try disjunction()
        skipSpace()
        guard position == scalars.count else {
            throw failure(current == ")" ? "this ')' closes nothing" : "'&&', '||' or the end is expected")
        }
        let allowed = isDisjunction ? limits.alternatives : limits.tags
        guard tagOffsets.count <= allowed else {
            let when = isDisjunction ? "when '||' is the only operator" : "when '&&' or '!' is used"
            throw TagExpressionError(
                offset: tagOffsets[allowed],
                reason: "it has \(tagOffsets.count) tags; \(allowed) are allowed \(when)"
            )
        }
        return node
    }

    private var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private func failure(_ reason: String) -> TagExpressionError {
        let found = current.map { ", not \($0.named)" } ?? ", but the expression ends"
        return TagExpressionError(offset: position, reason: reason.hasSuffix("expected") ? reason + found : reason)
    }

    private mutating func skipSpace() {
        while let scalar = current, scalar.properties.isWhitespace { position += 1 }
    }

    private mutating func skip(operator symbol: Unicode.Scalar) throws(TagExpressionError) -> Bool {
        skipSpace()
        guard current == symbol else { return false }
        guard position + 1 < scalars.count, scalars[position + 1] == symbol else {
            throw TagExpressionError(offset: position, reason: "'\(symbol)' must be written '\(symbol)\(symbol)'")
        }
        position += 2
        return true
    }

    private mutating func disjunction() throws(TagExpressionError) -> TagExpression.Node {
        var nodes = [try conjunction()]
        while try skip(operator: "|") { nodes.append(try conjunction()) }
        return nodes.count == 1 ? nodes[0] : .or(nodes)
    }

    private mutating func conjunction() throws(TagExpressionError) -> TagExpression.Node {
        var nodes = [try unary()]
        while try skip(operator: "&") {
            isDisjunction = false
            nodes.append(try unary())
        }
        return nodes.count == 1 ? nodes[0] : .and(nodes)
    }

    private mutating func unary() throws(TagExpressionError) -> TagExpression.Node {
        skipSpace()
        switch current {
        case "!":
            isDisjunction = false
            return .not(try nested { parser throws(TagExpressionError) in try parser.unary() })
        case "(":
            let opened = position
            let node = try nested { parser throws(TagExpressionError) in try parser.disjunction() }
            skipSpace()
            guard current == ")" else {
                if current == nil { throw TagExpressionError(offset: opened, reason: "this '(' is not closed") }
                throw failure("'&&', '||' or ')' is expected")
            }
            position += 1
            return node
        default:
            return .tag(try tag())
        }
    }

    private mutating func nested(
        _ read: (inout TagExpressionParser) throws(TagExpressionError) -> TagExpression.Node
    ) throws(TagExpressionError) -> TagExpression.Node {
        guard depth < limits.nesting else {
            throw failure("more than \(limits.nesting) parentheses or '!' are nested")
        }
        depth += 1
        defer { depth -= 1 }
        position += 1
        return try read(&self)
    }

    private mutating func tag() throws(TagExpressionError) -> Tag {
        let start = position
        tagOffsets.append(start)
        if current == "$" { return try serverAssignedTag() }
        while let scalar = current, scalar.isTagCharacter { position += 1 }
        guard position > start else { throw failure("a tag, '!' or '(' is expected") }
        guard position - start <= Tag.maximumLength else {
            throw TagExpressionError(
                offset: start,
                reason: "this tag is longer than \(Tag.maximumLength) characters"
            )
        }
        return Tag(valid: String(String.UnicodeScalarView(scalars[start..<position])))
    }

    private mutating func serverAssignedTag() throws(TagExpressionError) -> Tag {
        let start = position
        let close = scalars[start...].firstIndex(of: "}") ?? scalars.count - 1
        let text = String(String.UnicodeScalarView(scalars[start...close]))
        guard let assigned = ServerAssignedTag(text) else {
            throw failure("a tag that begins with '$' is $InstallationId:{id} or $UserId:{id}")
        }
        position = close + 1
        return Tag(serverAssigned: assigned.text)
    }
}
