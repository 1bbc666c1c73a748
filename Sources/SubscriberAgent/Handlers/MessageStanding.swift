package import HubProtocol

/// Where a message stands among those of its story.
package struct MessageStanding: Sendable, Equatable {
    /// Names looked at of those that a message replaces; anybody may have sent it.
    static let maximumReplaced = 16

    /// The name of its story; empty when it has none.
    package let story: String
    /// `nil` for news, and for words of another sender.
    package let status: MessageStatus?
    /// Names of the stories whose messages it takes the place of.
    package let replaces: [String]

    init(story: String = "", status: MessageStatus? = nil, replaces: [String] = []) {
        self.story = story
        self.status = status
        self.replaces = replaces
    }

    /// Reads the members `story`, `status` and `replaces`; one with a status replaces its own story in any case.
    init(body: String) {
        let members = MessageProperty.texts(of: body)
        story = members[.story] ?? ""
        status = members[.status].flatMap(MessageStatus.init)
        var names = (members[.replaces] ?? "").split(separator: " ").prefix(Self.maximumReplaced).map(String.init)
        if status != nil, !story.isEmpty, !names.contains(story) { names.append(story) }
        replaces = names
    }
}
