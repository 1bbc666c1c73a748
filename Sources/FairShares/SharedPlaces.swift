/// A limited number of places, of which no group takes so many that others get none.
///
/// Some places are kept for known members: those of networks, devices or accounts that were here before. When all
/// places that a newcomer may take are taken, a member of a group with a larger share gives way.
package struct SharedPlaces<Member: Hashable & Sendable>: Sendable {
    /// The result of an attempt to get a place.
    package enum Entry: Sendable, Equatable {
        case free
        /// The newcomer has the place of this member, which is no longer one.
        case displaced(Member)
        case refused
    }

    /// Members by each of the ways in which they are grouped.
    private struct Pool: Sendable {
        let places: Int
        var shares: [FairShares<Member>]

        var count: Int { shares[0].count }

        mutating func insert(_ member: Member, _ paths: [[ShareGroup]], isExpendable: Bool) {
            for (way, path) in paths.enumerated() { shares[way].insert(member, in: path, isExpendable: isExpendable) }
        }

        mutating func remove(_ member: Member) -> Member? {
            var removed: Member?
            for way in shares.indices { removed = shares[way].remove(member) }
            return removed
        }

        func weight(of member: Member) -> Int { shares.reduce(0) { $0 + $1.share(of: member) } }

        /// Replaces the member that gives way with a newcomer, if it is to.
        mutating func replace(
            with newcomer: Member,
            _ paths: [[ShareGroup]],
            isExpendable: Bool,
            _ displaces: (Member, FairShares<Member>.Relation) -> Bool
        ) -> Member? {
            insert(newcomer, paths, isExpendable: isExpendable)
            if let (member, relation) = yielding(to: newcomer), member != newcomer, displaces(member, relation) {
                _ = remove(member)
                return member
            }
            _ = remove(newcomer)
            return nil
        }

        /// The member that gives way: that of the largest group, however the members are grouped.
        private func yielding(to newcomer: Member) -> (member: Member, relation: FairShares<Member>.Relation)? {
            let all = shares.compactMap { shares in
                shares.yielding(to: newcomer).map { (yield: $0, share: shares.share(of: $0.member)) }
            }
            let larger = all.filter { $0.yield.relation == .larger }.max { $0.share < $1.share }
            return (larger ?? all.first)?.yield
        }
    }

    private var common: Pool
    private var kept: Pool

    /// - Parameters:
    ///   - places: Number of places for everybody, at least 1.
    ///   - kept: Number of further places for known members.
    ///   - ways: Number of ways in which each member is grouped, at least 1.
    package init(places: Int, kept: Int, ways: Int = 1) {
        let shares = Array(repeating: FairShares<Member>(), count: ways)
        common = Pool(places: places, shares: shares)
        self.kept = Pool(places: kept, shares: shares)
    }

    /// Number of members.
    package var count: Int { common.count + kept.count }

    package func contains(_ member: Member) -> Bool {
        common.shares[0].contains(member) || kept.shares[0].contains(member)
    }

    /// True if the member has one of the places that are kept for known ones.
    package func isKept(_ member: Member) -> Bool { kept.shares[0].contains(member) }

    /// Number of members of a member's groups, the largest in each way of grouping, added up.
    package func weight(of member: Member) -> Int { common.weight(of: member) + kept.weight(of: member) }

    /// Gives a place to a newcomer, if there is one.
    ///
    /// - Parameters:
    ///   - newcomer: Not a member yet.
    ///   - paths: Its groups in each way of grouping, each from the largest to the smallest.
    ///   - isKnown: True if it may have a place that is kept for known members.
    ///   - isExpendable: True if it gives way before others of its smallest group.
    ///   - displaces: True if this member, which has this relation to the newcomer, is to give way.
    /// - Returns: The result.
    package mutating func enter(
        _ newcomer: Member,
        in paths: [[ShareGroup]],
        isKnown: Bool = false,
        isExpendable: Bool = false,
        displaces: (Member, FairShares<Member>.Relation) -> Bool
    ) -> Entry {
        if isKnown, kept.count < kept.places {
            kept.insert(newcomer, paths, isExpendable: isExpendable)
            return .free
        }
        if common.count < common.places {
            common.insert(newcomer, paths, isExpendable: isExpendable)
            return .free
        }
        if isKnown, kept.places > 0,
            let member = kept.replace(with: newcomer, paths, isExpendable: isExpendable, displaces)
        {
            return .displaced(member)
        }
        let member = common.replace(with: newcomer, paths, isExpendable: isExpendable, displaces)
        return member.map { .displaced($0) } ?? .refused
    }

    /// - Returns: The member as it entered; `nil` if it is not one.
    @discardableResult package mutating func remove(_ member: Member) -> Member? {
        common.remove(member) ?? kept.remove(member)
    }

    /// Makes a member give way no sooner than others of its smallest group.
    package mutating func keep(_ member: Member) {
        for way in common.shares.indices {
            common.shares[way].keep(member)
            kept.shares[way].keep(member)
        }
    }
}
