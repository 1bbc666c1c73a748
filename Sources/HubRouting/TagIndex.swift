import HubProtocol

/// An index of registrations by tag.
///
/// Expressions are evaluated by set operations, so the cost of a query depends on the number of registrations with its
/// tags, not on the number of all registrations.
struct TagIndex: Sendable {
    /// The registrations of a tag: most tags of a large hub name one user or installation, with one or two
    /// registrations.
    private enum Posting: Sendable {
        case one(Ordinal)
        case many(OrdinalSet)

        var set: OrdinalSet {
            switch self {
            case .one(let ordinal): OrdinalSet(CollectionOfOne(ordinal))
            case .many(let set): set
            }
        }

        mutating func insert(_ ordinal: Ordinal) {
            switch self {
            case .one(let first):
                guard first != ordinal else { return }
                self = .many(OrdinalSet([first, ordinal]))
            case .many(var set):
                self = .one(ordinal)
                set.insert(ordinal)
                self = .many(set)
            }
        }

        /// - Returns: True if any are left.
        mutating func remove(_ ordinal: Ordinal) -> Bool {
            switch self {
            case .one(let first): return first != ordinal
            case .many(var set):
                self = .one(ordinal)
                set.remove(ordinal)
                self = .many(set)
                return !set.isEmpty
            }
        }
    }

    private var postings: [TagKey: Posting] = [:]

    /// Adds a registration; `tags` are joined by commas.
    mutating func insert(_ ordinal: Ordinal, tags: String) {
        Tag.forEachKey(in: tags) { tag in
            postings[tag, default: .one(ordinal)].insert(ordinal)
        }
    }

    /// Removes a registration; the tags must be exactly those that it was added with.
    mutating func remove(_ ordinal: Ordinal, tags: String) {
        Tag.forEachKey(in: tags) { tag in
            if postings[tag]?.remove(ordinal) == false { postings[tag] = nil }
        }
    }

    /// The elements of `all` that an expression matches; `nil` matches all.
    func ordinals(matching expression: TagExpression?, of all: OrdinalSet) -> OrdinalSet {
        guard let expression else { return all }
        return ordinals(matching: expression.root, of: all)
    }

    private func ordinals(matching node: TagExpression.Node, of all: OrdinalSet) -> OrdinalSet {
        switch node {
        case .tag(let tag): postings[tag.key].map { $0.set.intersection(all) } ?? OrdinalSet()
        case .not(let operand): all.subtracting(ordinals(matching: operand, of: all))
        case .and(let operands): operands.reduce(all) { ordinals(matching: $1, of: $0) }
        case .or(let operands):
            operands.reduce(OrdinalSet()) { $0.union(ordinals(matching: $1, of: all)) }
        }
    }

    /// The registrations that carry a tag.
    subscript(tag: Tag) -> OrdinalSet { postings[tag.key]?.set ?? OrdinalSet() }
}
