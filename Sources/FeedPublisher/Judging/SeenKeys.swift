internal import Feeds

/// The kinds of keys that identify an entry.
package enum SeenKind: Int, Sendable, CaseIterable {
    /// The entry's identity (feeds.md §3).
    case entry
    /// Its identifier without scheme and `www.`.
    case loose
    /// Its normalised link.
    case link
    /// Its title and date, for feeds whose identifiers and links change at each fetch.
    case title
    /// Its identity, as an entry that is held until its date.
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
