package import Feeds
package import FoundationEssentials

/// What is new in a document, and what of it is announced.
package struct Judgement: Sendable {
    /// Oldest first.
    package var announcements: [Announcement] = []
    /// Entries that were new and are recorded without a word: a first reading, a reset, a story known from elsewhere.
    package var silent = 0
    /// The feed's entries were recorded for the first time.
    package var isFirstReading = false
    /// The whole document got new identifiers.
    package var isReset = false
}

package struct Announcement: Sendable {
    package let entry: Entry
    /// What is shown: never later than the fetch; `nil` when the entry has no date to be believed.
    package let date: Date?
    package let link: EntryKey?
}

/// How many entries of a feed that is read for the first time are announced.
package enum ExistingEntries: Sendable, Equatable {
    case none
    case newest(Int)
    case all
}

/// Decides what of a document is news.
///
/// An entry is new when its key, its loose key and its link are unknown within the feed. The dates of entries never
/// decide that alone: they are absent, wrong or bumped too often (feeds.md §3).
package struct NewsJudge: Sendable {
    /// Up to here a date ahead of the clock is a wrong zone and is shown as now; beyond, it is not believed at all.
    static let nearFuture: Duration = .seconds(86_400)
    /// Dates before 1990 stand for "none" (1970, 1900, year 1).
    static let earliestDate = Date(timeIntervalSince1970: 631_152_000)
    /// An entry this much older than one read before should have been read before too: a slow publisher's slack.
    static let resetAge: Duration = .seconds(86_400)
    /// Smaller changes are not worth a guard; the cap holds them.
    static let smallestReset = 4

    let feed: Feed
    let identities: [EntryIdentity]
    /// Hashes of title and date, parallel to ``identities``; `nil` where there is no title.
    let titles: [EntryKey?]
    let record: FeedRecord
    let existing: ExistingEntries
    let now: Date

    /// Takes the document, and the feed's record as it was before.
    package init(feed: Feed, record: FeedRecord, existing: ExistingEntries, now: Date) {
        self.feed = feed
        self.record = record
        self.existing = existing
        self.now = now
        (identityRule, identities) = feed.identity(startingAt: record.identityRule)
        titles = identities.map { TitleKey.of(feed.entries[$0.index]) }
    }

    /// To be stored, so that a feed which shrinks keeps its keys.
    package let identityRule: IdentityRule

    /// All keys of the document, to be looked up and marked.
    package var keys: [SeenKey] {
        var keys: [SeenKey] = []
        for (position, identity) in identities.enumerated() {
            keys.append(SeenKey(.entry, identity.key))
            if let loose = loose(of: identity) { keys.append(SeenKey(.loose, loose)) }
            if let link = link(of: identity) { keys.append(SeenKey(.link, link)) }
            if let title = titles[position] { keys.append(SeenKey(.title, title)) }
        }
        return keys
    }

    /// Keys by which a second feed's story is known.
    package var links: [EntryKey] { identities.compactMap { link(of: $0) } }

    /// To be stored: the latest believable date of this document and those before.
    package var newestEntry: Date? {
        let dates = feed.entries.compactMap { believed($0.date) } + [record.newestEntry].compactMap(\.self)
        return dates.filter { $0 <= now }.max()
    }

    /// Decides, given what is known of ``keys`` and ``links``.
    package func judge(_ state: SeenState) -> Judgement {
        var judgement = Judgement()
        var unknown = unknownPositions(state)
        if record.baseline == nil {
            judgement.isFirstReading = true
            unknown = first(existing, of: unknown)
        } else if unknown.count * 2 >= identities.count {
            // Identifiers that change at each fetch, or all at once: the same titles of the same dates are no news.
            unknown = unknown.filter { position in
                guard let title = titles[position] else { return true }
                return !state.known.contains(SeenKey(.title, title))
            }
            if isReset(unknown, state) {
                judgement.isReset = true
                unknown = unknown.filter { isLater($0, than: record.newestEntry) }
            }
        }
        let fresh = unknown.filter { position in
            link(of: identities[position]).map { !state.announcedLinks.contains($0) } ?? true
        }
        judgement.announcements = inOrder(fresh).map { position in
            let entry = feed.entries[identities[position].index]
            return Announcement(entry: entry, date: shownDate(entry.date), link: link(of: identities[position]))
        }
        judgement.silent = unknownPositions(state).count - judgement.announcements.count
        return judgement
    }

    private func unknownPositions(_ state: SeenState) -> [Int] {
        var spellings: Set<EntryKey> = []
        return identities.indices.filter { position in
            let identity = identities[position]
            if state.known.contains(SeenKey(.entry, identity.key)) { return false }
            if let key = loose(of: identity) {
                if state.known.contains(SeenKey(.loose, key)) { return false }
                // Both spellings of one identifier in one document.
                guard spellings.insert(key).inserted else { return false }
            }
            if let link = link(of: identity), state.known.contains(SeenKey(.link, link)) { return false }
            return true
        }
    }

    /// Most of the document is unknown, as much is gone, and what came is old: new names for old entries.
    ///
    /// Old by the feed's own dates: our clock may have been years ahead when the feed was last read.
    private func isReset(_ unknown: [Int], _ state: SeenState) -> Bool {
        guard unknown.count >= Self.smallestReset, unknown.count * 4 >= identities.count * 3,
            state.vanished * 2 >= unknown.count, let newest = record.newestEntry, newest <= now
        else { return false }
        let limit = newest.addingTimeInterval(-Self.resetAge.inSeconds)
        let old = unknown.count { position in
            believed(feed.entries[identities[position].index].date).map { $0 < limit } ?? false
        }
        return old * 2 > unknown.count
    }

    private func isLater(_ position: Int, than date: Date?) -> Bool {
        guard let date, let own = believed(feed.entries[identities[position].index].date) else { return false }
        return own > date
    }

    private func first(_ existing: ExistingEntries, of positions: [Int]) -> [Int] {
        switch existing {
        case .none: []
        case .all: positions
        case .newest(let count): inOrder(positions).suffix(max(0, count))
        }
    }

    /// By effective date, entries without one as if published now; by reverse document order where dates are equal.
    private func inOrder(_ positions: [Int]) -> [Int] {
        let dated = positions.map { position in
            (position, shownDate(feed.entries[identities[position].index].date) ?? now)
        }
        return dated.sorted { left, right in
            if left.1 != right.1 { return left.1 < right.1 }
            return identities[left.0].index > identities[right.0].index
        }.map(\.0)
    }

    private func believed(_ date: Date?) -> Date? {
        guard let date, date >= Self.earliestDate,
            date.timeIntervalSince(now) <= Self.nearFuture.inSeconds
        else { return nil }
        return date
    }

    private func shownDate(_ date: Date?) -> Date? {
        believed(date).map { min($0, now) }
    }

    /// An identifier that stands on every entry tells nothing of one in any spelling.
    private func loose(of identity: EntryIdentity) -> EntryKey? {
        identityRule == .id ? identity.loose : nil
    }

    /// A link to a whole site is on many entries and tells nothing of one.
    private func link(of identity: EntryIdentity) -> EntryKey? {
        guard let key = identity.link, let link = feed.entries[identity.index].link,
            let address = try? FeedAddress(parsing: link, allowsFile: false), !address.isSiteRoot
        else { return nil }
        return key
    }
}
