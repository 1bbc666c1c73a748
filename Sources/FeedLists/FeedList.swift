package import HubProtocol

/// One category and its feeds: one file of `feeds/`.
package struct FeedList: Sendable {
    /// The tutorial's text; `$(title)` and the other placeholders are filled in for each entry.
    package static let standardTemplate = "Breaking $(category) News : $(title)"

    /// The path of its file, for messages to people.
    package let file: String
    /// The category that agents subscribe to.
    package let category: Tag
    /// Properties of the messages of feeds, which templates can name; those of languages are not among them.
    package static let templateProperties: [MessageProperty] = [
        .title, .summary, .link, .category, .feed, .alsoFrom, .author, .published, .image, .urgency, .story, .status,
        .replaces, .version, .messageParam,
    ]

    /// The template of `messageParam`.
    package let template: InlineTemplate
    /// The languages of its feeds, for recipients whose template names one (protocol §10).
    package var localization = Localization()
    package var feeds: [FeedSource]

    /// The template of the text in a language; `nil` is the main language.
    package func template(in language: LanguageName?) -> InlineTemplate {
        language.flatMap { localization.templates[$0] } ?? template
    }
}

/// One feed of a list.
package struct FeedSource: Sendable, Hashable {
    package let address: FeedAddress
    /// The interval; `nil` when the list sets none, which means ``PollInterval/standard``.
    ///
    /// A longer interval that the feed itself asks for is used instead (``PollSchedule``).
    package var interval: PollInterval?
    /// True if this address may be private or a file; its redirects may lead to other ports of the same host.
    package let isLocal: Bool
    /// The title that replaces the feed's own.
    package let title: String?
    /// The line in the list's file.
    package let line: Int?
    /// True if the publisher has agreed to the list's interval, which then overrides the feed's and the server's
    /// requests.
    package var isByAgreement = false
    package var rules = FeedRules()
    package var access = FeedAccess()
    /// The language of its entries; `nil` for the list's main language.
    package var language: LanguageName?
}
