package import HubProtocol

/// The rule that recognizes a story in several languages, in feeds of one category; titles are never compared.
package enum TranslationMatch: String, Sendable, CaseIterable {
    /// The stories' addresses, apart from a language mark in them (``EntryKey/init(translatedLink:)``).
    case link
    /// The identifier that the publisher gives to the story in all languages.
    case id
}

/// The languages of a list's feeds.
package struct Localization: Sendable {
    /// The largest number of languages of one list: each adds a text to the message, which has at most 4 KB.
    static let maximumLanguages = 10

    /// The language of feeds and recipients' templates that name none.
    package var main: LanguageName?
    /// The languages other than ``main``, in the order of the feeds.
    package var others: [LanguageName] = []
    /// Templates for languages, which replace the list's.
    package var templates: [LanguageName: InlineTemplate] = [:]
    package var match = TranslationMatch.link
}
