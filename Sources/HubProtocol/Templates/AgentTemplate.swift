import Formats

/// The template that a subscriber agent registers by default.
package enum AgentTemplate {
    package static let name = "newswire"

    /// Members as in the native `stream` format, so that both kinds of message read alike (protocol §11.4).
    package static let body = object(texts)

    private static let texts: [(member: MessageProperty, property: MessageProperty)] = [
        (.title, .title), (.message, .messageParam), (.link, .link),
    ]

    /// The same members, with title, text and page in one language: a message that lacks it renders as nothing.
    ///
    /// The page of a translation is added to `link`, the only address that other senders give.
    package static func body(in language: LanguageName) -> String { object(texts(in: language)) }

    private static func texts(
        in language: LanguageName
    ) -> [(member: MessageProperty, property: MessageProperty)] {
        [
            (.title, language.titleProperty), (.message, language.newsProperty), (.link, .link),
            (.localizedLink, language.linkProperty),
        ]
    }

    /// The template of a reader's open page, which also shows the source; `language` is `nil` for the main texts.
    package static func pageBody(in language: LanguageName?) -> String {
        object(language.map(texts) ?? texts, more: [.author, .feed])
    }

    /// Members with the properties that they show, and the members that have the name of their property.
    private static func object(
        _ texts: [(member: MessageProperty, property: MessageProperty)],
        more: [MessageProperty] = []
    ) -> String {
        let others: [MessageProperty] =
            [.category, .image, .secureID, .urgency, .story, .status, .replaces, .version] + more
        let members = texts + others.map { ($0, $0) }
        return JSONText(members: members.map { ("\($0.member)", JSONText("$(\($0.property))")) }).text
    }
}
