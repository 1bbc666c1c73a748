internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Decides which entries of a document are news, by the rules in ``NewsRules``.
///
/// It is pure: the caller looks up the keys that it asks for, in three steps, since most entries are known and need
/// none of the later ones.
struct NewsJudge: Sendable {
    let feed: Feed
    /// The feed's name in its list.
    let title: String?
    /// The feed's record from before the document.
    let record: FeedRecord
    /// The feed's number in the keys of its entries, the same for all lists that have the feed.
    let number: Int64
    let existing: ExistingEntries
    let rules: FeedRules
    /// The category whose stories are compared; their names are valid within it.
    let category: String
    /// The time until which ordinary news waits.
    let holdUntil: Date?
    let feedLanguage: FeedLanguage
    let now: Date
    /// The document's distinct entries.
    let entries: [ReadEntry]
    /// The identity rule to store, so that a feed that shrinks keeps its keys.
    let identityRule: IdentityRule
    /// Links that more than two entries have; empty if the list has no marks.
    private let crowdedLinks: Set<EntryKey>

    /// Smallest number of entries with their own links that show that a feed's links are distinct.
    private static let fewestDistinct = 3

    /// Creates the judge of a document; `record` is the feed's record from before it.
    init(
        feed: Feed,
        title: String? = nil,
        record: FeedRecord,
        number: Int64? = nil,
        existing: ExistingEntries,
        rules: FeedRules = FeedRules(),
        category: String = "",
        holdUntil: Date? = nil,
        feedLanguage: FeedLanguage = FeedLanguage(),
        now: Date
    ) {
        self.feed = feed
        self.title = title
        self.record = record
        self.number = number ?? record.id
        self.existing = existing
        self.rules = rules
        self.category = category
        self.holdUntil = holdUntil
        self.feedLanguage = feedLanguage
        self.now = now
        let dates = CredibleDates(now: now)
        let (rule, identities) = feed.identity(startingAt: record.identityRule)
        let translations = feedLanguage.translationKeys(of: identities, in: feed, by: rule)
        identityRule = rule
        let isDraft = identities.map { feed.entries[$0.index].isDraft }
        entries = identities.enumerated().filter { !isDraft[$0.offset] }.map { place, identity -> ReadEntry in
            let entry = feed.entries[identity.index]
            return ReadEntry(
                place: place,
                entry: entry,
                identity: identity,
                mark: ContentKey.mark(entry, key: identity.key),
                translations: translations.isEmpty ? [] : translations[place],
                date: dates.believed(entry.date)
            )
        }
        let links = rules.marks.isEmpty ? [] : entries.compactMap(\.entry.link)
        let counts = links.compactMap { EntryKey(link: $0) }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        crowdedLinks = Set(counts.filter { $0.value > 2 }.keys)
    }

    var dates: CredibleDates { CredibleDates(now: now) }
    private var head: DocumentHead { DocumentHead(title: feed.title, link: feed.link) }

    func isCrowded(_ link: EntryKey) -> Bool { crowdedLinks.contains(link) }

    // MARK: Look-ups

    /// The keys by which the document is looked up first.
    var entryMarks: [EntryMark] { entries.map(\.mark) }

    /// Returns the entries that may have to be announced, given which identities are known.
    func candidates(_ seen: SeenState) -> [Candidate] {
        // Finding the names needs all titles of the document.
        let publishers = needsStories && !(seen.unknown.isEmpty && seen.edited.isEmpty) ? publishers : PublisherNames()
        return entries.compactMap { read in
            let isUnknown = seen.unknown.contains(read.key)
            guard isUnknown || seen.edited.contains(read.key) else { return nil }
            return candidate(read, isUnknown ? .unknown : .edited, publishers)
        }
    }

    /// Returns the further keys of unknown entries within the feed.
    func furtherKeys(of candidates: [Candidate]) -> [SeenKey] {
        candidates.filter { $0.isUnknown || $0.read.isKnownByLink }.flatMap { candidate in
            candidate.keys.seen + [candidate.keys.page].compactMap { $0.map { SeenKey(.link, $0) } }
                + (rules.holdsFuture ? [SeenKey(.held, candidate.read.key)] : [])
        }
    }

    /// Returns the keys by which stories of the category are recognized.
    func storyKeys(of candidates: [Candidate]) -> [EntryKey] {
        let keys = candidates.flatMap { candidate -> [EntryKey] in
            let keys = candidate.keys
            guard !candidate.isUnknown else { return keys.shared + keys.former + keys.references + keys.elsewhere }
            let isWanted = rules.announcesUpdates || candidate.replacesOthers || candidate.mark != nil
            return isWanted || candidate.read.isKnownByLink ? keys.all + keys.former + keys.references : []
        }
        return keys + deletionKeys()
    }

    // MARK: Judging

    /// Judges the candidates, given what is known of all keys.
    func judge(_ candidates: [Candidate], _ seen: SeenState) -> Judgement {
        var known = Knowledge(record: record, seen: seen, rules: rules, now: now)
        known.document = facts(candidates, known)
        let candidates = candidates.map { settled($0, known) }
        let unknown = candidates.filter { candidate in
            known.document.recognized[candidate.place].map { if case .held = $0 { true } else { false } } ?? true
        }
        let open = candidates.filter { known.document.recognized[$0.place] == nil }
        known.document.unknown = unknown.count
        known.document.effects = effects(candidates, known)
        let effects = known.document.effects
        known.document.recognizedTitles = recognizedTitles(candidates, known)
        known.document.timeline = Timeline(entries, new: Set(open.map(\.place)), known)
        let unsettled = open.filter { effects.skipped[$0.place] == nil }
        let untitled = unsettled.filter { SameTitleAndDate().decision(on: $0, known) == nil }
        known.document.decision = NewsRules.document.lazy.compactMap { $0.decision(on: untitled, known) }.first
        if known.document.decision == .foreign { return foreign() }
        if known.document.decision == .firstReading {
            let wanted = unsettled.filter { candidate in
                effects.changes[candidate.place] == nil
                    && (effects.wanted.contains(candidate.place) || known.skipReason(for: candidate) == nil)
            }
            known.document.chosen = Set(first(existing, of: wanted).map(\.place))
        }

        var verdicts = Repeat.within(
            candidates.map { Verdict(candidate: $0, decision: decision(on: $0, known)) },
            dates
        )
        var judgement = Judgement()
        judgement.isFirstReading = known.document.decision == .firstReading
        judgement.isReset = known.document.decision == .newIdentifiers
        judgement.closed = effects.closed
        judgement.sharedLinks = sharedLinks(candidates, known)
        judgement.translations = takeTranslations(&verdicts, known)
        announceUpdates(&verdicts, known)
        for index in verdicts.indices where verdicts[index].change == nil {
            let candidate = verdicts[index].candidate
            switch verdicts[index].decision {
            case .announced(let change): verdicts[index].change = change
            case nil: verdicts[index].change = effects.news[candidate.place] ?? news(candidate)
            case .silent, .repeats: break
            }
        }
        judgement.take(verdicts, of: self)
        let deleted = withdrawDeleted(seen)
        judgement.announcements += deleted.announcements
        judgement.closed += deleted.closed
        judgement.heldUntil = known.document.recognized.values.compactMap(\.heldUntil).min()
        let waiting = unknown.count { known.document.recognized[$0.place] != nil }
        let places = Set(unknown.map(\.place))
        let announced = verdicts.count { verdict in
            guard places.contains(verdict.candidate.place) else { return false }
            if case .silent(let reason) = verdict.decision { return reason == .translation }
            if case .repeats = verdict.decision { return false }
            return true
        }
        judgement.silent = unknown.count - waiting - announced
        return judgement
    }

    /// Returns the links of this document that another entry had before.
    private func sharedLinks(_ candidates: [Candidate], _ known: Knowledge) -> Set<EntryKey> {
        Set(
            candidates.filter { known.page(of: $0) != nil && known.document.recognized[$0.place] == nil }
                .compactMap { $0.keys.link ?? $0.keys.page }
        )
    }

    private func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        let effects = known.document.effects
        if let change = effects.changes[candidate.place] { return .announced(change) }
        if let reason = effects.skipped[candidate.place] { return .silent(reason) }
        if let reason = known.document.recognized[candidate.place] { return .silent(reason) }
        return NewsRules.news.decision(on: candidate, known)
    }

    /// Returns the judgement of a document of another site.
    private func foreign() -> Judgement {
        var judgement = Judgement(isForeign: true)
        judgement.heldUntil = record.heldUntil
        judgement.skipped = Dictionary(uniqueKeysWithValues: entries.map { ($0.index, SkipReason.foreign) })
        return judgement
    }

    /// Returns the document's facts, with the entries that the rules of recognition know.
    private func facts(_ candidates: [Candidate], _ known: Knowledge) -> DocumentFacts {
        var known = known
        known.document.head = head
        known.document.count = entries.count
        let linked = entries.filter { $0.entry.link != nil }
        known.document.hasDistinctLinks =
            linked.count >= Self.fewestDistinct && linked.allSatisfy { $0.identity.link != nil }
        if !known.seen.recent.isEmpty, candidates.contains(where: \.isUnknown) {
            let keys = Set(entries.map(\.key))
            known.document.departed = known.seen.recent.filter { entry in
                entry.key.flatMap(EntryKey.init(hexadecimal:)).map { !keys.contains($0) } ?? false
            }
        }
        // Both spellings of one identifier in one document.
        var spellings: Set<EntryKey> = []
        for candidate in candidates where candidate.isUnknown {
            guard let key = candidate.keys.loose, !known.contains(.loose, key) else { continue }
            if !spellings.insert(key).inserted { known.document.spelledTwice.insert(candidate.place) }
        }
        for candidate in candidates {
            guard case .silent(let reason)? = NewsRules.recognition.decision(on: candidate, known) else { continue }
            known.document.recognized[candidate.place] = reason
        }
        return known.document
    }

    /// Returns a candidate with the keys that its link allows, given the entries that had the link before.
    private func settled(_ candidate: Candidate, _ known: Knowledge) -> Candidate {
        guard let page = known.page(of: candidate) else { return candidate }
        var candidate = candidate
        // A page of many stories identifies none of them.
        if page.isShared || known.document.recognized[candidate.place] == nil { candidate.keys.storyLink = nil }
        if !candidate.isUnknown, known.document.recognized[candidate.place] == nil {
            let parts = [candidate.keys.own.bytes, candidate.content?.bytes ?? []].flatMap(\.self)
            candidate.keys.successor = EntryKey(hashing: parts)
        }
        return candidate
    }

    /// Returns the titles and dates that recognized entries still bear, if an unknown one may have one of them.
    private func recognizedTitles(_ candidates: [Candidate], _ known: Knowledge) -> Set<EntryKey> {
        guard candidates.contains(where: { known.contains(.title, $0.keys.title) }) else { return [] }
        let open = Set(
            candidates.map(\.place).filter { place in
                known.document.recognized[place] == nil && known.document.effects.skipped[place] == nil
            }
        )
        return Set(entries.filter { !open.contains($0.place) }.compactMap { Self.title(of: $0.entry) })
    }

    func announcement(of candidate: Candidate, _ change: StoryChange, isUpdate: Bool = false) -> Announcement {
        var change = change
        change.notBefore = release(candidate, change)
        return Announcement(
            entry: candidate.entry,
            index: candidate.index,
            date: dates.shown(candidate.entry.date),
            change: change,
            isUpdate: isUpdate,
            isMarked: candidate.mark?.isInTitle ?? false
        )
    }

    private func first(_ existing: ExistingEntries, of candidates: [Candidate]) -> [Candidate] {
        switch existing {
        case .none: []
        case .all: candidates
        case .newest(let count): dates.inOrder(candidates).suffix(max(0, count))
        }
    }

    // MARK: Results

    /// The latest credible date of this document and earlier ones, to be stored.
    var newestEntry: Date? {
        let own = feed.entries.compactMap { $0.isDraft ? nil : self.dates.believed($0.date) }
        let dates = own + [record.newestEntry].compactMap(\.self)
        return dates.filter { $0 <= now }.max()
    }

    /// Returns a feed's record with the changes of a judgement of its document, whole or not.
    func record(_ record: FeedRecord, after judgement: Judgement, isWhole: Bool) -> FeedRecord {
        var record = record
        guard !judgement.isForeign else {
            // The former document counts.
            record.readings = self.record.readings
            record.completeReading = self.record.completeReading
            record.title = self.record.title
            record.format = self.record.format
            record.foreignHead = head.text
            record.forgetDocument()
            return record
        }
        if isWhole {
            record.identityRule = identityRule
            record.keysVersion = FeedRecord.currentKeys
            record.site = head.host ?? record.site
            record.foreignHead = nil
            record.newestEntry = newestEntry
        }
        record.heldUntil = [isWhole ? nil : record.heldUntil, judgement.heldUntil].compactMap(\.self).min()
        if judgement.announcesUpdate { record.lastUpdate = now }
        if judgement.needsDocument { record.forgetDocument() }
        return record
    }

    /// Returns the reason why an entry of the document is not among ``entries``.
    func skipReason(for entry: Entry) -> SkipReason {
        if entry.isDraft { return .draft }
        return entry.id == nil && entry.link == nil && entry.title == nil && entry.summary == nil ? .blank : .repeated
    }
}

/// A candidate with the decision on it; without one, it is news.
struct Verdict: Sendable {
    let candidate: Candidate
    var decision: Decision?
    /// The change of an entry that is news and belongs to a known story.
    var change: StoryChange?
    /// True for an edited entry that is announced as an update.
    var isUpdate = false

    /// True if the entry is news, and no rule has decided otherwise.
    var isNews: Bool { if case nil = decision { true } else { false } }
}
