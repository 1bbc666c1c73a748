/// The elements of one document, in flat arrays: no object for each node, and bounded by ``XMLLimits``.
package final class XMLTree: Sendable {
    struct Node: Sendable {
        /// Index into the tree's names; -1 for text.
        var name: Int32
        var parent: Int32
        var firstChild: Int32 = -1
        var lastChild: Int32 = -1
        var next: Int32 = -1
        /// Of the text, or of the first attribute.
        var start = 0
        /// Bytes of text, or number of attributes.
        var count = 0
        var isClosed = false
    }

    struct Attribute: Sendable {
        let name: Int32
        let value: Range<Int>
    }

    let nodes: [Node]
    let attributes: [Attribute]
    let bytes: [UInt8]
    let names: [String]
    /// For each name the number of its canonical form, which several spellings share.
    let canonical: [Int32]
    private let numbers: [String: Int32]
    let localNames: [String]
    let namespaces: [String?]

    /// Why the document is not well-formed, with the line of its first fault; `nil` for one that is.
    package let fault: XMLSyntaxError?
    /// False when the document ended, or a limit was reached, before its root element did.
    package let isComplete: Bool

    init(
        nodes: [Node],
        attributes: [Attribute],
        bytes: [UInt8],
        names: [String],
        localNames: [String],
        namespaces: [String?],
        fault: XMLSyntaxError?,
        isComplete: Bool
    ) {
        self.nodes = nodes
        self.attributes = attributes
        self.bytes = bytes
        self.names = names
        var numbers: [String: Int32] = [:]
        canonical = names.map { name in
            let number = numbers[name] ?? Int32(numbers.count)
            numbers[name] = number
            return number
        }
        self.numbers = numbers
        self.localNames = localNames
        self.namespaces = namespaces
        self.fault = fault
        self.isComplete = isComplete
    }

    /// `nil` when there is no element at all.
    package var root: XMLElement? { nodes.isEmpty ? nil : XMLElement(tree: self, index: 0) }

    /// Whether any element or attribute of the document has this name.
    package func uses(_ name: String) -> Bool { numbers[name] != nil }

    /// What stands before the colon of the document's canonical names, with repeats.
    package var prefixes: [Substring] {
        names.compactMap { name in name.utf8.firstIndex(of: 0x3A).map { name[..<$0] } }
    }

    /// The number of a canonical name; `nil` when the document does not use it.
    func number(of name: String) -> Int32? { numbers[name] }
}
