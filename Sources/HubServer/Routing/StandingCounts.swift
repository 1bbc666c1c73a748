import HubProtocol

/// How many installations the expressions of late messages match, kept up to date as installations change.
///
/// Every message is counted, and messages go to the same few expressions: so its count costs a look at a short list
/// instead of one at every installation, and a change of an installation one evaluation for each of the list.
struct StandingCounts: Sendable {
    /// Expressions that are kept; the one that was not asked for longest goes first.
    static let maximum = 32

    private struct Standing {
        /// `nil` is a broadcast.
        let expression: TagExpression?
        var platforms: [String: Int]
    }

    /// The one asked for last stands last.
    private var counts: [Standing] = []

    /// The counts of an expression that is kept, platforms without any left out.
    subscript(expression: TagExpression?) -> RecipientCounts? {
        mutating get {
            guard let index = counts.lastIndex(where: { $0.expression == expression }) else { return nil }
            if index < counts.count - 1 { counts.append(counts.remove(at: index)) }
            let platforms = counts[counts.count - 1].platforms
            return RecipientCounts(total: platforms.values.reduce(0, +), platforms: platforms)
        }
    }

    /// Keeps an expression, which must not be kept yet, with its counts of now.
    mutating func keep(_ platforms: [String: Int], of expression: TagExpression?) {
        if counts.count == Self.maximum { counts.removeFirst() }
        counts.append(Standing(expression: expression, platforms: platforms))
    }

    mutating func add(_ entry: Registry.Entry) { change(entry, by: 1) }
    mutating func remove(_ entry: Registry.Entry) { change(entry, by: -1) }

    private mutating func change(_ entry: Registry.Entry, by difference: Int) {
        guard !counts.isEmpty else { return }
        let (recipient, platform) = (entry.recipient, entry.platformName)
        for index in counts.indices
        where recipient.targets.contains(where: { recipient.matches(counts[index].expression, $0) }) {
            let count = counts[index].platforms[platform, default: 0] + difference
            counts[index].platforms[platform] = count == 0 ? nil : count
        }
    }
}
