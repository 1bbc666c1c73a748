internal import Feeds
internal import FoundationEssentials

/// Recognizes an entry whose address and title were corrected together: of the same second as an entry that has left the
/// document, with a title that differs by a typing error or was extended.
struct Retitled: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard let date = candidate.date, !PageTitle.isDay(date), let title = candidate.entry.title,
            candidate.alert == nil
        else { return nil }
        let isKnown = known.document.departed.contains { former in
            CredibleDates.isSame(former.date, date)
                && (TitleRevision.isCorrected(former.title, title) || TitleRevision.isExtended(former.title, title))
        }
        return isKnown ? .silent(.retitled) : nil
    }
}
