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
    /// Why the others are not announced, by their position in ``Feed/entries``.
    package var silences: [Int: SilenceReason] = [:]
}

package struct Announcement: Sendable {
    package let entry: Entry
    /// Position in ``Feed/entries``.
    package let index: Int
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
        var silences = known(state)
        let unknownCount = identities.count - silences.count
        /// Takes out of the running what has a reason to be silent.
        func silence(_ reason: SilenceReason, _ isMeant: (Int) -> Bool) {
            for position in identities.indices where silences[position] == nil && isMeant(position) {
                silences[position] = reason
            }
        }
        silence(.notForThePublic) { alert(at: $0)?.isForThePublic == false }
        silence(.expired) { alert(at: $0)?.expires.map { $0 <= now } ?? false }
        if record.baseline == nil {
            judgement.isFirstReading = true
            let chosen = Set(first(existing, of: open(silences)))
            silence(.firstReading) { !chosen.contains($0) }
        } else if unknownCount * 2 >= identities.count {
            // Identifiers that change at each fetch, or all at once: the same titles of the same dates are no news.
            silence(.seenBefore(.title)) { position in
                titles[position].map { state.known.contains(SeenKey(.title, $0)) } ?? false
            }
            if isReset(open(silences), state) {
                judgement.isReset = true
                silence(.newIdentifiers) { !isLater($0, than: record.newestEntry) }
            }
        }
        silence(.sameStory) { position in
            link(of: identities[position]).map { state.announcedLinks.contains($0) } ?? false
        }
        judgement.announcements = inOrder(open(silences)).map { position in
            let index = identities[position].index
            let entry = feed.entries[index]
            return Announcement(
                entry: entry,
                index: index,
                date: shownDate(entry.date),
                link: link(of: identities[position])
            )
        }
        judgement.silent = unknownCount - judgement.announcements.count
        judgement.silences = Dictionary(uniqueKeysWithValues: silences.map { (identities[$0].index, $1) })
        return judgement
    }

    /// Why an entry without a verdict of its own has none: it is not among ``identities``.
    func withoutIdentity(_ entry: Entry) -> SilenceReason {
        entry.id == nil && entry.link == nil && entry.title == nil && entry.summary == nil ? .blank : .repeated
    }

    package func dateTrouble(_ date: Date?) -> DateTrouble? {
        guard let date else { return nil }
        if date < Self.earliestDate { return .ancient }
        if believed(date) == nil { return .future }
        return date > now ? .ahead : nil
    }

    /// Positions of identities that this feed had before, or has twice.
    private func known(_ state: SeenState) -> [Int: SilenceReason] {
        var spellings: Set<EntryKey> = []
        var known: [Int: SilenceReason] = [:]
        for (position, identity) in identities.enumerated() {
            if state.known.contains(SeenKey(.entry, identity.key)) {
                known[position] = .seenBefore(.entry)
                continue
            }
            if let key = loose(of: identity) {
                if state.known.contains(SeenKey(.loose, key)) {
                    known[position] = .seenBefore(.loose)
                    continue
                }
                // Both spellings of one identifier in one document.
                guard spellings.insert(key).inserted else {
                    known[position] = .repeated
                    continue
                }
            }
            if let link = link(of: identity), state.known.contains(SeenKey(.link, link)) {
                known[position] = .seenBefore(.link)
            }
        }
        return known
    }

    private func alert(at position: Int) -> Alert? { feed.entries[identities[position].index].alert }

    private func open(_ silences: [Int: SilenceReason]) -> [Int] {
        identities.indices.filter { silences[$0] == nil }
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
    func link(of identity: EntryIdentity) -> EntryKey? {
        guard let key = identity.link, let link = feed.entries[identity.index].link,
            let address = try? FeedAddress(parsing: link, allowsFile: false), !address.isSiteRoot
        else { return nil }
        return key
    }
}
