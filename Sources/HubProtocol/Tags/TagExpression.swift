/// A boolean formula over tags, which decides who receives a message.
///
/// Source: protocol §6.
package struct TagExpression: Sendable, Hashable, CustomStringConvertible {
    /// Limits on the size of an expression; the protocol's own numbers are ``standard``.
    package struct Limits: Sendable, Equatable {
        package static let standard = Limits()
        /// Limits for stored expressions, which were accepted under the limits of their time.
        package static let stored = Limits(tags: 100_000, alternatives: 100_000)

        /// Maximum number of tags if `&&` or `!` occurs; each occurrence counts.
        package var tags: Int
        /// Maximum number of tags if `||` is the only operator.
        package var alternatives: Int
        /// Maximum number of open parentheses and `!` around one tag; each is a level of recursion.
        package var nesting = 32
        /// Maximum length of the whole text in Unicode scalars: more than enough for that many of the longest tags.
        package var length: Int { max(4_096, 200 * max(tags, alternatives)) }

        package init(tags: Int = 6, alternatives: Int = 20) {
            self.tags = tags
            self.alternatives = alternatives
        }
    }

    package indirect enum Node: Sendable, Hashable {
        case tag(Tag)
        case not(Node)
        /// At least two.
        case and([Node])
        /// At least two.
        case or([Node])
    }

    package let root: Node
    /// As it was written.
    package let text: String

    package init(parsing text: String, limits: Limits = .standard) throws(TagExpressionError) {
        var parser = TagExpressionParser(text, limits: limits)
        root = try parser.parse()
        self.text = text
    }

    /// Every tag that occurs, negated or not.
    package var tags: Set<Tag> {
        var tags: Set<Tag> = []
        root.collect(into: &tags)
        return tags
    }

    package func matches(_ contains: (Tag) -> Bool) -> Bool { root.matches(contains) }

    package var description: String { text }
}

extension TagExpression.Node {
    func matches(_ contains: (Tag) -> Bool) -> Bool {
        switch self {
        case .tag(let tag): contains(tag)
        case .not(let node): !node.matches(contains)
        case .and(let nodes): nodes.allSatisfy { $0.matches(contains) }
        case .or(let nodes): nodes.contains { $0.matches(contains) }
        }
    }

    func collect(into tags: inout Set<Tag>) {
        switch self {
        case .tag(let tag): tags.insert(tag)
        case .not(let node): node.collect(into: &tags)
        case .and(let nodes), .or(let nodes): for node in nodes { node.collect(into: &tags) }
        }
    }
}

/// The reason why a tag expression was refused.
package struct TagExpressionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// In Unicode scalars from the start of the expression.
    package let offset: Int
    /// The text that was found, or that was expected.
    package let reason: String

    package var description: String { "the tag expression is not valid at character \(offset): \(reason)" }

    /// The same as a reply.
    package var protocolError: ProtocolError { .badRequest(description) }
}
