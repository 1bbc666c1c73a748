package import HubProtocol

/// The way in which stories that feeds of one category tell in several languages are known to be one.
///
/// Never by their titles.
package enum TranslationMatch: String, Sendable, CaseIterable {
    /// Their addresses, but for a mark of the language in them (``EntryKey/init(translatedLink:)``).
    case link
    /// The identifier that the publisher gives the story in all languages.
    case id
}

/// The languages in which a list's feeds tell their stories.
package struct Localization: Sendable {
    /// Languages of one list: each has a text of its own in a message of 4 KB.
    static let maximumLanguages = 10

    /// Spoken by feeds that name none, and by recipients whose template names none.
    package var main: LanguageName?
    /// Those beside ``main``, in the order of the feeds.
    package var others: [LanguageName] = []
    /// Texts that replace the list's.
    package var templates: [LanguageName: InlineTemplate] = [:]
    package var match = TranslationMatch.link
}
