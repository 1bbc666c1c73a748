/// The use of a budget whose members keep what they have, by group.
///
/// Nothing gives way here: a group that uses more than its part cannot grow any more, and the less is free, the smaller
/// is the part of each. Whoever uses many networks to fill the budget needs the more of them the less is left, and
/// clients of other networks find their part.
package struct ShareUsage: Sendable, Equatable {
    /// The use by the members of one group.
    package struct Use: Sendable, Equatable {
        package var count = 0
        package var bytes = 0

        package init(count: Int = 0, bytes: Int = 0) {
            self.count = count
            self.bytes = bytes
        }
    }

    /// The part of a budget that a group may use, while at least another part of it is free.
    private struct Step {
        /// Free parts of 32.
        let free: Int
        /// The budget is divided by it.
        let divisor: Int
    }

    private static let steps = [
        Step(free: 16, divisor: 2), Step(free: 8, divisor: 64), Step(free: 4, divisor: 512),
        Step(free: 1, divisor: 4_096), Step(free: 0, divisor: 4_096),
    ]

    private var uses: [ShareGroup: Use] = [:]

    package init() {}

    package func use(of group: ShareGroup) -> Use { uses[group] ?? Use() }

    /// Counts a member with its size in each of its groups.
    package mutating func add(_ bytes: Int, to groups: [ShareGroup]) {
        for group in groups {
            uses[group, default: Use()].count += 1
            uses[group, default: Use()].bytes += bytes
        }
    }

    package mutating func remove(_ bytes: Int, from groups: [ShareGroup]) {
        for group in groups {
            guard var use = uses[group] else { continue }
            use.count -= 1
            use.bytes -= bytes
            uses[group] = use.count > 0 ? use : nil
        }
    }

    /// The part of a budget that a network may use.
    ///
    /// - Parameters:
    ///   - budget: The whole budget.
    ///   - used: Its used part.
    ///   - bits: Size of the network: 48 bits of IPv6 and 24 of IPv4 have a whole part, 56 bits a half, and 64 a quarter
    ///     of it, so that one of the small networks does not use up the part of the large one.
    /// - Returns: The part, at least 1.
    package static func part(of budget: Int, used: Int, bits: Int) -> Int {
        let free = max(budget - used, 0)
        let step = steps.first { free >= budget / 32 * $0.free } ?? steps[steps.count - 1]
        let share =
            switch bits {
            case 56: 2
            case 64: 4
            default: 1
            }
        return max(budget / step.divisor / share, 1)
    }

    /// True if so little of a budget is free that it is kept for groups which already use some.
    package static func isKept(of budget: Int, used: Int) -> Bool { budget - used < budget / 32 }

    /// The part of a budget that clients with one key may use.
    package static func partOfKey(of budget: Int) -> Int { budget - budget / 64 }
}
