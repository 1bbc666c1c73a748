package import HubProtocol

/// One category and the feeds that feed it: one file of `feeds/`.
package struct FeedList: Sendable {
    /// The tutorial's own sentence; `$(title)` and its like are filled in for each entry.
    package static let standardTemplate = "Breaking $(category) News : $(title)"

    /// Path of the file it came from, for messages to people.
    package let file: String
    /// The category under which agents ask for it.
    package let category: Tag
    /// The template of `messageParam`.
    package let template: InlineTemplate
    /// The languages of its feeds, for recipients whose template names one (protocol §10).
    package var localization = Localization()
    package var feeds: [FeedSource]

    /// The template of the text in a language; `nil` is the main one.
    package func template(in language: LanguageName?) -> InlineTemplate {
        language.flatMap { localization.templates[$0] } ?? template
    }
}

/// One feed of a list.
package struct FeedSource: Sendable, Hashable {
    package let address: FeedAddress
    /// `nil` when the list names none: then ``PollInterval/standard``.
    ///
    /// An interval that the feed itself asks for counts where it is longer (``PollSchedule``).
    package let interval: PollInterval?
    /// True if this very address may be private or a file; never extends to where the feed redirects.
    package let isLocal: Bool
    /// Shown instead of the feed's own title.
    package let title: String?
    /// Line in the list's file.
    package let line: Int?
    /// True if the publisher agreed to be asked as often as the list says, whatever its feed and server ask for.
    package var isByAgreement = false
    package var rules = FeedRules()
    /// The language of its entries; `nil` for its list's main one.
    package var language: LanguageName?
}
