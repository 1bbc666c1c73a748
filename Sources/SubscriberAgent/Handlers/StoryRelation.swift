package import HubProtocol

/// The relation of a message to others of its story.
package struct StoryRelation: Sendable, Equatable {
    /// Maximum number of replaced stories that are read from a message, which any sender may have made.
    static let maximumReplaced = 16

    /// The name of its story; empty if it has none.
    package private(set) var story = ""
    /// `nil` for news, and for an unknown word.
    package private(set) var status: MessageStatus?
    /// Names of the stories whose messages it replaces.
    package private(set) var replaces: [String] = []
    /// The name of the story's version: messages of several categories that have it say the same; empty for none.
    package private(set) var version = ""

    init() {}

    /// Reads the members `story`, `status` and `replaces`; a message with a status always replaces its own story.
    init(body: String) {
        let members = MessageProperty.texts(of: body)
        story = members[.story] ?? ""
        version = members[.version] ?? ""
        status = members[.status].flatMap(MessageStatus.init)
        replaces = (members[.replaces] ?? "").split(separator: " ").prefix(Self.maximumReplaced).map(String.init)
        if status != nil, !story.isEmpty, !replaces.contains(story) { replaces.append(story) }
    }

    /// True if the sender marked a message as critical.
    static func isUrgent(_ body: String) -> Bool {
        MessageUrgency(word: MessageProperty.texts(of: body)[.urgency] ?? "") == .critical
    }
}
