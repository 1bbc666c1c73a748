/// Writes the service's XML: on one line, without a declaration, elements in the order in which they are added.
///
/// Source: protocol §0.7, §0.8.
struct XMLDocumentText {
    private(set) var content = ""

    /// An element of text; nothing for `nil` and for no text.
    mutating func add(_ name: String, _ text: String?) {
        if let text, !text.isEmpty { addAlways(name, text) }
    }

    /// An element of text that is there without any, too: some clients fail where it is missing.
    mutating func addAlways(_ name: String, _ text: String) {
        content += "<\(name)>\(XMLText.escaped(text))</\(name)>"
    }

    /// An empty element.
    mutating func add(_ name: String, attributes: [(name: String, value: String)]) {
        let text = attributes.map { " \($0.name)=\"\(XMLText.escaped($0.value))\"" }.joined()
        content += "<\(name)\(text)/>"
    }

    /// An element of elements, `<name/>` without any.
    mutating func add(_ name: String, _ build: (inout XMLDocumentText) -> Void) {
        var inner = XMLDocumentText()
        build(&inner)
        content += inner.content.isEmpty ? "<\(name)/>" : "<\(name)>\(inner.content)</\(name)>"
    }

    /// A whole document in the service's namespace.
    static func document(_ root: String, _ build: (inout XMLDocumentText) -> Void) -> String {
        var inner = XMLDocumentText()
        build(&inner)
        return "<\(root) xmlns=\"\(AtomNames.serviceBus)\" xmlns:i=\"\(AtomNames.instance)\">\(inner.content)</\(root)>"
    }
}
