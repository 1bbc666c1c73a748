internal import Feeds
internal import FoundationEssentials

/// The new entries of a document, and those of them that are announced.
struct Judgement: Sendable {
    /// Oldest first.
    var announcements: [Announcement] = []
    /// Entries that were new and are recorded without a word: a first reading, a reset, a story known from elsewhere.
    var silent = 0
    /// The feed's entries were recorded for the first time.
    var isFirstReading = false
    /// The whole document got new identifiers.
    var isReset = false
    /// The reasons why the others are not announced, by their position in ``Feed/entries``.
    var silences: [Int: SilenceReason] = [:]
    /// Stories of other feeds that this document tells as well, by the same positions.
    var repeats: [Int: KnownStory] = [:]
    /// Entries that are told in messages of other languages.
    var translations: [Translation] = []
    /// The time when the first of the entries that wait for their dates is due.
    var heldUntil: Date?

    /// Stories that are over without a word, because nobody was shown anything of them.
    var closed: [StoryChange] = []

    var announcesUpdate: Bool { announcements.contains(where: \.isUpdate) }
}

struct Announcement: Sendable {
    let entry: Entry
    /// Position in ``Feed/entries``.
    let index: Int
    /// The date shown: never later than the fetch; `nil` when the entry has no date to be believed.
    let date: Date?
    var change = StoryChange(name: "")
    /// True if it was read before, and says something else now, which its list wants to be told.
    var isUpdate = false
    /// True if its own title says what it is: `Correction: …`.
    var isMarked = false
}

/// The number of entries of a feed that is read for the first time which are announced.
package enum ExistingEntries: Sendable, Equatable {
    case none
    case newest(Int)
    case all
}
