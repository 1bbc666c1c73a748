internal import FeedLists
internal import Feeds
internal import FoundationEssentials

/// Recognizes an entry by its link, if it is also of the same date, or has the same content or nearly the same title.
///
/// A link on its own identifies no entry: pages of alerts, status pages and forecasts stay for years while their stories
/// change. The rules are stricter for links that several entries had, and for feeds whose documents do not show that
/// each entry has its own page.
struct SamePage: EntryRule {
    /// Time within which two entries of one page with the same title are one.
    static let window: Duration = .seconds(12 * 3_600)

    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard let page = known.page(of: candidate) else {
            return candidate.isUnknown ? nil : .silent(.seenBefore(.entry))
        }
        guard Self.isSame(candidate, page, known) else { return nil }
        return .silent(.seenBefore(candidate.isUnknown ? .link : .entry))
    }

    /// True if an entry is the one that the feed last had under the same link.
    static func isSame(_ candidate: Candidate, _ page: SeenMark, _ known: Knowledge) -> Bool {
        let isShared = page.isShared || candidate.keys.link == nil && !candidate.read.isKnownByLink
        // Earlier versions stored the link only.
        guard page.content != nil || isShared else {
            return !known.isLater(candidate, than: known.record.newestEntry)
        }
        let hasContent = candidate.hasContent(page.content)
        let hasTitle = page.title != nil && page.title == PageTitle.key(of: candidate.entry)
        let hasDate = CredibleDates.isSame(page.date, candidate.entry.date)
        if isShared { return hasDate && (hasTitle || hasContent) }
        if hasDate, known.document.hasDistinctLinks || !PageTitle.isDay(page.date) || hasTitle || hasContent {
            return true
        }
        guard let date = candidate.date, let other = page.date else { return hasContent }
        let isNear = abs(date.timeIntervalSince(other)) <= window.inSeconds
        if hasContent, known.document.hasDistinctLinks || isNear { return true }
        guard isNear else { return false }
        return hasTitle || known.document.hasDistinctLinks && isRevised(candidate, known)
    }

    /// True if the title extends or shortens that of an entry that has left the document.
    private static func isRevised(_ candidate: Candidate, _ known: Knowledge) -> Bool {
        guard let title = candidate.entry.title else { return false }
        return known.document.departed.contains { TitleRevision.isExtended($0.title, title) }
    }
}

/// The titles of entries under one link.
enum PageTitle {
    /// Returns a hash of the title's words; `nil` for an entry without a title.
    static func key(of entry: Entry) -> EntryKey? {
        guard let title = entry.title else { return nil }
        return EntryKey(hashing: (["page title"] + FoldedWords.of(title)).flatMap { Array($0.utf8) + [0] })
    }

    /// True if a date may be that of a day only.
    static func isDay(_ date: Date?) -> Bool {
        date.map { $0.timeIntervalSince1970.truncatingRemainder(dividingBy: 86_400) == 0 } ?? false
    }
}
