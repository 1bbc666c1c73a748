internal import Feeds
internal import FoundationEssentials

/// A story that was announced in a category.
struct KnownStory: Sendable, Equatable {
    /// The form in which a story was shown.
    enum Showing: Sendable, Equatable {
        /// Not shown: its message waits, or was refused by the hub.
        case never
        /// Shown in a line of a digest, which a later message cannot replace.
        case inDigest
        /// Shown in a message of its own.
        case singly
    }

    /// ``StoryName``.
    var name = ""
    /// The feed that announced it last; `nil` for stories of versions that did not store feeds.
    var feed: Int64?
    var announced: Date
    /// The row that announces it, as long as the row is kept.
    var row: Int64?
    var headline: String?
    /// The language in which it was announced, as in ``OutboxMessage/shares``.
    var language = LanguageShare.main
    /// The same story in other languages, under the same name; only for lists in several languages.
    var others: [KnownStory] = []
    /// The message until its first byte is sent: until then another feed can be added.
    var unsent: OutboxMessage?
    var showing = Showing.singly
    /// Hash of the latest content.
    var content: EntryKey?
    /// Hash of the latest text; `nil` for stories of versions that did not store it.
    var text: EntryKey?
    /// The latest date of its entry.
    var published: Date?
    var isWithdrawn = false
    var alert: LastAlert?
    /// The time from which its last message could be sent, if that message was a correction.
    var corrected: Date?
}
