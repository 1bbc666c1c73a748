internal import FeedLists
internal import Feeds
internal import FoundationEssentials

/// An entry of a document, with what is needed to recognize it.
struct ReadEntry: Sendable {
    /// Its position among the document's distinct entries.
    let place: Int
    let entry: Entry
    let identity: EntryIdentity
    let mark: EntryMark
    /// The keys that identify it across languages; empty for lists in one language.
    let translations: [EntryKey]
    /// The date, if it is credible.
    let date: Date?

    /// Its position in ``Feed/entries``.
    var index: Int { identity.index }
    var key: EntryKey { identity.key }
    /// True if only its link identifies it.
    var isKnownByLink: Bool { identity.link == identity.key }
}

/// An entry that may have to be announced: the feed did not have it before, or it has changed.
struct Candidate: Sendable {
    /// The relation to the entries that the feed had before.
    enum Novelty: Sendable {
        case unknown
        /// It was read before with another content.
        case edited
    }

    let read: ReadEntry
    let novelty: Novelty
    var keys: CandidateKeys
    let mark: EditorialMark?

    var place: Int { read.place }
    var index: Int { read.index }
    var entry: Entry { read.entry }
    var content: EntryKey? { read.mark.content }
    var date: Date? { read.date }
    var alert: Alert? { read.entry.alert }
    var isUnknown: Bool { novelty == .unknown }

    /// True if it has the content with a stored hash.
    func hasContent(_ content: EntryKey?) -> Bool {
        guard let content else { return false }
        return content == read.mark.content || content == read.mark.formerContent
    }
}

/// The keys by which an entry and its story are found.
struct CandidateKeys: Sendable {
    /// The keys within the feed, of ``SeenKind/loose``, ``SeenKind/link`` and ``SeenKind/title``.
    var loose: EntryKey?
    var link: EntryKey?
    var title: EntryKey?
    /// The key of a link that several entries of the document have; such entries have no ``link``.
    var page: EntryKey?

    /// The entry's own key among those of all feeds.
    var own: EntryKey
    /// The key of an entry that has replaced another one under the same link.
    var successor: EntryKey?
    /// The keys of its story in the feed's language: the alert's, else those of the link, and of the title in this feed.
    var alert: EntryKey?
    var storyLink: EntryKey?
    var storyTitle: EntryKey?
    /// The key of the title among those of all feeds; `nil` if it says too little.
    var acrossFeeds: EntryKey?
    /// The keys under which the title is found in other feeds.
    var shown: [EntryKey] = []
    /// The key of the title as earlier versions hashed it.
    var formerStoryTitle: EntryKey?
    var translated: [EntryKey] = []
    /// The keys of its story in the list's other languages.
    var elsewhere: [EntryKey] = []
    /// The keys by which a correction or retraction finds its story.
    var markedLink: EntryKey?
    var unmarkedTitle: EntryKey?
    var formerUnmarkedTitle: EntryKey?
    /// The alerts that it replaces.
    var references: Set<EntryKey> = []
    /// Hash of its text.
    var text: EntryKey?

    /// The keys of ``SeenKind``s besides the entry's own.
    var seen: [SeenKey] {
        [loose.map { SeenKey(.loose, $0) }, link.map { SeenKey(.link, $0) }, title.map { SeenKey(.title, $0) }]
            .compactMap(\.self)
    }

    /// The keys by which the story is known once it is announced in the feed's language.
    var stories: [EntryKey] {
        if let alert { return [alert] }
        return [storyLink, storyTitle].compactMap(\.self) + shown + translated
    }

    /// The keys that only entries with nearly the same title have: in this feed, and in all feeds.
    var titles: Set<EntryKey> { Set([storyTitle, acrossFeeds, unmarkedTitle].compactMap(\.self)) }

    /// The keys by which a marked entry finds its story.
    var marked: [EntryKey] { [markedLink, unmarkedTitle].compactMap(\.self) }

    /// The keys under which earlier versions stored stories.
    var former: [EntryKey] { [formerStoryTitle, formerUnmarkedTitle].compactMap(\.self) }

    /// The keys of the story that other entries may have, too.
    var shared: [EntryKey] { stories + marked.filter { !stories.contains($0) } }

    /// The keys under which the story is stored.
    var all: [EntryKey] { [own] + [successor].compactMap(\.self) + shared }
}
