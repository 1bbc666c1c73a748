internal import Formats
package import HubProtocol
internal import Markup
internal import NetworkAddresses

/// The content of a message for public display: plain text and web addresses of limited length.
package struct NewsText: Sendable, Equatable {
    /// The longest title, in characters.
    ///
    /// It is longer than the titles of our publisher, and shorter than those that our feed reader keeps.
    package static let maximumTitle = 500
    /// The longest text, in characters, which is also what our feed reader keeps.
    package static let maximumText = 4_000
    /// The longest name of a person or outlet, in characters.
    package static let maximumName = 200

    /// The title, one line; empty only for a message that merely withdraws other messages.
    package let title: String
    package let text: String?
    /// The address of the story's page.
    package let link: String?
    package let image: String?
    /// The writer, or else the outlet.
    package let author: String?
    package let category: String?
    /// The language of title and text, if the message names it.
    package let language: LanguageName?

    /// Reads the text in a language; the title is empty if the message has no text in that language.
    ///
    /// Without a language it reads the main text, or else the text of the first language by name.
    package init(_ properties: MessageProperties, in chosen: LanguageName? = nil) {
        func plain(_ name: MessageProperty, _ limit: Int) -> String? {
            let text = properties[name].map { PlainText.clean($0, limit: limit) } ?? ""
            return text.isEmpty ? nil : text
        }
        func address(_ name: MessageProperty) -> String? { properties[name].flatMap { WebLink($0)?.text } }

        let message = plain(.messageParam, Self.maximumText) ?? plain(.message, Self.maximumText)
        let summary = plain(.summary, Self.maximumText)
        let named = plain(.title, Self.maximumTitle)
        let language = chosen ?? (named ?? message ?? summary == nil ? Self.language(of: properties) : nil)
        let body = language.map { plain($0.newsProperty, Self.maximumText) } ?? summary ?? message
        let heading = language.map { plain($0.titleProperty, Self.maximumTitle) } ?? named
        let rest = chosen == nil ? message ?? body : body
        let category = plain(.category, Self.maximumName)
        self.language = language
        title = heading ?? PlainText.clean(rest ?? "", limit: Self.maximumTitle)
        text = body == title || summary == nil && Self.repeats(title, body, category: category) ? nil : body
        link = language.flatMap { address($0.linkProperty) } ?? address(.link)
        image = address(.image)
        author = plain(.author, Self.maximumName) ?? plain(.feed, Self.maximumName)
        self.category = category
    }

    /// The signs that separate an introduction from the title.
    private static let separators = ":!?.|–—-"
    /// The largest number of words of an introduction.
    private static let maximumIntroduction = 4

    /// True if a text is the title after an introduction that names the category and adds nothing else, as feed lists'
    /// templates write it: "Breaking Sports News : Extra time in the final".
    private static func repeats(_ title: String, _ text: String?, category: String?) -> Bool {
        guard let text, let category, text.hasSuffix(title) else { return false }
        let start = text.dropLast(title.count).trimming(\.isWhitespace)
        guard let mark = start.last, separators.contains(mark) else { return false }
        let introduction = start.dropLast()
        guard !introduction.contains(where: { separators.contains($0) && !category.contains($0) }) else { return false }
        func words(_ text: some StringProtocol) -> [String] {
            text.lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
        }
        let (given, named) = (words(introduction), words(category))
        return given.count <= max(maximumIntroduction, named.count) && given.contains(named)
    }

    /// The first language by name, for a message that has text only in named languages.
    private static func language(of properties: MessageProperties) -> LanguageName? {
        properties.names.lazy.compactMap { $0.language(of: .news) ?? $0.language(of: .title) }
            .compactMap { try? LanguageName($0) }.first
    }
}
