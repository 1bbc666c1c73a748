import Formats

/// The name of a property of messages, with the names that publisher, hub and agents share.
///
/// It names a property of a `template` message, and a member of the object that agents get. Senders may use other
/// names: templates can name any.
package struct MessageProperty: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    package static let title: Self = "title"
    /// The text, as senders name it.
    package static let messageParam: Self = "messageParam"
    /// The text, as agents get it.
    package static let message: Self = "message"
    package static let summary: Self = "summary"
    /// The address of the story's page.
    package static let link: Self = "link"
    /// The address of its page in the agent's language.
    package static let localizedLink: Self = "localizedLink"
    package static let image: Self = "image"
    package static let secureID: Self = "secureId"
    package static let category: Self = "category"
    /// The title of the feed.
    package static let feed: Self = "feed"
    /// The titles of other feeds with the same story.
    package static let alsoFrom: Self = "alsoFrom"
    package static let author: Self = "author"
    /// The time at which the entry was published, in ISO 8601.
    package static let published: Self = "published"
    /// A ``MessageUrgency``.
    package static let urgency: Self = "urgency"
    /// The name of the story; later messages of one story replace earlier ones.
    package static let story: Self = "story"
    /// The name of this version of the story: messages of several categories with equal `story` and `version` say the
    /// same.
    package static let version: Self = "version"
    /// A ``MessageStatus``.
    package static let status: Self = "status"
    /// Names of the stories whose messages this one replaces, separated by spaces.
    package static let replaces: Self = "replaces"

    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(stringLiteral name: String) { rawValue = name }

    package var description: String { rawValue }

    /// The members of a JSON object that are texts; empty for anything else.
    package static func texts(of body: String) -> [MessageProperty: String] {
        guard case .object(let members) = try? JSONReader.read(Array(body.utf8)).content else { return [:] }
        let texts = members.compactMap { member in member.value.string.map { (Self(rawValue: member.name), $0) } }
        return Dictionary(texts) { first, _ in first }
    }
}

/// The relation of a message to earlier ones of its story; most are the first and have none.
package enum MessageStatus: String, Sendable, CaseIterable {
    /// Adds to the story, or changes it.
    case update
    /// Corrects an error.
    case correction
    /// Withdraws the story: a retraction, or the end of an alert.
    case withdrawn

    /// The words by which English titles say themselves that they withdraw a story.
    package static let withdrawals = ["retracted", "retraction", "withdrawn", "withdrawal", "cancelled", "canceled"]
    /// The words by which English titles say themselves that they correct a story.
    package static let corrections = ["correction", "corrected"]
    /// The words that may follow one of these: `Retraction note: …`, `Correction to: …`.
    package static let followers = ["note", "notice", "article", "to", "of"]

    /// The title of a notification, which is marked once: a publisher's titles say themselves what they are, and those
    /// that are sent by hand may not.
    ///
    /// A mark is at an end of the title and set off, as in `RETRACTED: …`, `Retraction note: …` or `… (corrected)`. A
    /// correction that is withdrawn gets the mark of its withdrawal as well.
    package func marking(_ title: String) -> String {
        let prefix: String
        let marks: [String]
        switch self {
        case .update: return title
        case .correction: (prefix, marks) = ("Correction: ", Self.withdrawals + Self.corrections)
        case .withdrawn: (prefix, marks) = ("Withdrawn: ", Self.withdrawals)
        }
        let parts = title.replacing(" - ", with: ":").split { ":,|()[]–—".contains($0) }
            .map { $0.lowercased().split(whereSeparator: \.isWhitespace).map(String.init) }
            .filter { !$0.isEmpty }
        let isMarked = [parts.first, parts.last].contains { words in
            guard let words, let mark = words.first, marks.contains(mark) else { return false }
            return words.count == 1 || words.count == 2 && Self.followers.contains(words[1])
        }
        return isMarked ? title : prefix + title
    }
}

/// The urgency of a message.
package enum MessageUrgency: String, Sendable, CaseIterable {
    case low, normal
    /// An alert to be acted upon: on a desktop it stays until it is dismissed.
    case critical

    /// Reads the words that senders use, whatever their case; an unknown word is normal.
    package init(word: String) {
        switch word.lowercased() {
        case "low", "very-low", "0": self = .low
        case "critical", "high", "urgent", "breaking", "2": self = .critical
        default: self = .normal
        }
    }
}

extension MessageProperties {
    /// True for an alert to be acted upon: ``MessageUrgency/critical``.
    package var isUrgent: Bool { self[.urgency].map { MessageUrgency(word: $0) } == .critical }
}
