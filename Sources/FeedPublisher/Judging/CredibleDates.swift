internal import Feeds
internal import FoundationEssentials

/// The rules for believing the dates of entries.
struct CredibleDates: Sendable {
    /// Dates up to this far ahead of the clock result from a wrong zone, and are shown as now; later dates are ignored.
    static let nearFuture: Duration = .seconds(86_400)
    /// Dates before 1990 mean "none" (1970, 1900, year 1).
    static let earliest = Date(timeIntervalSince1970: 631_152_000)

    /// Dates further ahead than this are mistakes, such as years of the Buddhist calendar.
    static let furthest: Duration = .seconds(5 * 366 * 86_400)

    let now: Date

    /// Returns a date that can be the entry's; `nil` otherwise.
    func believed(_ date: Date?) -> Date? {
        guard let date, date >= Self.earliest, date.timeIntervalSince(now) <= Self.nearFuture.inSeconds else {
            return nil
        }
        return date
    }

    /// Returns the date to show, never after the present.
    func shown(_ date: Date?) -> Date? { believed(date).map { min($0, now) } }

    func problem(_ date: Date?) -> DateProblem? {
        guard let date else { return nil }
        if date < Self.earliest { return .ancient }
        if date.timeIntervalSince(now) > Self.furthest.inSeconds { return .calendar }
        if believed(date) == nil { return .future }
        return date > now ? .ahead : nil
    }

    /// True if both are dates of the same second.
    static func isSame(_ one: Date?, _ other: Date?) -> Bool {
        guard let one, let other else { return false }
        return abs(one.timeIntervalSince(other)) < 1
    }

    /// Sorts by date; entries without one count as published now, and equal dates are in reverse document order.
    func inOrder(_ candidates: [Candidate]) -> [Candidate] {
        let dated: [(candidate: Candidate, date: Date)] = candidates.map { ($0, shown($0.entry.date) ?? now) }
        return dated.sorted { ($0.date, $1.candidate.index) < ($1.date, $0.candidate.index) }.map { $0.candidate }
    }
}
