internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Recognizes stories that other categories have announced, so that their messages have one name.
///
/// Each category announces a story on its own, with its template, filters and hours. People who have chosen several of
/// the categories see it once, because the messages have the same ``MessageProperty/story`` and
/// ``MessageProperty/version``.
struct SharedStories {
    /// Time within which nearly equal titles in two categories are one story, as within a category.
    static let titleWindow: Duration = SameStory.window
    /// Time within which equal links are one story if title or content are equal, too.
    static let linkWindow: Duration = NewsJudge.correctionWindow

    /// A text that nobody outside can guess: a sender who knows a version in advance could suppress its message.
    let secret: String
    let now: Date
    /// Returns a new random text.
    let random: () -> String

    /// Returns the story's name in other categories; `nil` if none of them has it.
    ///
    /// `isTaken` is true for a name that the own category uses already.
    func name(
        of entry: SharedEntry,
        in stories: [StoryElsewhere],
        unless isTaken: (String) throws -> Bool
    ) rethrows -> String? {
        let same = stories.filter { isSame(entry, $0) }.sorted { ($0.announced, $0.name) < ($1.announced, $1.name) }
        return try same.lazy.map(\.name).first { try !isTaken($0) }
    }

    /// Returns the version that a message has.
    ///
    /// A story has one first version and one withdrawal. Corrections and updates in several categories are one version
    /// if they have nearly the same title or the same content, and come soon after one another. `last` is the version
    /// that the own category announced last.
    func version(_ change: StoryChange, of entry: SharedEntry, in stories: [StoryElsewhere], last: String?) -> String {
        switch change.status {
        case nil: return StoryName.of("news", change.name, secret)
        case .withdrawn: return StoryName.of("withdrawn", change.name, secret)
        case .correction, .update: break
        }
        let same = stories.filter { story in
            story.name == change.name && story.last?.status == change.status && story.last?.version != last
                && story.last.map { isWithin(Self.titleWindow, $0.created) } ?? false
                && (story.hasContent(of: entry) || !story.keys.isDisjoint(with: entry.titles))
        }
        let latest = same.compactMap(\.last).max { ($0.created, $0.version) < ($1.created, $1.version) }
        return latest?.version ?? StoryName.of("version", change.name, random())
    }

    private func isSame(_ entry: SharedEntry, _ story: StoryElsewhere) -> Bool {
        guard story.language == entry.language else { return false }
        // An alert's own identifier is in all feeds the same, and nothing else identifies it.
        if entry.isAlert { return isWithin(Self.linkWindow, story.announced) }
        let hasTitle = !story.keys.isDisjoint(with: entry.titles)
        if hasTitle, isWithin(Self.titleWindow, story.announced) { return true }
        guard !story.keys.subtracting(entry.titles).isEmpty else { return false }
        return (hasTitle || story.hasContent(of: entry)) && isWithin(Self.linkWindow, story.announced)
    }

    private func isWithin(_ window: Duration, _ date: Date) -> Bool {
        abs(now.timeIntervalSince(date)) <= window.inSeconds
    }
}

/// An announced entry as other categories recognize it.
struct SharedEntry: Sendable {
    /// As in ``StoryChange/titles``.
    let titles: Set<EntryKey>
    let content: EntryKey?
    var isAlert = false
    /// As in ``OutboxMessage/shares``.
    var language = LanguageShare.main
}

extension SharedEntry {
    init(_ announcement: Announcement) {
        self.init(titles: announcement.change.titles, content: announcement.change.content)
        isAlert = announcement.entry.alert?.reference != nil
        language = announcement.change.language
    }
}

/// A story that another category announced.
struct StoryElsewhere: Sendable, Equatable {
    /// The last message about a story in its category.
    struct LastMessage: Sendable, Equatable {
        let status: MessageStatus?
        let version: String
        let created: Date
    }

    let name: String
    /// The language in which it was announced, as in ``OutboxMessage/shares``.
    let language: String
    /// The keys by which it was found.
    var keys: Set<EntryKey>
    /// When it was announced or last changed.
    var announced: Date
    let content: EntryKey?
    /// `nil` if its row is no longer kept, or is from a version without versions of stories.
    let last: LastMessage?

    func hasContent(of entry: SharedEntry) -> Bool { content != nil && content == entry.content }
}
