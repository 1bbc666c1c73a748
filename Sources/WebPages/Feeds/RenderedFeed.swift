/// A document that is rendered once for all readers, with a placeholder for the origin of its own addresses.
///
/// Readers reach a hub under several names, and the addresses in a reply must have the origin of the request.
package struct RenderedFeed: Sendable, Equatable {
    /// The placeholder of the origin: a format character that is valid in XML, and that ``NewsText`` removes from
    /// messages.
    static let origin = "\u{206F}"

    private let parts: [String]

    init(_ text: String) {
        parts = text.split(separator: Self.origin, omittingEmptySubsequences: false).map(String.init)
    }

    package func text(origin: String) -> String { parts.joined(separator: origin) }

    /// The size of the document in bytes, without its origins.
    package var bytes: Int { parts.reduce(0) { $0 + $1.utf8.count } }
}
