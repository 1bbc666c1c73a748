/// One element of an ``XMLTree``.
package struct XMLElement: Sendable {
    let tree: XMLTree
    let index: Int32

    private var node: XMLTree.Node { tree.nodes[Int(index)] }

    /// The number of the canonical name.
    var number: Int32 { tree.names[Int(node.name)].number }

    /// The element's canonical name in the reader's vocabulary.
    package var name: String { tree.names[Int(node.name)].canonical }

    /// The name without prefix, as written.
    package var localName: String { tree.names[Int(node.name)].local }

    package var namespace: String? { tree.names[Int(node.name)].namespace }

    /// False when the document ended inside this element.
    package var isClosed: Bool { node.isClosed }

    package var parent: XMLElement? { node.parent < 0 ? nil : XMLElement(tree: tree, index: node.parent) }

    /// True if both are the same element of one tree.
    package func isSame(as other: XMLElement) -> Bool { index == other.index && tree === other.tree }

    package var children: Children { Children(tree: tree, following: node.firstChild) }

    package func first(_ name: String) -> XMLElement? {
        guard let number = tree.number(of: name) else { return nil }
        return children.first { $0.number == number }
    }

    package func all(_ names: String...) -> [XMLElement] {
        let numbers = names.compactMap { tree.number(of: $0) }
        return numbers.isEmpty ? [] : children.filter { numbers.contains($0.number) }
    }

    package func attribute(_ name: String) -> String? {
        guard let number = tree.number(of: name) else { return nil }
        for attribute in tree.attributes[node.start..<node.start + node.count]
        where tree.names[Int(attribute.name)].number == number {
            return String(decoding: tree.bytes[attribute.value], as: UTF8.self)
        }
        return nil
    }

    /// All attributes in the order of the document, by their canonical names.
    package var attributes: [(name: String, value: String)] {
        tree.attributes[node.start..<node.start + node.count].map { attribute in
            (tree.names[Int(attribute.name)].canonical, String(decoding: tree.bytes[attribute.value], as: UTF8.self))
        }
    }

    /// True if any element or attribute of the document has this name.
    package func documentUses(_ name: String) -> Bool { tree.uses(name) }

    package var hasChildElements: Bool { children.first { _ in true } != nil }

    /// The text of this element and its descendants, in document order.
    package var text: String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// The ``text`` in UTF-8, usually a slice of the document that is not copied.
    package var bytes: ArraySlice<UInt8> {
        if let only = onlyText { return tree.bytes[only] }
        var result: [UInt8] = []
        appendText(of: index, to: &result)
        return result[...]
    }

    /// The beginning of the element's content as HTML: names without prefix, text escaped.
    package func innerMarkup(limit: Int) -> [UInt8] {
        var result: [UInt8] = []
        appendMarkup(below: index, to: &result, limit: limit)
        return result
    }

    /// The element's only text; most elements have one text, or nothing.
    private var onlyText: Range<Int>? {
        let first = node.firstChild
        guard first >= 0 else { return 0..<0 }
        let child = tree.nodes[Int(first)]
        return child.name < 0 && child.next < 0 ? child.start..<child.start + child.count : nil
    }

    /// Appends the text of a node; ``XMLLimits/depth`` limits the recursion.
    private func appendText(of index: Int32, to result: inout [UInt8]) {
        var child = tree.nodes[Int(index)].firstChild
        while child >= 0 {
            let node = tree.nodes[Int(child)]
            if node.name < 0 {
                result += tree.bytes[node.start..<node.start + node.count]
            } else {
                appendText(of: child, to: &result)
            }
            child = node.next
        }
    }

    private func appendMarkup(below index: Int32, to result: inout [UInt8], limit: Int) {
        var child = tree.nodes[Int(index)].firstChild
        while child >= 0, result.count < limit {
            let node = tree.nodes[Int(child)]
            if node.name < 0 {
                Self.appendEscaped(
                    tree.bytes[node.start..<node.start + min(node.count, limit - result.count)],
                    to: &result
                )
            } else {
                appendTags(of: child, node, to: &result, limit: limit)
            }
            child = node.next
        }
    }

    private func appendTags(of index: Int32, _ node: XMLTree.Node, to result: inout [UInt8], limit: Int) {
        let name = tree.names[Int(node.name)].local
        result += "<\(name)".utf8
        for attribute in tree.attributes[node.start..<node.start + node.count] {
            result += " \(tree.names[Int(attribute.name)].local)=\"".utf8
            Self.appendEscaped(tree.bytes[attribute.value], to: &result)
            result.append(0x22)
        }
        result.append(0x3E)
        guard !HTMLVocabulary.isVoid(name) else { return }
        appendMarkup(below: index, to: &result, limit: limit)
        result += "</\(name)>".utf8
    }

    private static func appendEscaped(_ bytes: ArraySlice<UInt8>, to result: inout [UInt8]) {
        for byte in bytes {
            switch byte {
            case 0x22: result += "&quot;".utf8
            case 0x26: result += "&amp;".utf8
            case 0x3C: result += "&lt;".utf8
            default: result.append(byte)
            }
        }
    }

    /// The child elements in document order, without the texts between them.
    package struct Children: Sequence, IteratorProtocol {
        let tree: XMLTree
        var following: Int32

        package mutating func next() -> XMLElement? {
            while following >= 0 {
                let index = following
                following = tree.nodes[Int(index)].next
                if tree.nodes[Int(index)].name >= 0 { return XMLElement(tree: tree, index: index) }
            }
            return nil
        }
    }
}
