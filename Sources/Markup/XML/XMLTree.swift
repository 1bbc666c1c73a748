/// The elements of one document in flat arrays, without an object for each node, and limited by ``XMLLimits``.
package final class XMLTree: Sendable {
    struct Node: Sendable {
        /// The index into the tree's names; -1 for text.
        var name: Int32
        var parent: Int32
        var firstChild: Int32 = -1
        var lastChild: Int32 = -1
        var next: Int32 = -1
        /// The start of the text, or of the first attribute.
        var start = 0
        /// The number of bytes of text, or of attributes.
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
    let names: [XMLNames.Name]
    private let vocabulary: XMLVocabulary
    private let isUsed: [Bool]
    /// The numbers of names that are not in the vocabulary.
    private let others: [String: Int32]

    /// The reason why the document is not well-formed, with the line; `nil` for a well-formed document.
    package let fault: XMLSyntaxError?
    /// False when the document ended, or a limit was reached, before the end of its root element.
    package let isComplete: Bool

    init(_ builder: XMLTreeBuilder, fault: XMLSyntaxError?, isComplete: Bool) {
        nodes = builder.nodes
        attributes = builder.attributes
        bytes = builder.bytes
        names = builder.names.list
        others = builder.names.others
        isUsed = builder.names.isUsed
        vocabulary = builder.vocabulary
        self.fault = fault
        self.isComplete = isComplete
    }

    /// The root element; `nil` when the document contains no element.
    package var root: XMLElement? { nodes.isEmpty ? nil : XMLElement(tree: self, index: 0) }

    /// True if an element or attribute of the document has this name.
    package func uses(_ name: String) -> Bool { number(of: name) != nil }

    /// True if an element or attribute of the document has one of these names.
    package func uses(_ table: XMLNameTable) -> Bool { table.numbers.contains { isUsed[$0] } }

    /// The number of a canonical name; `nil` when the document does not use it.
    func number(of name: String) -> Int32? {
        guard let known = vocabulary.numbers[name] else { return others[name] }
        return isUsed[Int(known)] ? known : nil
    }
}
