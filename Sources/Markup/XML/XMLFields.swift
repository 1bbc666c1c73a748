/// Names of a vocabulary that a reader looks up together.
package struct XMLNameTable: Sendable {
    /// The position among the wanted names, or -1, for each number of the vocabulary.
    private let positions: [Int32]
    private let count: Int
    let numbers: [Int]

    /// Creates a table; names that are not in the vocabulary are never found.
    package init(_ vocabulary: XMLVocabulary, names: [String]) {
        var positions = [Int32](repeating: -1, count: vocabulary.numbers.count)
        for (position, name) in names.enumerated() {
            if let number = vocabulary.numbers[name] { positions[Int(number)] = Int32(position) }
        }
        self.positions = positions
        count = names.count
        numbers = positions.indices.filter { positions[$0] >= 0 }
    }

    /// The position of an element's name among the wanted ones.
    package func position(of element: XMLElement) -> Int? {
        let number = Int(element.number)
        guard number < positions.count, positions[number] >= 0 else { return nil }
        return Int(positions[number])
    }

    /// Finds the children with wanted names in one pass.
    package func fields(of element: XMLElement) -> XMLFields {
        var first = [Int32](repeating: -1, count: count)
        let tree = element.tree
        var child = tree.nodes[Int(element.index)].firstChild
        while child >= 0 {
            let node = tree.nodes[Int(child)]
            if node.name >= 0 {
                let number = Int(tree.names[Int(node.name)].number)
                let position = number < positions.count ? Int(positions[number]) : -1
                if position >= 0, first[position] < 0 { first[position] = child }
            }
            child = node.next
        }
        return XMLFields(element: element, positions: positions, first: first)
    }
}

/// The children of one element, by the positions of their names in an ``XMLNameTable``.
package struct XMLFields: Sendable {
    fileprivate let element: XMLElement
    fileprivate let positions: [Int32]
    fileprivate let first: [Int32]

    /// The first child with a name.
    package subscript(_ position: Int) -> XMLElement? {
        let index = first[position]
        return index < 0 ? nil : XMLElement(tree: element.tree, index: index)
    }

    /// All children with some names, in document order.
    package func all(_ wanted: [Int]) -> [(position: Int, element: XMLElement)] {
        guard wanted.contains(where: { first[$0] >= 0 }) else { return [] }
        return element.children.compactMap { child in
            let number = Int(child.number)
            guard number < positions.count else { return nil }
            let position = Int(positions[number])
            return wanted.contains(position) ? (position, child) : nil
        }
    }
}
