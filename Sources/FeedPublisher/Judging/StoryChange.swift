internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The change that an entry makes to its story: in the message, and in the store's memory of the category.
struct StoryChange: Sendable, Equatable {
    /// Names that one message can take the place of: what a body of 4 KB has room for.
    static let maximumReplaced = 16

    /// ``StoryName``.
    var name: String
    /// The keys by which the story is known from now on.
    var keys: [EntryKey] = []
    /// Hash of what is said now.
    var content: EntryKey?
    /// The alert that speaks for the story now.
    var alert: LastAlert?
    var status: MessageStatus?
    /// Names of stories that were shown and whose place the message takes, its own among them.
    var replaces: [String] = []
    /// Names of known stories that are one with this from now on.
    var merges: [String] = []
    /// Rows of these that have not left, and need not any more.
    var unsent: [Int64] = []
    /// Rows of these that speak other languages, too: they stay for those.
    var parted: [Int64: OutboxMessage] = [:]
    /// The language in which it is told, as ``OutboxMessage/shares`` names it.
    var language = LanguageShare.main
    /// True if it counts in all languages of the list; else what was told in others stands.
    var isForAll = false
    /// True if recipients of its own language have been shown anything.
    var isForOwnLanguage = true
    /// The headlines shown to recipients of other languages and withdrawn along, by language.
    var elsewhere: [String: String] = [:]
    /// The time from which the message may leave.
    var notBefore: Date?
    /// The headline that was shown and is withdrawn.
    var headline: String?
}

/// The last alert of a story: a message that comes after it need not be about it.
struct LastAlert: Sendable, Equatable {
    var key: EntryKey
    var sent: Date
}

extension StoryChange {
    /// Makes the change of a message to known stories, which it joins, in the order in which they were announced.
    ///
    /// `status` stays only where something of these was shown: what has not left yet is simply taken out. Where no story is
    /// known, it has the name `name`.
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

    /// A withdrawal by the main language, which counts for what other languages were told under the same names.
    init(withdrawing known: [KnownStory], in others: [KnownStory], else name: String) {
        let others = others.filter { !$0.isWithdrawn }
        self.init(.withdrawn, of: known + others, else: name)
        headline = known.lazy.compactMap(\.headline).first
        isForAll = true
        let shown = others.filter { $0.showing != .never }
        elsewhere = Dictionary(shown.map { ($0.language, $0.headline ?? "") }) { first, _ in first }
        isForOwnLanguage = shown.isEmpty || known.contains { $0.showing != .never }
    }

    /// A change that leaves what waits in other languages where it is.
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
