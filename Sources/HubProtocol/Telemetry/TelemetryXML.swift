import Markup

/// Reads the documents in hubs' replies.
enum TelemetryXML {
    /// Largest document read, in bytes: a message's body is in it, each character at most an entity.
    static let maximumBytes = 1_048_576

    /// The root element of a well-formed document, by its local name; `nil` if it is another one.
    static func root(of text: String, named name: String) -> XMLElement? {
        guard text.utf8.count <= maximumBytes else { return nil }
        let tree = XMLScanner.tree(of: Array(text.utf8), vocabulary: .plain)
        guard tree.fault == nil, tree.isComplete, let root = tree.root, root.localName == name else { return nil }
        return root
    }
}
