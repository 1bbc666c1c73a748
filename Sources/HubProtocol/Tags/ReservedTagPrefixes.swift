/// Prefixes of tags that only a bearer of Manage may set or remove (protocol §11.3).
package struct ReservedTagPrefixes: Sendable, Equatable {
    package static let standard = ReservedTagPrefixes(folded: ["username:", "from:"])

    /// In folded form.
    package let prefixes: [String]

    /// - Throws: ``ProtocolError`` 400 if a prefix cannot begin a tag; an empty one would reserve all tags.
    package init(_ prefixes: [String]) throws(ProtocolError) {
        var folded: [String] = []
        for prefix in prefixes { folded.append(try Tag(prefix).folded) }
        self.prefixes = folded
    }

    package func contains(_ tag: Tag) -> Bool {
        prefixes.contains { tag.hasPrefix(folded: $0) }
    }

    private init(folded: [String]) { prefixes = folded }
}
