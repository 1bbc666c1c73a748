internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Decides which entries of a document are news.
///
/// An entry is new if its key, its loose key and its link are unknown within the feed. Dates alone never decide: they
/// are absent, wrong or updated too often (feeds.md §3).
struct NewsJudge: Sendable {
    /// An entry that is older than the newest known one by this much should have been read before, even if its
    /// publisher is slow.
    static let resetAge: Duration = .seconds(86_400)
    /// The smallest number of new entries that can be a reset; fewer are limited by the cap.
    static let smallestReset = 4
    /// Time within which nearly equal titles of two feeds are one story; shorter than the period of a daily column.
    static let storyWindow: Duration = .seconds(12 * 3_600)
    /// Time between two announced updates of one feed: some texts change at each fetch.
    static let updatePause: Duration = .seconds(3_600)

    let feed: Feed
    let identities: [EntryIdentity]
    /// Hashes of the entries' contents, parallel to ``identities``.
    let contents: [EntryKey]
    let record: FeedRecord
    let existing: ExistingEntries
    let rules: FeedRules
    /// The category whose stories are compared; their names are valid within it.
    let category: String
    /// The time until which ordinary news waits.
    let holdUntil: Date?
    let voice: Voice
    /// Keys that identify entries across languages, parallel to ``identities``; empty for lists in one language.
    let translationKeys: [[EntryKey]]
    /// Links that more than two entries have; empty if the list has no marks.
    let crowdedLinks: Set<EntryKey>
    let now: Date

    /// Creates the judge of a document; `record` is the feed's record from before it.
    init(
        feed: Feed,
        record: FeedRecord,
        existing: ExistingEntries,
        rules: FeedRules = FeedRules(),
        category: String = "",
        holdUntil: Date? = nil,
        voice: Voice = Voice(),
        now: Date
    ) {
        self.feed = feed
        self.record = record
        self.existing = existing
        self.rules = rules
        self.category = category
        self.holdUntil = holdUntil
        self.voice = voice
        self.now = now
        (identityRule, identities) = feed.identity(startingAt: record.identityRule)
        translationKeys = voice.translationKeys(of: identities, in: feed, by: identityRule)
        contents = identities.map { ContentKey.of(feed.entries[$0.index]) }
        let links = rules.marks.isEmpty ? [] : identities.compactMap { feed.entries[$0.index].link }
        let counts = links.compactMap { EntryKey(link: $0) }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        crowdedLinks = Set(counts.filter { $0.value > 2 }.keys)
    }

    /// The identity rule to store, so that a feed that shrinks keeps its keys.
    let identityRule: IdentityRule

    /// The latest credible date of this document and earlier ones, to be stored.
    var newestEntry: Date? {
        let dates = feed.entries.compactMap { believed($0.date) } + [record.newestEntry].compactMap(\.self)
        return dates.filter { $0 <= now }.max()
    }

    /// Returns a feed's record with the changes of a judgement of its document, whole or not.
    func record(_ record: FeedRecord, after judgement: Judgement, isWhole: Bool) -> FeedRecord {
        var record = record
        if isWhole {
            record.identityRule = identityRule
            record.newestEntry = newestEntry
        }
        record.heldUntil = [isWhole ? nil : record.heldUntil, judgement.heldUntil].compactMap(\.self).min()
        if judgement.announcesUpdate { record.lastUpdate = now }
        return record
    }

    /// Judges the entries, given what is known of the document's keys and stories.
    func judge(_ state: SeenState) -> Judgement {
        var judgement = Judgement()
        var silences = known(state)
        let unknown = Set(open(silences))
        if rules.holdsFuture {
            for position in unknown { silences[position] = held(position, state) }
        }
        judgement.heldUntil = silences.values.compactMap { if case .held(let date) = $0 { date } else { nil } }.min()
        var effects = effects(silences, state)
        silences.merge(effects.silences) { $1 }
        judgement.closed = effects.closed
        /// Excludes entries that have a reason to be silent, except corrections of shown messages.
        func silence(_ reason: (Int) -> SilenceReason?) {
            for position in open(silences) where effects.changes[position] == nil {
                silences[position] = reason(position)
            }
        }
        let waiting = silences.values.count { if case .held = $0 { true } else { false } }
        if record.baseline == nil {
            judgement.isFirstReading = true
            silence { effects.wanted.contains($0) ? nil : unwanted($0) }
            let chosen = Set(first(existing, of: open(silences).filter { effects.changes[$0] == nil }))
            silence { chosen.contains($0) ? nil : .firstReading }
        } else {
            // If identifiers change at each fetch, or all at once, equal titles with equal dates are not news.
            let isMostlyUnknown = unknown.count * 2 >= identities.count
            let standing = Set(silences.keys.compactMap { title(of: $0) })
            silence { position in
                guard let title = title(of: position), state.known.contains(SeenKey(.title, title)) else { return nil }
                return isMostlyUnknown || (isToldByTitle(position) && !standing.contains(title))
                    ? .seenBefore(.title) : nil
            }
            if isMostlyUnknown, isReset(open(silences), state) {
                judgement.isReset = true
                silence { isLater($0, than: record.newestEntry) ? nil : .newIdentifiers }
            }
        }
        // Filter only now: a reset is recognized from all unknown entries.
        silence { effects.wanted.contains($0) ? nil : unwanted($0) }
        silence { position in
            guard let (kind, story) = knownStory(position, state) else { return nil }
            judgement.repeats[identities[position].index] = story
            return story.isWithdrawn ? .withdrawn : .sameStory(kind)
        }
        for position in effects.changes.keys { silences[position] = nil }
        judgement.translations = takeTranslations(&silences, &effects, state)
        let update = markEdited(&silences, effects, state)
        judgement.announcements = inOrder(open(silences)).map { position in
            var change = effects.changes[position] ?? effects.news[position] ?? news(position)
            if position == update { change = updated(position, state) }
            change.notBefore = release(position, change)
            return announcement(position, change, isUpdate: position == update)
        }
        let told = unknown.count { silences[$0] == nil || silences[$0] == .translation }
        judgement.silent = unknown.count - waiting - told
        judgement.silences = Dictionary(uniqueKeysWithValues: silences.map { (identities[$0.key].index, $0.value) })
        return judgement
    }

    func announcement(_ position: Int, _ change: StoryChange, isUpdate: Bool = false) -> Announcement {
        let index = identities[position].index
        let entry = feed.entries[index]
        return Announcement(
            entry: entry,
            index: index,
            date: shownDate(entry.date),
            change: change,
            isUpdate: isUpdate,
            isMarked: rules.marks.mark(of: entry)?.isInTitle ?? false
        )
    }

    /// Returns the change that an announced update of an edited entry makes to its story.
    private func updated(_ position: Int, _ state: SeenState) -> StoryChange {
        let story = ownStory(position, state)
        var change = change(.update, position, of: [story].compactMap(\.self))
        // The entry was recorded without a message, but people may know it from elsewhere.
        if story == nil { change.status = .update }
        return change
    }

    /// Returns the same story of another feed: under one link at any time, or under nearly one title within
    /// ``storyWindow``.
    private func knownStory(_ position: Int, _ state: SeenState) -> (SeenKind, KnownStory)? {
        let key = alertKey(of: position) ?? storyLink(of: position)
        if let key, let story = state.stories[key] { return (.link, story) }
        guard let title = storyTitle(of: position), let story = state.stories[title], let feed = story.feed,
            feed != record.id, abs(now.timeIntervalSince(story.announced)) <= Self.storyWindow.inSeconds
        else { return nil }
        return (.title, story)
    }

    /// Notes which known entries have changed, and announces the newest of them if the list asks for updates and none
    /// was announced recently.
    private func markEdited(_ silences: inout [Int: SilenceReason], _ effects: Effects, _ state: SeenState) -> Int? {
        let edited = identities.indices.filter { position in
            silences[position] == .seenBefore(.entry) && state.edited.contains(identities[position].key)
        }
        for position in edited { silences[position] = rules.announcesUpdates ? .updateLimit : .edited }
        guard rules.announcesUpdates, record.baseline != nil,
            record.lastUpdate.map({ abs(now.timeIntervalSince($0)) >= Self.updatePause.inSeconds }) ?? true
        else { return nil }
        // Stories that this document corrects or withdraws get no further message.
        let settled = Set((effects.changes.values + effects.closed).flatMap(\.merges))
        let wanted = edited.filter { position in
            // A story that another feed announced is updated by that feed only.
            let story = ownStory(position, state)
            let isOwn = story.map { $0.feed == record.id && !$0.isWithdrawn && !settled.contains($0.name) } ?? true
            return isOwn && unwanted(position) == nil
        }
        guard let newest = inOrder(wanted).last else { return nil }
        silences[newest] = nil
        return newest
    }

    func unwanted(_ position: Int) -> SilenceReason? {
        if let alert = feed.entries[identities[position].index].alert {
            if !alert.isForThePublic { return .notForThePublic }
            if let expiry = alert.expires, expiry <= now { return .expired }
        }
        guard rules.filters.contains(where: { !$0.isEmpty }) else { return nil }
        let text = KeywordFilter.FilterText(feed.entries[identities[position].index])
        return rules.filters.lazy.compactMap { $0.silence(text) }.first
    }

    /// Returns the reason of an entry that is not among ``identities``.
    func withoutIdentity(_ entry: Entry) -> SilenceReason {
        entry.id == nil && entry.link == nil && entry.title == nil && entry.summary == nil ? .blank : .repeated
    }

    /// Returns the positions of identities that this feed had before, or that appear twice.
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

    /// True if title and date identify an entry; two alerts of one minute often share them, and have reliable
    /// identifiers.
    private func isToldByTitle(_ position: Int) -> Bool {
        let entry = feed.entries[identities[position].index]
        return entry.date != nil && entry.alert == nil
    }

    private func open(_ silences: [Int: SilenceReason]) -> [Int] {
        identities.indices.filter { silences[$0] == nil }
    }

    /// True if most of the document is unknown, as many entries are gone, and the new entries are old: the feed has
    /// renamed its entries.
    ///
    /// Age is judged by the feed's own dates: our clock may have been years ahead when the feed was last read.
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

    private func first(_ existing: ExistingEntries, of positions: [Int]) -> [Int] {
        switch existing {
        case .none: []
        case .all: positions
        case .newest(let count): inOrder(positions).suffix(max(0, count))
        }
    }
}
