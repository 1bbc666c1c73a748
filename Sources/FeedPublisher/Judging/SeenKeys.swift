internal import Feeds
internal import FoundationEssentials

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

/// A key to be stored, with what later entries under the same key are compared with.
struct SeenMark: Sendable, Equatable {
    let key: SeenKey
    /// The rest is kept as stored before if there is no content.
    var content: EntryKey?
    /// ``PageTitle`` of the entry.
    var title: EntryKey?
    var date: Date?
    /// True for a link that several entries have or had.
    var isShared = false

    init(_ kind: SeenKind, _ key: EntryKey, content: EntryKey? = nil) {
        self.key = SeenKey(kind, key)
        self.content = content
    }
}

/// An entry's identity, and hashes of its content.
struct EntryMark: Sendable, Equatable {
    let key: EntryKey
    var content: EntryKey?
    /// The content as earlier versions hashed it, if that differs.
    var formerContent: EntryKey?
}

/// The store's knowledge of a document's entries, read in the transaction that will record them.
struct SeenState: Sendable {
    /// Keys of this document that the feed had before.
    var known: Set<SeenKey> = []
    /// Identities of this document that this feed did not have before.
    var unknown: Set<EntryKey> = []
    /// Identities of known entries whose content has changed.
    var edited: Set<EntryKey> = []
    /// The entries that the feed last had under links and under titles with dates.
    var details: [SeenKey: SeenMark] = [:]
    /// Stories of this document that were announced in the same category, by any feed.
    var stories: [EntryKey: KnownStory] = [:]
    /// The newest entries of earlier documents.
    var recent: [JudgedEntry] = []
    /// Number of entries of the last whole document.
    var before = 0
    /// Number of those that are missing from this one.
    var vanished = 0
}
