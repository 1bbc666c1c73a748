/// The members of a budget, counted in nested groups; finds the member that gives way when the budget is full.
///
/// The largest group gives way, in it the largest group that it contains, and in the smallest group an expendable
/// member before others, the oldest first. Of groups with equally many members, the one gives way that has had so many
/// for the longest time. A client that takes up places thus displaces itself, whether it has one network or many small
/// ones within a large one, and a client with few places keeps them.
///
/// Each operation takes constant time, and a member takes about 100 bytes for itself and for each of its groups.
package struct FairShares<Member: Hashable & Sendable>: Sendable {
    /// The relation of the member that gives way to a newcomer.
    package enum Relation: Sendable, Equatable {
        /// Its group has more members than the newcomer's, even after one of them has given way.
        case larger
        /// It is in another group with as many members.
        case equal
        /// It is in the newcomer's own group.
        case own
    }

    private enum Content: Sendable {
        case group(ShareGroup)
        case member(Member)
    }

    /// A group or a member.
    ///
    /// Its siblings of equal rank are a list in the order in which they got that rank.
    private struct Node: Sendable {
        let content: Content
        let parent: Int32
        /// Number of members.
        var count: Int32 = 0
        /// The place among its siblings: the higher, the sooner it gives way.
        var rank: Int32 = 0
        var previous = none
        var next = none
        /// The highest rank of its children.
        var top: Int32 = 0
        var lists: [Int32: List] = [:]
    }

    private struct List: Sendable {
        var first: Int32
        var last: Int32
    }

    private struct GroupKey: Hashable, Sendable {
        let parent: Int32
        let group: ShareGroup
    }

    private static var none: Int32 { -1 }
    private static var root: Int32 { 0 }

    private var nodes: [Node]
    private var unused: [Int32] = []
    private var groups: [GroupKey: Int32] = [:]
    private var members: [Member: Int32] = [:]

    package init() { nodes = [Node(content: .group(.everybody), parent: Self.none)] }

    /// Number of members.
    package var count: Int { members.count }

    package func contains(_ member: Member) -> Bool { members[member] != nil }

    /// Number of members of the group at the end of a path.
    package func count(of path: [ShareGroup]) -> Int {
        var node = Self.root
        for group in path {
            guard let next = groups[GroupKey(parent: node, group: group)] else { return 0 }
            node = next
        }
        return Int(nodes[Int(node)].count)
    }

    /// Number of members of a member's largest group; 0 if it is not a member.
    package func share(of member: Member) -> Int {
        members[member].flatMap { ancestors(of: $0).first }.map { Int(nodes[Int($0)].count) } ?? 0
    }

    // MARK: - Changes

    /// Adds a member; does nothing if it is one.
    ///
    /// - Parameters:
    ///   - member: The member.
    ///   - path: Its groups from the largest to the smallest, at least one.
    ///   - isExpendable: True if it gives way before the others of its smallest group.
    package mutating func insert(_ member: Member, in path: [ShareGroup], isExpendable: Bool = false) {
        guard members[member] == nil else { return }
        var parent = Self.root
        for group in path {
            let key = GroupKey(parent: parent, group: group)
            if let known = groups[key] {
                parent = known
            } else {
                parent = make(Node(content: .group(group), parent: parent))
                groups[key] = parent
            }
        }
        let node = make(Node(content: .member(member), parent: parent, rank: isExpendable ? 1 : 0))
        members[member] = node
        link(node)
        changeCount(from: parent, by: 1)
    }

    /// - Returns: The member as it was added; `nil` if it is not one.
    @discardableResult package mutating func remove(_ member: Member) -> Member? {
        guard let index = members.index(forKey: member) else { return nil }
        let (known, node) = members.remove(at: index)
        let parent = nodes[Int(node)].parent
        // Memory that a crowd has used is freed after it has left.
        guard !members.isEmpty else {
            self = FairShares()
            return known
        }
        unlink(node)
        lowerTop(of: parent)
        free(node)
        changeCount(from: parent, by: -1)
        return known
    }

    /// Makes a member give way no sooner than others of its smallest group.
    package mutating func keep(_ member: Member) {
        guard let node = members[member], nodes[Int(node)].rank > 0 else { return }
        unlink(node)
        nodes[Int(node)].rank = 0
        link(node)
        lowerTop(of: nodes[Int(node)].parent)
    }

    // MARK: - Giving way

    /// The member that gives way, which may be the newcomer itself, and its relation to the newcomer, which is already
    /// a member.
    package func yielding(to newcomer: Member) -> (member: Member, relation: Relation)? {
        guard let own = members[newcomer] else { return nil }
        var mine = ancestors(of: own)[...]
        var relation: Relation?
        var node = Self.root
        while let list = nodes[Int(node)].lists[nodes[Int(node)].top] {
            node = list.first
            if case .member(let member) = nodes[Int(node)].content { return (member, relation ?? .own) }
            guard relation == nil, let group = mine.popFirst() else { continue }
            if node != group {
                relation = nodes[Int(node)].count > nodes[Int(group)].count ? .larger : .equal
            }
        }
        return nil
    }

    /// The member that gives way if there is no newcomer.
    package var yielding: Member? {
        var node = Self.root
        while let list = nodes[Int(node)].lists[nodes[Int(node)].top] {
            node = list.first
            if case .member(let member) = nodes[Int(node)].content { return member }
        }
        return nil
    }

    /// The groups of a node, from the largest to the smallest.
    private func ancestors(of node: Int32) -> [Int32] {
        var path: [Int32] = []
        var parent = nodes[Int(node)].parent
        while parent != Self.root {
            path.append(parent)
            parent = nodes[Int(parent)].parent
        }
        return path.reversed()
    }

    // MARK: - Nodes

    private mutating func make(_ node: Node) -> Int32 {
        if let index = unused.popLast() {
            nodes[Int(index)] = node
            return index
        }
        nodes.append(node)
        return Int32(nodes.count - 1)
    }

    private mutating func free(_ node: Int32) {
        // An unused node must not keep a member alive.
        nodes[Int(node)] = Node(content: .group(.everybody), parent: Self.none)
        unused.append(node)
    }

    /// Changes the number of members of a group and of those that contain it.
    private mutating func changeCount(from group: Int32, by change: Int32) {
        var node = group
        while node != Self.none {
            let (count, parent) = (nodes[Int(node)].count + change, nodes[Int(node)].parent)
            nodes[Int(node)].count = count
            if node != Self.root {
                if count > change { unlink(node) }
                nodes[Int(node)].rank = count
                if count > 0 {
                    link(node)
                } else if case .group(let group) = nodes[Int(node)].content {
                    groups[GroupKey(parent: parent, group: group)] = nil
                    free(node)
                }
                lowerTop(of: parent)
            }
            node = parent
        }
    }

    /// Adds a node to the end of its parent's list for its rank.
    private mutating func link(_ node: Int32) {
        let (rank, parent) = (nodes[Int(node)].rank, Int(nodes[Int(node)].parent))
        nodes[Int(node)].next = Self.none
        if let list = nodes[parent].lists[rank] {
            nodes[Int(node)].previous = list.last
            nodes[Int(list.last)].next = node
            nodes[parent].lists[rank]?.last = node
        } else {
            nodes[Int(node)].previous = Self.none
            nodes[parent].lists[rank] = List(first: node, last: node)
        }
        nodes[parent].top = max(nodes[parent].top, rank)
    }

    private mutating func unlink(_ node: Int32) {
        let (rank, parent) = (nodes[Int(node)].rank, Int(nodes[Int(node)].parent))
        let (previous, next) = (nodes[Int(node)].previous, nodes[Int(node)].next)
        if previous != Self.none { nodes[Int(previous)].next = next }
        if next != Self.none { nodes[Int(next)].previous = previous }
        switch (previous, next) {
        case (Self.none, Self.none): nodes[parent].lists[rank] = nil
        case (Self.none, _): nodes[parent].lists[rank]?.first = next
        case (_, Self.none): nodes[parent].lists[rank]?.last = previous
        default: break
        }
    }

    /// Corrects the highest rank after a child has left its list, and is in its new one.
    private mutating func lowerTop(of parent: Int32) {
        // Ranks change by one, so this is a step at most.
        while nodes[Int(parent)].top > 0, nodes[Int(parent)].lists[nodes[Int(parent)].top] == nil {
            nodes[Int(parent)].top -= 1
        }
    }
}
