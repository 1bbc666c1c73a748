import HubProtocol

/// Which targets carry a tag.
///
/// A target is a small number that the caller gives out. Expressions are evaluated by set operations, so a query
/// costs what its tags hold, not one look at every target, unless it asks for everything or for a complement.
struct TagIndex: Sendable {
    private(set) var all: Set<Int> = []
    private var byTag: [Tag: Set<Int>] = [:]

    mutating func insert(_ target: Int, tags: Set<Tag>) {
        all.insert(target)
        for tag in tags { byTag[tag, default: []].insert(target) }
    }

    /// Forgets a target; the tags must be the very ones that it was inserted with.
    mutating func remove(_ target: Int, tags: Set<Tag>) {
        all.remove(target)
        for tag in tags {
            byTag[tag]?.remove(target)
            if byTag[tag]?.isEmpty == true { byTag[tag] = nil }
        }
    }

    func targets(matching expression: TagExpression?) -> Set<Int> {
        guard let expression else { return all }
        return targets(matching: expression.root)
    }

    private func targets(matching node: TagExpression.Node) -> Set<Int> {
        switch node {
        case .tag(let tag): byTag[tag] ?? []
        case .not(let operand): all.subtracting(targets(matching: operand))
        case .and(let operands):
            operands.dropFirst().reduce(operands.first.map { targets(matching: $0) } ?? []) {
                $0.intersection(targets(matching: $1))
            }
        case .or(let operands): operands.reduce(into: []) { $0.formUnion(targets(matching: $1)) }
        }
    }
}
