internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The keys that identify a document's entries.
extension NewsJudge {
    /// Number of readings after which all keys of a document are marked again.
    static let refreshPeriod: Int64 = 16

    /// The names at the ends of the document's titles.
    var publishers: PublisherNames { PublisherNames(of: feed, title: title) }

    func candidate(_ read: ReadEntry, _ novelty: Candidate.Novelty, _ publishers: PublisherNames) -> Candidate {
        Candidate(
            read: read,
            novelty: novelty,
            keys: keys(of: read, publishers),
            mark: rules.marks.mark(of: read.entry)
        )
    }

    /// True if the stories of the category matter; they change nothing for the entries of a first reading that are only
    /// recorded.
    var needsStories: Bool { record.baseline != nil || existing != .none || !rules.marks.isEmpty }

    private func keys(of read: ReadEntry, _ publishers: PublisherNames) -> CandidateKeys {
        let entry = read.entry
        var keys = seenKeys(of: read)
        guard needsStories || entry.alert != nil else { return keys }
        keys.alert = entry.alert?.reference.map(alertKey)
        keys.storyLink = keys.link.map(feedLanguage.own)
        if entry.alert == nil, let title = entry.title {
            let storyTitle = StoryTitle(title, by: publishers)
            keys.storyTitle = storyTitle.key.map(ownTitle)
            keys.acrossFeeds = storyTitle.keyAcrossFeeds.map(feedLanguage.own)
            keys.shown = storyTitle.shownKeys.map(feedLanguage.own)
            keys.formerStoryTitle = FormerStoryTitle.key(title).map(feedLanguage.own)
        }
        keys.text = ContentKey.text(of: entry)
        keys.translated = read.translations.map(feedLanguage.own)
        keys.elsewhere = read.translations.flatMap(feedLanguage.elsewhere)
        if rules.marks.mark(of: entry) != nil {
            keys.markedLink = markedLink(of: entry)
            keys.unmarkedTitle = entry.title.flatMap {
                StoryTitle($0, by: publishers, without: rules.marks).key.map(ownTitle)
            }
            keys.formerUnmarkedTitle = entry.title.flatMap { FormerStoryTitle.key($0, without: rules.marks) }
                .map(feedLanguage.own)
        }
        keys.references = references(of: entry)
        return keys
    }

    /// Returns the key of a title among those of this feed.
    private func ownTitle(_ key: EntryKey) -> EntryKey { feedLanguage.own(EntryKey(key, feed: number)) }

    /// Returns the keys within the feed only.
    private func seenKeys(of read: ReadEntry) -> CandidateKeys {
        CandidateKeys(
            // Every entry may have the same identifier.
            loose: identityRule == .id ? read.identity.loose : nil,
            link: link(of: read),
            title: Self.title(of: read.entry),
            page: page(of: read),
            own: EntryKey(read.key, feed: number)
        )
    }

    static func title(of entry: Entry) -> EntryKey? { entry.alert == nil ? TitleKey.of(entry) : nil }

    /// Returns the key of the link; `nil` for a link to a whole site, which many entries have.
    private func link(of read: ReadEntry) -> EntryKey? {
        guard read.entry.alert?.reference == nil, let key = read.identity.link, let link = read.entry.link,
            let address = try? FeedAddress(parsing: link, allowsFile: false), !address.isSiteRoot
        else { return nil }
        return key
    }

    /// Returns the key of a link that identifies none of several entries, or an entry although it leads to a whole site.
    private func page(of read: ReadEntry) -> EntryKey? {
        guard read.entry.alert == nil else { return nil }
        if read.identity.link == nil { return read.identity.page }
        return read.isKnownByLink && link(of: read) == nil ? read.identity.page : nil
    }

    /// Returns the key of a marked entry's link, even if two entries have the link: the story and its correction.
    ///
    /// A link of more entries leads to a page of many stories.
    func markedLink(of entry: Entry) -> EntryKey? {
        guard let link = entry.link, let key = EntryKey(link: link), !isCrowded(key),
            let address = try? FeedAddress(parsing: link, allowsFile: false), !address.isSiteRoot,
            feed.link.flatMap(EntryKey.init(link:)) != key
        else { return nil }
        return feedLanguage.own(key)
    }

    /// Returns the keys to mark after a judgement, in addition to those known before.
    ///
    /// A held entry is not marked as seen, and an edited one that waits keeps its former content. The other keys of
    /// known entries are marked only at every ``refreshPeriod``, and if an earlier version stored them: they are looked
    /// up when an entry changes its identity.
    func marks(after judgement: Judgement) -> [SeenMark] {
        guard !judgement.isForeign else { return [] }
        let isUpgrade = record.keysVersion < FeedRecord.currentKeys
        let refreshesAll = isUpgrade || (record.readings + 1) % Self.refreshPeriod == 0
        return entries.flatMap { read -> [SeenMark] in
            let own = SeenMark(.entry, read.key, content: read.mark.content)
            switch judgement.skipped[read.index] {
            case .held: return [SeenMark(.held, read.key)]
            case .updateLimit: return [SeenMark(.entry, read.key)]
            case .seenBefore(.entry):
                return [own] + (refreshesAll ? marks(beside: read, judgement, isWhole: isUpgrade) : [])
            default: return [own] + marks(beside: read, judgement, isWhole: true)
            }
        }
    }

    /// Returns the marks of an entry's other keys, with what later entries are compared with if `isWhole`.
    private func marks(beside read: ReadEntry, _ judgement: Judgement, isWhole: Bool) -> [SeenMark] {
        let keys = seenKeys(of: read)
        var marks = [keys.loose.map { SeenMark(.loose, $0) }].compactMap(\.self)
        if let key = keys.link ?? keys.page {
            var mark = SeenMark(.link, key)
            let isOne = keys.link != nil || read.isKnownByLink
            mark.isShared = !isOne || judgement.sharedLinks.contains(key)
            if isWhole, isOne {
                mark.content = read.mark.content
                mark.title = PageTitle.key(of: read.entry)
                mark.date = read.entry.date
            }
            marks.append(mark)
        }
        if let key = keys.title { marks.append(SeenMark(.title, key, content: isWhole ? read.mark.content : nil)) }
        return marks
    }

    /// Returns the entries that are held with their dates, and those that are not, without.
    func held(_ judgement: Judgement) -> [(key: EntryKey, until: Date?, entry: Entry)] {
        guard !judgement.isForeign else { return [] }
        return entries.map { ($0.key, judgement.skipped[$0.index]?.heldUntil, $0.entry) }
    }

    /// Returns the name of the story that begins with this entry.
    func name(of candidate: Candidate) -> String {
        StoryName.of(category, (candidate.keys.alert ?? candidate.keys.successor ?? candidate.keys.own).description)
    }
}
