/// Writes XML: without a declaration, elements in the order in which they are added.
///
/// The service's own documents are on one line (protocol §0.7, §0.8).
package struct XMLDocumentText {
    package typealias Attributes = [(String, String)]

    package private(set) var content = ""
    /// Follows each element, and each tag around other elements.
    private let lineEnd: String

    package init(lineEnd: String = "") { self.lineEnd = lineEnd }

    /// Adds an element with text; nothing for `nil` and for an empty text.
    package mutating func add(_ name: String, _ text: String?) {
        if let text, !text.isEmpty { addAlways(name, text) }
    }

    /// Adds an element even if its text is empty: some clients fail if it is missing; nothing for `nil`.
    package mutating func addAlways(_ name: String, attributes: Attributes = [], _ text: String?) {
        guard let text else { return }
        content += "\(Self.opening(name, attributes))>\(XMLText.escaped(text))</\(name)>\(lineEnd)"
    }

    /// Adds an empty element.
    package mutating func add(_ name: String, attributes: Attributes) {
        content += "\(Self.opening(name, attributes))/>\(lineEnd)"
    }

    /// Adds an element with child elements, or `<name/>` if there are none.
    package mutating func add(
        _ name: String,
        attributes: Attributes = [],
        _ build: (inout XMLDocumentText) -> Void
    ) {
        var inner = XMLDocumentText(lineEnd: lineEnd)
        build(&inner)
        guard !inner.content.isEmpty else { return add(name, attributes: attributes) }
        content += "\(Self.opening(name, attributes))>\(lineEnd)\(inner.content)</\(name)>\(lineEnd)"
    }

    /// Returns a whole document in the service's namespace.
    static func document(_ root: String, _ build: (inout XMLDocumentText) -> Void) -> String {
        var text = XMLDocumentText()
        text.add(root, attributes: [("xmlns", AtomNames.serviceBus), ("xmlns:i", AtomNames.instance)], build)
        return text.content
    }

    /// The first tag of an element, without its end.
    private static func opening(_ name: String, _ attributes: Attributes) -> String {
        "<\(name)" + attributes.map { name, value in " \(name)=\"\(XMLText.escapedAttribute(value))\"" }.joined()
    }
}
