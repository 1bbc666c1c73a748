internal import Feeds
internal import FoundationEssentials

/// The dates of entries, and which of them are believed.
extension NewsJudge {
    /// Up to here a date ahead of the clock is a wrong zone and is shown as now; beyond, it is not believed at all.
    static let nearFuture: Duration = .seconds(86_400)
    /// Dates before 1990 stand for "none" (1970, 1900, year 1).
    static let earliestDate = Date(timeIntervalSince1970: 631_152_000)
    /// An entry that was held is due when its date is no further ahead.
    static let dueSlack: Duration = .seconds(600)

    func dateTrouble(_ date: Date?) -> DateTrouble? {
        guard let date else { return nil }
        if date < Self.earliestDate { return .ancient }
        if believed(date) == nil { return .future }
        return date > now ? .ahead : nil
    }

    /// Beyond a day ahead an entry waits; once it waits, until its date has come.
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

    /// Sorts by effective date, entries without one as if published now; equal dates by reverse document order.
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
