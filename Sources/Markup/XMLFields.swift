/// Names that a reader looks for in a document, looked up once for it and not once for each of its elements.
package struct XMLNameTable: Sendable {
    /// For each canonical name its position among those wanted, or -1.
    private let positions: [Int32]
    private let count: Int

    package init(_ tree: XMLTree, names: [String]) {
        var positions = [Int32](repeating: -1, count: tree.names.count)
        for (position, name) in names.enumerated() {
            if let number = tree.number(of: name) { positions[Int(number)] = Int32(position) }
        }
        self.positions = positions
        count = names.count
    }

    /// Finds the children of wanted names in one pass.
    package func fields(of element: XMLElement) -> XMLFields {
        var first = [Int32](repeating: -1, count: count)
        let tree = element.tree
        var child = tree.nodes[Int(element.index)].firstChild
        while child >= 0 {
            let node = tree.nodes[Int(child)]
            if node.name >= 0 {
                let position = Int(positions[Int(tree.canonical[Int(node.name)])])
                if position >= 0, first[position] < 0 { first[position] = child }
            }
            child = node.next
        }
        return XMLFields(element: element, positions: positions, first: first)
    }
}

/// The children of one element by the positions of their names in an ``XMLNameTable``.
package struct XMLFields: Sendable {
    private let element: XMLElement
    private let positions: [Int32]
    private let first: [Int32]

    init(element: XMLElement, positions: [Int32], first: [Int32]) {
        self.element = element
        self.positions = positions
        self.first = first
    }

    /// The first of a name.
    package subscript(_ position: Int) -> XMLElement? {
        let index = first[position]
        return index < 0 ? nil : XMLElement(tree: element.tree, index: index)
    }

    /// All of some names, in document order.
    package func all(_ wanted: [Int]) -> [(position: Int, element: XMLElement)] {
        guard wanted.contains(where: { first[$0] >= 0 }) else { return [] }
        return element.children.compactMap { child in
            let position = Int(positions[Int(child.number)])
            return wanted.contains(position) ? (position, child) : nil
        }
    }
}
