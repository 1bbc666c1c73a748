internal import Feeds
internal import FoundationEssentials

/// The decisions on a document's entries: which are new, and which of them are announced.
struct Judgement: Sendable {
    /// Oldest first.
    var announcements: [Announcement] = []
    /// Number of new entries recorded without a message, such as those of a first reading or a reset, or of a story
    /// known from another feed.
    var silent = 0
    /// True if the feed's entries were recorded for the first time.
    var isFirstReading = false
    /// True if all entries of the document have new identifiers.
    var isReset = false
    /// True if the document is of another site: nothing of it is recorded.
    var isForeign = false
    /// Reasons why the other entries are not announced, by their position in ``Feed/entries``.
    var skipped: [Int: SkipReason] = [:]
    /// Known stories of other feeds that this document also tells, by the same positions.
    var repeats: [Int: KnownStory] = [:]
    /// Entries that are included in messages of other languages.
    var translations: [Translation] = []
    /// The earliest time at which an entry that waits for its date is due.
    var heldUntil: Date?

    /// Links that another entry had before.
    var sharedLinks: Set<EntryKey> = []
    /// Stories that end without a message, because they were never shown.
    var closed: [StoryChange] = []

    /// True if the next poll must read the whole document, even if it has not changed.
    var needsDocument: Bool { isForeign || skipped.values.contains(.updateLimit) }

    var announcesUpdate: Bool { announcements.contains(where: \.isUpdate) }

    /// Takes over the verdicts on a document's candidates; its other entries were seen before.
    mutating func take(_ verdicts: [Verdict], of judge: NewsJudge) {
        skipped = Dictionary(uniqueKeysWithValues: judge.entries.map { ($0.index, SkipReason.seenBefore(.entry)) })
        var announced: [Int: Verdict] = [:]
        for verdict in verdicts {
            let index = verdict.candidate.index
            switch verdict.decision {
            case .silent(let reason): skipped[index] = reason
            case .repeats(let story, let reason):
                skipped[index] = reason
                repeats[index] = story
            case .announced, nil:
                skipped[index] = nil
                announced[verdict.candidate.place] = verdict
            }
        }
        announcements = judge.dates.inOrder(announced.values.map(\.candidate)).compactMap { candidate in
            guard let verdict = announced[candidate.place], let change = verdict.change else { return nil }
            return judge.announcement(of: candidate, change, isUpdate: verdict.isUpdate)
        }
    }
}

struct Announcement: Sendable {
    let entry: Entry
    /// Position in ``Feed/entries``; negative for an entry that is no longer there.
    let index: Int
    /// The date to show, never after the fetch; `nil` if the entry has no credible date.
    let date: Date?
    var change = StoryChange(name: "")
    /// True for a known entry that has changed, if its list asks for updates.
    var isUpdate = false
    /// True if the entry's own title states its kind: `Correction: …`.
    var isMarked = false
}

/// The entries that are announced of a feed that is read for the first time.
package enum ExistingEntries: Sendable, Equatable {
    case none
    case newest(Int)
    case all
}
