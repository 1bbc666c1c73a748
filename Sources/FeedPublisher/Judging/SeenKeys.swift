internal import Feeds

/// The ways in which an entry can be known.
package enum SeenKind: Int, Sendable, CaseIterable {
    /// By its identity (feeds.md §3).
    case entry
    /// By its identifier without scheme and `www.`.
    case loose
    /// By its normalised link.
    case link
    /// By its title and date, which distinguish entries of a feed whose identifiers and links change at each fetch.
    case title
    /// By its identity, as an entry that is held until its date.
    case held
}

struct SeenKey: Hashable, Sendable {
    let kind: SeenKind
    let key: EntryKey

    init(_ kind: SeenKind, _ key: EntryKey) {
        self.kind = kind
        self.key = key
    }
}

/// An entry's identity, and a hash of its content.
struct EntryMark: Sendable, Equatable {
    let key: EntryKey
    var content: EntryKey?
}

/// The store's knowledge of a document's entries, read in the transaction that will record them.
struct SeenState: Sendable {
    /// Keys of this document that the feed had before.
    var known: Set<SeenKey> = []
    /// Identities of this document that this feed did not have before.
    var unknown: Set<EntryKey> = []
    /// Identities of known entries whose content has changed.
    var edited: Set<EntryKey> = []
    /// Stories of this document that were announced in the same category, by any feed.
    var stories: [EntryKey: KnownStory] = [:]
    /// Number of entries of the last whole document that are missing from this one.
    var vanished = 0
}
