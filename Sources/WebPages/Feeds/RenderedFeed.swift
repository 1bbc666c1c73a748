/// A document that is written once for all readers: only the origin of its own addresses is open.
///
/// Readers reach a hub under several names, and an address in a reply leads back to where its request came from.
package struct RenderedFeed: Sendable, Equatable {
    /// Stands for the origin while a document is written: a format character that XML can hold, and no text of a message
    /// has (``NewsText``).
    static let origin = "\u{206F}"

    private let parts: [String]

    init(_ text: String) {
        parts = text.split(separator: Self.origin, omittingEmptySubsequences: false).map(String.init)
    }

    package func text(origin: String) -> String { parts.joined(separator: origin) }

    /// Of the document without its origins.
    package var bytes: Int { parts.reduce(0) { $0 + $1.utf8.count } }
}
