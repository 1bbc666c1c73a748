/// The categories that a publisher announces, or that a hub knows of (protocol §11.5).
package struct CategoryList: Sendable, Equatable, Codable {
    /// The six of the tutorial, in its spelling and order (protocol §10).
    package static let standard = ["World", "Politics", "Business", "Technology", "Science", "Sports"]

    package let categories: [String]

    package init(categories: [String]) { self.categories = categories }
}

/// Asks how many recipients a tag expression has, without sending.
package struct RecipientQuery: Sendable, Equatable, Codable {
    /// A tag expression; empty for everybody, as on a send.
    package let tags: String
    /// The format of the message; absent for templates.
    package let format: MessageFormat?

    package init(tags: String, format: MessageFormat? = nil) {
        self.tags = tags
        self.format = format
    }
}

/// The answer to a ``RecipientQuery``.
package struct RecipientCounts: Sendable, Equatable, Codable {
    package let total: Int
    /// Counts by platform name; platforms without a recipient are absent.
    package let platforms: [String: Int]

    package init(total: Int, platforms: [String: Int]) {
        self.total = total
        self.platforms = platforms
    }
}
