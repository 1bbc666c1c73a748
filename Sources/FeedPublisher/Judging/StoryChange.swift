internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The change that an entry makes to its story, in the message and in the store.
struct StoryChange: Sendable, Equatable {
    /// Maximum number of names that one message can replace: a body of 4 KB has room for them.
    static let maximumReplaced = 16

    /// ``StoryName``.
    var name: String
    /// The name of this version of the story, which messages of other categories that say the same have, too
    /// (``SharedStories``).
    var version = ""
    /// The keys by which the story is known from now on.
    var keys: [EntryKey] = []
    /// The keys of its title by which it is recognized in other categories.
    var titles: Set<EntryKey> = []
    /// Hash of the current content.
    var content: EntryKey?
    /// Hash of the current text.
    var text: EntryKey?
    /// The current date of the entry.
    var published: Date?
    /// The story's current alert.
    var alert: LastAlert?
    var status: MessageStatus?
    /// Names of shown stories that the message replaces, its own among them.
    var replaces: [String] = []
    /// Names of known stories that are part of this one from now on.
    var merges: [String] = []
    /// Unsent rows of ``merges`` that are no longer needed.
    var unsent: [Int64] = []
    /// Unsent rows of ``merges`` that stay, because they also have other languages.
    var parted: [Int64: OutboxMessage] = [:]
    /// The language of the change, as in ``OutboxMessage/shares``.
    var language = LanguageShare.main
    /// True if the change applies to all languages of the list; otherwise messages in other languages stay.
    var isForAll = false
    /// True if the story was shown to recipients of its own language.
    var isForOwnLanguage = true
    /// Headlines shown to recipients of other languages and withdrawn together, by language.
    var elsewhere: [String: String] = [:]
    /// The time from which the message may be sent.
    var notBefore: Date?
    /// The headline that was shown and is withdrawn.
    var headline: String?
}

/// The last alert of a story; later messages apply to the story even if they do not refer to this alert.
struct LastAlert: Sendable, Equatable {
    var key: EntryKey
    var sent: Date
}

extension StoryChange {
    /// Creates the change that a message makes to known stories, which it merges, in the order of their announcement.
    ///
    /// `status` is kept only if one of the stories was shown; otherwise their unsent messages are removed. Without a
    /// known story, the change has the name `name`.
    init(_ status: MessageStatus, of known: [KnownStory], else name: String) {
        var shown: [String] = []
        for story in known where story.showing == .singly {
            for name in [story.name] + (story.unsent?.replaces ?? []) where !shown.contains(name) { shown.append(name) }
        }
        self.init(name: shown.first ?? known.first?.name ?? name)
        let isShown = known.contains { $0.showing != .never }
        self.status = isShown ? status : nil
        replaces = Array(shown.prefix(Self.maximumReplaced))
        for story in known where !merges.contains(story.name) { merges.append(story.name) }
        unsent = known.compactMap { $0.unsent == nil ? nil : $0.row }
        headline = known.lazy.compactMap(\.headline).first
    }

    /// Creates a withdrawal by the main language, which also applies to messages in other languages under the same
    /// names.
    init(withdrawing known: [KnownStory], in others: [KnownStory], else name: String) {
        let others = others.filter { !$0.isWithdrawn }
        self.init(.withdrawn, of: known + others, else: name)
        headline = known.lazy.compactMap(\.headline).first
        isForAll = true
        let shown = others.filter { $0.showing != .never }
        elsewhere = Dictionary(shown.map { ($0.language, $0.headline ?? "") }) { first, _ in first }
        isForOwnLanguage = shown.isEmpty || known.contains { $0.showing != .never }
    }

    /// Creates a change that does not affect waiting messages in other languages.
    init(_ status: MessageStatus, of known: [KnownStory], by feedLanguage: FeedLanguage, else name: String) {
        self.init(status, of: known, else: name)
        language = feedLanguage.name
        for story in known {
            guard let row = story.row, let message = story.unsent, message.speaks(beside: feedLanguage) else {
                continue
            }
            parted[row] = message
        }
        unsent.removeAll { parted[$0] != nil }
    }
}
