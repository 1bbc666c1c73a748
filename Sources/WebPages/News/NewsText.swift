package import HubProtocol
internal import Markup
internal import NetworkAddresses

/// The content of a message as everybody may read it: plain text and web addresses, all of bounded length.
package struct NewsText: Sendable, Equatable {
    /// Characters.
    ///
    /// Above what our publisher sends, and below what our own reader keeps of a title.
    package static let maximumTitle = 500
    /// Characters; what our own reader keeps of a text.
    package static let maximumText = 4_000
    /// Characters of the names of people and outlets.
    package static let maximumName = 200

    /// One line; empty only for a message that says nothing but that others no longer hold.
    package let title: String
    package let text: String?
    /// The story's page.
    package let link: String?
    package let image: String?
    /// The writer, else the outlet.
    package let author: String?
    package let category: String?
    /// The language of title and text, where the message says it.
    package let language: LanguageName?

    /// Reads the texts in a language; a message without any in that language has an empty title.
    ///
    /// Without a language it reads the main ones, else those of the first language by name.
    init(_ properties: MessageProperties, in chosen: LanguageName? = nil) {
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
        self.language = language
        title = heading ?? PlainText.clean(rest ?? "", limit: Self.maximumTitle)
        text = body == title ? nil : body
        link = language.flatMap { address($0.linkProperty) } ?? address(.link)
        image = address(.image)
        author = plain(.author, Self.maximumName) ?? plain(.feed, Self.maximumName)
        category = plain(.category, Self.maximumName)
    }

    /// The first language by name, for a message that has no text outside of its languages.
    private static func language(of properties: MessageProperties) -> LanguageName? {
        properties.names.lazy.compactMap { $0.language(of: .news) ?? $0.language(of: .title) }
            .compactMap { try? LanguageName($0) }.first
    }
}
