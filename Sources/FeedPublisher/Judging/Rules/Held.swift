internal import FeedLists
internal import Feeds
internal import FoundationEssentials

/// Holds an entry until its date where the list asks for it, however near the date is.
///
/// Alerts do not wait, and neither do dates that no publisher means, as those of another calendar.
struct Held: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard known.rules.holdsFuture, let date = candidate.entry.date, date > known.now, candidate.alert == nil,
            known.dates.problem(date) != .calendar
        else { return nil }
        return .silent(.held(until: date))
    }
}
