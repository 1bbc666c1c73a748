internal import FoundationEssentials
package import HubProtocol

/// A public message, as one version of its story.
package struct StoryVersion: Sendable, Equatable {
    /// The largest number of replaced stories that are read from a message, as in agents.
    private static let maximumReplaced = 16
    /// The longest name of a story or of its version, in bytes.
    private static let maximumStoryName = 200
    /// The largest number of further categories that are kept for a version.
    private static let maximumCategories = 10

    package let sequence: LogSequence
    /// The story's id; if the message names no story, an id of the message alone.
    package let id: StoryID
    /// When the hub accepted the message.
    package let at: Timestamp
    /// When the hub accepted the first known version of the story.
    var first: Timestamp
    let status: MessageStatus?
    /// The stories whose messages this one replaces.
    let replaces: [StoryID]
    let text: NewsText
    /// The title of the version that this one has changed; `nil` for a first version, a withdrawal and an equal title.
    private(set) var formerTitle: String?
    /// The title on the reader's page.
    package var title: String { text.title }
    /// The sender's name for the story; empty without one, and if it is longer than publishers use.
    let storyName: String
    /// The sender's name for this version of the story: messages of other categories that have it say the same; empty
    /// without one.
    let versionName: String
    /// Further categories whose messages have the same version name.
    private(set) var alsoIn: [String] = []
    /// True if the sender marked the message as critical.
    let isUrgent: Bool
    /// The language in which the version counts, for readers who have chosen none; `nil` if it counts in all languages.
    let effectiveLanguage: LanguageName?
    /// The publication time that the sender gave.
    private let dated: Timestamp?

    /// Reads a message of the template format or of agents' native format.
    ///
    /// `message` is its id, and `scope` distinguishes the hub from all others (``StoryID``). The result is `nil` for a
    /// message with nothing to show, for a secure push, whose text only its addressee may read, and for a native
    /// message that is not an object with only text values.
    ///
    /// With a `language`, a message is shown only if it has text in that language. Messages in other languages about
    /// the same story do not count, as in agents; a withdrawal without any text counts for all languages.
    package init?(
        sequence: LogSequence,
        at: Timestamp,
        message: String,
        body: [UInt8],
        scope: String,
        language: LanguageName? = nil
    ) {
        guard let properties = try? MessageProperties(json: body), properties[.secureID]?.isEmpty ?? true else {
            return nil
        }
        let story = properties[.story].flatMap { $0.isEmpty ? nil : $0 }
        let names = (properties[.replaces] ?? "").split(separator: " ").prefix(Self.maximumReplaced)
        let id = story.map { StoryID(.story, $0, scope: scope) } ?? StoryID(.message, message, scope: scope)
        let replaces = names.map { StoryID(.story, String($0), scope: scope) }.filter { $0 != id }
        let status = properties[.status].flatMap { MessageStatus(rawValue: $0) }
        let text = NewsText(properties, in: language)
        // A withdrawal that names no story withdraws nothing: it is news.
        let isWithdrawal = status == .withdrawn && (story != nil || !replaces.isEmpty)
        let isSilent = language == nil || NewsText(properties).title.isEmpty
        guard !text.title.isEmpty || isWithdrawal && isSilent else { return nil }
        (self.sequence, self.id, self.at, first) = (sequence, id, at, at)
        (self.status, self.replaces, self.text) = (isWithdrawal || status != .withdrawn ? status : nil, replaces, text)
        storyName = story.flatMap { $0.utf8.count <= Self.maximumStoryName ? $0 : nil } ?? ""
        let versionName = story.flatMap { _ in properties[.version] } ?? ""
        self.versionName = versionName.utf8.count <= Self.maximumStoryName ? versionName : ""
        // With a language, only text in that language gets this far.
        effectiveLanguage = language == nil ? text.language : nil
        isUrgent = properties.isUrgent
        dated = properties[.published].flatMap(ISODateTime.parse).map { Timestamp($0) }
    }

    var isWithdrawal: Bool { status == .withdrawn }

    /// The address of its picture; `nil` for a story that was withdrawn.
    package var shownImage: String? { isWithdrawal ? nil : text.image }

    /// The approximate size of the version in memory, in bytes.
    package var bytes: Int {
        let parts = [text.title, text.text, text.link, text.image, text.author, text.category, formerTitle] + alsoIn
        return parts.reduce(200) { $0 + ($1?.utf8.count ?? 0) }
    }

    /// True if readers are shown this version of a story instead of `other`.
    ///
    /// A later version replaces only one in its own language. The main language comes first, then languages by name,
    /// as in a message that has several (``NewsText``).
    package func prevails(over other: StoryVersion) -> Bool {
        switch (effectiveLanguage, other.effectiveLanguage) {
        case (nil, nil): isNewer(than: other)
        case (nil, _?): true
        case (_?, nil): false
        case (let mine?, let others?):
            mine == others ? isNewer(than: other) : mine.text.lowercased() < others.text.lowercased()
        }
    }

    /// Returns the version that is shown of two versions of a story, with the time of the first one and, if they say the
    /// same, the categories of both.
    package func merged(with other: StoryVersion) -> StoryVersion {
        let (chosen, rest) = prevails(over: other) ? (self, other) : (other, self)
        var shown = chosen
        if chosen.isRepeated(by: rest) { shown.add(rest) }
        shown.first = min(first, other.first)
        return shown
    }

    /// Keeps the title of an earlier version of the story, if this one has changed it.
    ///
    /// The mark of a correction changes nothing: "Correction: …".
    mutating func note(former: StoryVersion) {
        guard formerTitle == nil, let status, !isWithdrawal, !former.isWithdrawal, former.sequence < sequence,
            !isRepeated(by: former), former.effectiveLanguage == effectiveLanguage, !former.title.isEmpty,
            ![former.title, status.marking(former.title)].contains(title)
        else { return }
        formerTitle = former.title
    }

    /// All categories of the version, its own first.
    var categories: [String] { [text.category].compactMap(\.self) + alsoIn }

    /// The texts in which a search looks.
    var searched: [String?] { [text.title, text.text, text.author] + categories }

    /// True if another category has the same version of the story.
    private func isRepeated(by other: StoryVersion) -> Bool {
        !versionName.isEmpty && versionName == other.versionName && id == other.id && isOfAnotherCategory(than: other)
    }

    /// Adds the category of a message with the same version.
    private mutating func add(_ other: StoryVersion) {
        for category in other.categories {
            guard category != text.category, !alsoIn.contains(category), alsoIn.count < Self.maximumCategories
            else { continue }
            alsoIn.append(category)
        }
    }

    /// True if this version of the story is newer than another one.
    ///
    /// Of one version in several categories the first counts, unless only a later one is urgent. News that one category
    /// has after another category's correction is older than the correction.
    private func isNewer(than other: StoryVersion) -> Bool {
        if isRepeated(by: other) {
            return isUrgent == other.isUrgent ? sequence < other.sequence : isUrgent
        }
        let isNews = (status == nil, other.status == nil)
        if isNews.0 != isNews.1, !versionName.isEmpty, !other.versionName.isEmpty, isOfAnotherCategory(than: other) {
            return other.status == nil
        }
        return sequence > other.sequence
    }

    private func isOfAnotherCategory(than other: StoryVersion) -> Bool {
        text.category != nil && other.text.category != nil
            && text.category?.lowercased() != other.text.category?.lowercased()
    }

    /// The story's publication time; at most the time of its first known version.
    var published: Timestamp { dated.map { min($0, first) } ?? first }
}
