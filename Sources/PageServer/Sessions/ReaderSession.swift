import AppBackend
import FoundationEssentials
import HubProtocol

/// The stored session of a reader's browser.
struct ReaderSession: Sendable {
    /// The time from the last visit to the end of the session.
    static let lifetime = Duration.seconds(60 * 86_400)
    /// The precision of ``seenAt``: a visit is recorded once a day.
    static let precision = Duration.seconds(86_400)

    let id: Int64
    /// The installation that receives messages for the session.
    let installation: InstallationID
    let channel: PushChannelSecret
    var choice: ReaderChoice
    /// The end of the log at the last visit, as the browser or else the store has it; `nil` before the first visit.
    var position: StreamPosition?
    /// True if a visit has been recorded.
    var hasReturned = false
    var seenAt: Timestamp
    /// The user whose tag the installation may have.
    var user: UserName?
    /// The user's token, encrypted by ``TokenSeal``.
    var sealedToken: Data?
    /// False if the reader is only admitted as a signed-in user.
    var isInvited = true
    /// The user who was the last one to sign in here, even after signing out.
    var formerUser: UserName?
    /// The id of the browser's own installation, for notifications while no page is open; `nil` before the first
    /// subscription.
    ///
    /// A session keeps it to its end, so that the installation can be removed even after a failure or a simultaneous
    /// request.
    var browserInstallation: InstallationID?
    /// The browser's subscription; `nil` while notifications are off.
    var browser: SessionBrowser?
}

/// A browser that has subscribed to Web Push.
struct SessionBrowser: Sendable, Equatable {
    let installation: InstallationID
    let channel: BrowserPushChannel
}

/// A reader's choice of categories and language.
struct ReaderChoice: Sendable, Equatable {
    static let maximumCategories = 50

    /// The chosen categories; an empty list is not a choice, and pages then show all categories.
    var categories: [Tag]
    /// The language in which messages are shown; `nil` for the main language of each message.
    var language: LanguageName?

    /// The choice with the first of these categories instead of an empty one.
    func orFirst(_ count: Int, of announced: [Tag]) -> ReaderChoice {
        guard categories.isEmpty else { return self }
        return ReaderChoice(categories: Array(announced.prefix(count)), language: language)
    }

    /// The installation that receives the chosen categories.
    func installation(_ id: InstallationID, channel: PushChannelSecret) -> Installation {
        installation(id, .stream, .handle(channel.text), AgentTemplate.name, AgentTemplate.pageBody(in: language))
    }

    /// The installation that the browser's push service delivers to.
    func installation(_ browser: SessionBrowser) -> Installation {
        let body = language.map(BrowserTemplate.body) ?? BrowserTemplate.body
        return installation(browser.installation, .browser, .browser(browser.channel), BrowserTemplate.name, body)
    }

    private func installation(
        _ id: InstallationID,
        _ platform: Platform,
        _ channel: PushChannel,
        _ template: String,
        _ body: String
    ) -> Installation {
        Installation(
            id: id,
            platform: platform,
            pushChannel: channel,
            tags: categories,
            templates: [template: InstallationTemplate(body: body)]
        )
    }
}
