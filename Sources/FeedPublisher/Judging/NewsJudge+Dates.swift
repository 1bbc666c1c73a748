internal import Feeds
internal import FoundationEssentials

/// The dates of entries, and the rules for believing them.
extension NewsJudge {
    /// Dates up to this far ahead of the clock result from a wrong zone, and are shown as now; later dates are ignored.
    static let nearFuture: Duration = .seconds(86_400)
    /// Dates before 1990 mean "none" (1970, 1900, year 1).
    static let earliestDate = Date(timeIntervalSince1970: 631_152_000)
    /// A held entry is due if its date is at most this far ahead.
    static let dueSlack: Duration = .seconds(600)

    func dateTrouble(_ date: Date?) -> DateTrouble? {
        guard let date else { return nil }
        if date < Self.earliestDate { return .ancient }
        if believed(date) == nil { return .future }
        return date > now ? .ahead : nil
    }

    /// Returns the reason to hold an entry: its date is more than a day ahead, or it is held already.
    func held(_ position: Int, _ state: SeenState) -> SilenceReason? {
        guard let date = feed.entries[identities[position].index].date else { return nil }
        let isWaiting = state.known.contains(SeenKey(.held, identities[position].key))
        let limit = isWaiting ? Self.dueSlack : Self.nearFuture
        return date.timeIntervalSince(now) > limit.inSeconds ? .held(until: date) : nil
    }

    func isLater(_ position: Int, than date: Date?) -> Bool {
        guard let date, let own = believed(feed.entries[identities[position].index].date) else { return false }
        return own > date
    }

    /// Sorts by effective date; entries without one count as published now, and equal dates are in reverse document
    /// order.
    func inOrder(_ positions: [Int]) -> [Int] {
        let dated = positions.map { position in
            (position, shownDate(feed.entries[identities[position].index].date) ?? now)
        }
        return dated.sorted { left, right in
            if left.1 != right.1 { return left.1 < right.1 }
            return identities[left.0].index > identities[right.0].index
        }.map(\.0)
    }

    func believed(_ date: Date?) -> Date? {
        guard let date, date >= Self.earliestDate,
            date.timeIntervalSince(now) <= Self.nearFuture.inSeconds
        else { return nil }
        return date
    }

    func shownDate(_ date: Date?) -> Date? {
        believed(date).map { min($0, now) }
    }
}
