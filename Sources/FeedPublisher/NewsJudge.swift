package import Feeds
package import FoundationEssentials

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
    /// Within it, nearly equal titles of two feeds are one story; a daily column's title comes again after longer.
    static let storyWindow: Duration = .seconds(12 * 3_600)
    /// Between two announced updates of one feed: some texts change at each fetch.
    static let updatePause: Duration = .seconds(3_600)
    /// An entry that was held is due when its date is no further ahead.
    static let dueSlack: Duration = .seconds(600)

    let feed: Feed
    let identities: [EntryIdentity]
    /// What the entries say, parallel to ``identities``.
    let contents: [EntryKey?]
    let record: FeedRecord
    let existing: ExistingEntries
    let rules: FeedRules
    let now: Date

    /// Takes the document, and the feed's record as it was before.
    package init(
        feed: Feed,
        record: FeedRecord,
        existing: ExistingEntries,
        rules: FeedRules = FeedRules(),
        now: Date
    ) {
        self.feed = feed
        self.record = record
        self.existing = existing
        self.rules = rules
        self.now = now
        (identityRule, identities) = feed.identity(startingAt: record.identityRule)
        contents = identities.map { ContentKey.of(feed.entries[$0.index]) }
    }

    /// To be stored, so that a feed which shrinks keeps its keys.
    package let identityRule: IdentityRule

    /// To be stored: the latest believable date of this document and those before.
    package var newestEntry: Date? {
        let dates = feed.entries.compactMap { believed($0.date) } + [record.newestEntry].compactMap(\.self)
        return dates.filter { $0 <= now }.max()
    }

    /// Decides, given what is known of the document's keys and stories.
    package func judge(_ state: SeenState) -> Judgement {
        var judgement = Judgement()
        var silences = known(state)
        let unknownCount = identities.count - silences.count
        /// Takes out of the running what has a reason to be silent.
        func silence(_ reason: (Int) -> SilenceReason?) {
            for position in identities.indices where silences[position] == nil {
                silences[position] = reason(position)
            }
        }
        if rules.holdsFuture { silence { held($0, state) } }
        judgement.heldUntil = silences.values.compactMap { if case .held(let date) = $0 { date } else { nil } }.min()
        let waiting = silences.values.count { if case .held = $0 { true } else { false } }
        if record.baseline == nil {
            judgement.isFirstReading = true
            silence(unwanted)
            let chosen = Set(first(existing, of: open(silences)))
            silence { chosen.contains($0) ? nil : .firstReading }
        } else if unknownCount * 2 >= identities.count {
            // Identifiers that change at each fetch, or all at once: the same titles of the same dates are no news.
            silence { position in
                let isKnown = title(of: position).map { state.known.contains(SeenKey(.title, $0)) } ?? false
                return isKnown ? .seenBefore(.title) : nil
            }
            if isReset(open(silences), state) {
                judgement.isReset = true
                silence { isLater($0, than: record.newestEntry) ? nil : .newIdentifiers }
            }
        }
        // Not before: a reset is seen by all that is unknown.
        silence(unwanted)
        for position in open(silences) {
            guard let (kind, story) = knownStory(position, state) else { continue }
            silences[position] = .sameStory(kind)
            judgement.repeats[identities[position].index] = story
        }
        let update = markEdited(&silences, state)
        judgement.announcements = inOrder(open(silences)).map { position in
            let index = identities[position].index
            let entry = feed.entries[index]
            return Announcement(
                entry: entry,
                index: index,
                date: shownDate(entry.date),
                stories: stories(of: position),
                isUpdate: position == update
            )
        }
        judgement.silent = unknownCount - waiting - judgement.announcements.count { !$0.isUpdate }
        judgement.silences = Dictionary(uniqueKeysWithValues: silences.map { (identities[$0.key].index, $0.value) })
        return judgement
    }

    /// The same story from another feed: under one link at any time, or under nearly one title within ``storyWindow``.
    private func knownStory(_ position: Int, _ state: SeenState) -> (SeenKind, KnownStory)? {
        if let link = link(of: identities[position]), let story = state.stories[link] { return (.link, story) }
        guard let title = storyTitle(of: position), let story = state.stories[title], let feed = story.feed,
            feed != record.id, abs(now.timeIntervalSince(story.announced)) <= Self.storyWindow.inSeconds
        else { return nil }
        return (.title, story)
    }

    /// Says of known entries which have changed, and takes the newest of them out of ``SilenceReason`` where updates are
    /// asked for and none was announced lately.
    private func markEdited(_ silences: inout [Int: SilenceReason], _ state: SeenState) -> Int? {
        let edited = identities.indices.filter { position in
            silences[position] == .seenBefore(.entry) && state.edited.contains(identities[position].key)
        }
        for position in edited { silences[position] = rules.announcesUpdates ? .updateLimit : .edited }
        guard rules.announcesUpdates, record.baseline != nil,
            record.lastUpdate.map({ abs(now.timeIntervalSince($0)) >= Self.updatePause.inSeconds }) ?? true
        else { return nil }
        let wanted = edited.filter { position in
            // What another feed told first is that feed's to tell again.
            let isOwn = knownStory(position, state).map { $0.1.feed == record.id } ?? true
            return isOwn && unwanted(position) == nil
        }
        guard let newest = inOrder(wanted).last else { return nil }
        silences[newest] = nil
        return newest
    }

    private func unwanted(_ position: Int) -> SilenceReason? {
        if let alert = feed.entries[identities[position].index].alert {
            if !alert.isForThePublic { return .notForThePublic }
            if let expiry = alert.expires, expiry <= now { return .expired }
        }
        guard rules.filters.contains(where: { !$0.isEmpty }) else { return nil }
        let text = KeywordFilter.FilterText(feed.entries[identities[position].index])
        return rules.filters.lazy.compactMap { $0.silence(text) }.first
    }

    /// Beyond a day ahead an entry waits; once it waits, until its date has come.
    private func held(_ position: Int, _ state: SeenState) -> SilenceReason? {
        guard let date = feed.entries[identities[position].index].date else { return nil }
        let isWaiting = state.known.contains(SeenKey(.held, identities[position].key))
        let limit = isWaiting ? Self.dueSlack : Self.nearFuture
        return date.timeIntervalSince(now) > limit.inSeconds ? .held(until: date) : nil
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
}
