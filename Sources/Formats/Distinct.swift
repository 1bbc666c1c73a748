extension Sequence {
    /// Returns the elements in their order, without those whose key an earlier one has.
    package func distinct<Key: Hashable>(by key: (Element) throws -> Key) rethrows -> [Element] {
        var seen: Set<Key> = []
        return try filter { seen.insert(try key($0)).inserted }
    }
}

extension Sequence where Element: Hashable {
    /// Returns the elements in their order, each once.
    package func distinct() -> [Element] { distinct { $0 } }
}
