internal import Feeds

/// The ways in which an entry can be known already.
package enum SeenKind: Int, Sendable, CaseIterable {
    /// Its identity (feeds.md §3).
    case entry
    /// Its identifier without scheme and `www.`.
    case loose
    /// Its normalised link.
    case link
    /// Its title and date, which tell entries apart in a feed whose identifiers and links change at each fetch.
    case title
    /// Its identity, as one that waits for its date.
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

/// An entry's identity, and a hash of what it says.
struct EntryMark: Sendable, Equatable {
    let key: EntryKey
    var content: EntryKey?
}

/// The store's knowledge of the entries of one document, read in the transaction that will record them.
struct SeenState: Sendable {
    /// Keys of this document that this feed had before.
    var known: Set<SeenKey> = []
    /// Identities of this document that this feed did not have before.
    var unknown: Set<EntryKey> = []
    /// Identities of known entries that said something else when they were last read.
    var edited: Set<EntryKey> = []
    /// Stories of this document that were announced in the same category, by any feed.
    var stories: [EntryKey: KnownStory] = [:]
    /// Entries of the last whole document that are not in this one.
    var vanished = 0
}
