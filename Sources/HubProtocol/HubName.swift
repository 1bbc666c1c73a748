import Formats

/// The name of a hub: the first path segment of all its addresses.
///
/// Names that differ only in case are the same hub, because clients lower-case the addresses that they sign.
package struct HubName: TextIdentifier {
    /// Longest name, in characters (protocol §3.8).
    package static let maximumLength = 260
    /// The default name of a hub (protocol §11.7).
    package static let standard = "news"
    /// First path segments that the server itself answers (protocol §11.7).
    package static let refused = ["api", "healthz", "readyz", "metrics", "$Resources"]

    package let text: String

    /// - Throws: ``ProtocolError`` 400 with the problem of the name.
    package init(_ text: String) throws(ProtocolError) {
        guard !text.isEmpty else { throw .badRequest("the hub name is empty") }
        guard !Self.refused.contains(where: { $0.lowercased() == text.lowercased() }) else {
            throw .badRequest("hub name '\(text.excerpt)' is reserved for the server itself")
        }
        guard text.utf8.count <= Self.maximumLength else {
            throw .badRequest("the hub name is longer than \(Self.maximumLength) characters")
        }
        guard text.prefix(1).hasOnlyLettersAndDigits(), text.hasOnlyLettersAndDigits(or: "-_.") else {
            throw .badRequest(
                "hub name '\(text.excerpt)' must begin with a letter or digit and contain only letters, digits and -_."
            )
        }
        self.text = text
    }

    /// Reads the first segment of a path, as it was sent.
    ///
    /// - Throws: As ``init(_:)``.
    package init(pathSegment: String) throws(ProtocolError) {
        try self.init(PercentEncoding.decode(pathSegment) ?? pathSegment)
    }
}

extension HubName: Hashable {
    package static func == (left: HubName, right: HubName) -> Bool {
        left.text.lowercased() == right.text.lowercased()
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(text.lowercased()) }
}
