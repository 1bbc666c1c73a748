internal import Feeds
internal import FoundationEssentials

/// A story that was announced in a category.
struct KnownStory: Sendable, Equatable {
    /// The form in which people have seen it.
    enum Showing: Sendable, Equatable {
        /// Nothing: its message waits, or the hub refused it.
        case never
        /// A line in a digest, which no later message can take the place of.
        case inDigest
        /// A message of its own.
        case singly
    }

    /// ``StoryName``.
    var name = ""
    /// The feed whose entry it was last; `nil` for stories stored before feeds were.
    var feed: Int64?
    var announced: Date
    /// The row that announces it, while it is kept.
    var row: Int64?
    var headline: String?
    /// The language in which it was told, as ``OutboxMessage/shares`` names it.
    var language = LanguageShare.main
    /// Its tellings in other languages under the same name; looked up for lists in several languages only.
    var others: [KnownStory] = []
    /// The message, while no byte of it has left for the hub: another feed can still be named in it.
    var unsent: OutboxMessage?
    var showing = Showing.singly
    /// Hash of what was said last.
    var content: EntryKey?
    var isWithdrawn = false
    var alert: LastAlert?
    /// The time from which its last message could leave, if that was a correction.
    var corrected: Date?
}
