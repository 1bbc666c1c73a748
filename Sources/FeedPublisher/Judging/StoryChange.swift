internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The change that an entry makes to its story: in the message, and in what the store knows of the category.
struct StoryChange: Sendable, Equatable {
    /// Maximum number of names that one message can replace: a body of 4 KB has room for them.
    static let maximumReplaced = 16

    /// ``StoryName``.
    var name: String
    /// The keys by which the story is known from now on.
    var keys: [EntryKey] = []
    /// Hash of the current content.
    var content: EntryKey?
    /// The story's current alert.
    var alert: LastAlert?
    var status: MessageStatus?
    /// Names of shown stories that the message replaces, its own among them.
    var replaces: [String] = []
    /// Names of known stories that are part of this one from now on.
    var merges: [String] = []
    /// Rows of these that were not sent and are no longer needed.
    var unsent: [Int64] = []
    /// Rows of these that also have other languages, for which they stay.
    var parted: [Int64: OutboxMessage] = [:]
    /// The language of the change, as in ``OutboxMessage/shares``.
    var language = LanguageShare.main
    /// True if the change applies to all languages of the list; otherwise messages in other languages stay.
    var isForAll = false
    /// True if recipients of its own language were shown something of the story.
    var isForOwnLanguage = true
    /// Headlines shown to recipients of other languages and withdrawn together, by language.
    var elsewhere: [String: String] = [:]
    /// The time from which the message may be sent.
    var notBefore: Date?
    /// The headline that was shown and is withdrawn.
    var headline: String?
}

/// The last alert of a story; a message after it need not be about it.
struct LastAlert: Sendable, Equatable {
    var key: EntryKey
    var sent: Date
}

extension StoryChange {
    /// Makes the change of a message to known stories, which it joins, in the order in which they were announced.
    ///
    /// `status` stays only if something of these was shown; unsent messages are removed instead. Without a known story,
    /// the change has the name `name`.
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

    /// Makes a withdrawal by the main language, which also applies to other languages' messages under the same names.
    init(withdrawing known: [KnownStory], in others: [KnownStory], else name: String) {
        let others = others.filter { !$0.isWithdrawn }
        self.init(.withdrawn, of: known + others, else: name)
        headline = known.lazy.compactMap(\.headline).first
        isForAll = true
        let shown = others.filter { $0.showing != .never }
        elsewhere = Dictionary(shown.map { ($0.language, $0.headline ?? "") }) { first, _ in first }
        isForOwnLanguage = shown.isEmpty || known.contains { $0.showing != .never }
    }

    /// Makes a change that leaves waiting messages of other languages alone.
    init(_ status: MessageStatus, of known: [KnownStory], by voice: Voice, else name: String) {
        self.init(status, of: known, else: name)
        language = voice.name
        for story in known {
            guard let row = story.row, let message = story.unsent, message.speaks(beside: voice) else { continue }
            parted[row] = message
        }
        unsent.removeAll { parted[$0] != nil }
    }
}
