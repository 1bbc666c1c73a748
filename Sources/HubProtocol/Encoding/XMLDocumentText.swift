/// Writes the service's XML: on one line, without a declaration, elements in the order in which they are added.
///
/// Source: protocol §0.7, §0.8.
struct XMLDocumentText {
    private(set) var content = ""

    /// Adds an element with text; nothing for `nil` and for an empty text.
    mutating func add(_ name: String, _ text: String?) {
        if let text, !text.isEmpty { addAlways(name, text) }
    }

    /// Adds an element even if it has no text: some clients fail if it is missing.
    mutating func addAlways(_ name: String, _ text: String) {
        content += "<\(name)>\(XMLText.escaped(text))</\(name)>"
    }

    /// Adds an empty element.
    mutating func add(_ name: String, attributes: [(name: String, value: String)]) {
        let text = attributes.map { " \($0.name)=\"\(XMLText.escaped($0.value))\"" }.joined()
        content += "<\(name)\(text)/>"
    }

    /// Adds an element with child elements, or `<name/>` if there are none.
    mutating func add(_ name: String, _ build: (inout XMLDocumentText) -> Void) {
        var inner = XMLDocumentText()
        build(&inner)
        content += inner.content.isEmpty ? "<\(name)/>" : "<\(name)>\(inner.content)</\(name)>"
    }

    /// Returns a whole document in the service's namespace.
    static func document(_ root: String, _ build: (inout XMLDocumentText) -> Void) -> String {
        var inner = XMLDocumentText()
        build(&inner)
        return "<\(root) xmlns=\"\(AtomNames.serviceBus)\" xmlns:i=\"\(AtomNames.instance)\">\(inner.content)</\(root)>"
    }
}
