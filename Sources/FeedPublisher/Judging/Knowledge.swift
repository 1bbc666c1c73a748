internal import FeedLists
internal import Feeds
internal import FoundationEssentials

/// The known facts of a feed and its category when a document is judged.
struct Knowledge: Sendable {
    /// The feed's record from before the document.
    let record: FeedRecord
    /// The store's knowledge of the document's entries and stories.
    let seen: SeenState
    /// The list's rules for the feed.
    let rules: FeedRules
    let now: Date
    /// The facts of the document, and the decisions on it as a whole.
    var document = DocumentFacts()

    var dates: CredibleDates { CredibleDates(now: now) }

    func contains(_ kind: SeenKind, _ key: EntryKey?) -> Bool {
        key.map { seen.known.contains(SeenKey(kind, $0)) } ?? false
    }

    /// Returns the story that this feed announced with the entry.
    func ownStory(_ candidate: Candidate) -> KnownStory? {
        ([candidate.keys.own] + candidate.keys.stories).lazy.compactMap { seen.stories[$0] }.first
    }

    /// Returns the entry that the feed last had under the entry's link.
    func page(of candidate: Candidate) -> SeenMark? {
        (candidate.keys.link ?? candidate.keys.page).flatMap { seen.details[SeenKey(.link, $0)] }
    }

    /// Returns the story that this feed announced under nearly the entry's title.
    func titledHere(_ candidate: Candidate) -> KnownStory? {
        let keys = [candidate.keys.storyTitle, candidate.keys.formerStoryTitle].compactMap(\.self)
        return keys.lazy.compactMap { seen.stories[$0] }.first { $0.feed == record.id }
    }

    /// Returns the story that another feed announced under nearly the entry's title.
    func titledElsewhere(_ candidate: Candidate) -> KnownStory? {
        let keys = [candidate.keys.acrossFeeds, candidate.keys.formerStoryTitle].compactMap(\.self)
        return keys.lazy.compactMap { seen.stories[$0] }.first { $0.feed != nil && $0.feed != record.id }
    }

    /// True if the entry's page is on the feed's own server.
    func isOnOwnSite(_ candidate: Candidate) -> Bool {
        guard let link = candidate.entry.link, let page = try? FeedAddress(parsing: link, allowsFile: false) else {
            return false
        }
        return [record.url, record.movedURL].compactMap(\.self).contains { url in
            (try? FeedAddress(parsing: url, allowsFile: true))?.sharesSite(with: page) ?? false
        }
    }

    /// True if the entry's date is credible and after another one.
    func isLater(_ candidate: Candidate, than date: Date?) -> Bool {
        guard let date, let own = candidate.date else { return false }
        return own > date
    }

    /// Returns the reason why the list rejects an entry; `nil` if it accepts the entry.
    func skipReason(for candidate: Candidate) -> SkipReason? {
        if let alert = candidate.alert {
            if !alert.isForThePublic { return .notForThePublic }
            if let expiry = alert.expires, expiry <= now { return .expired }
        }
        guard rules.filters.contains(where: { !$0.isEmpty }) else { return nil }
        let text = KeywordFilter.FilterText(candidate.entry)
        return rules.filters.lazy.compactMap { $0.skipReason(for: text) }.first
    }
}

/// The facts of a document that concern more than one entry.
struct DocumentFacts: Sendable {
    /// The decision on the document as a whole; `nil` for an ordinary one.
    var decision: DocumentDecision?
    var head = DocumentHead()
    /// Number of distinct entries.
    var count = 0
    /// The newest entries of earlier documents that are missing from this one.
    var departed: [JudgedEntry] = []
    /// True if the document shows that each entry has its own page.
    var hasDistinctLinks = false
    var timeline = Timeline()
    /// Number of entries that were not recognized.
    var unknown = 0
    /// Places of entries whose identifier appears in the document a second time, in another spelling.
    var spelledTwice: Set<Int> = []
    /// The decisions on entries that were recognized, by place.
    var recognized: [Int: SkipReason] = [:]
    /// Titles with dates of entries that were recognized.
    var recognizedTitles: Set<EntryKey> = []
    var effects = Effects()
    /// Places of the entries that are announced of a first reading.
    var chosen: Set<Int> = []

    /// True if identifiers change at each fetch, or all at once.
    var isMostlyUnknown: Bool { unknown * 2 >= count }
}
