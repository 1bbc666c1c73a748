import AppBackend
import FoundationEssentials
import HubProtocol

/// What the server keeps of a reader's browser.
struct ReaderSession: Sendable {
    /// From the last visit on.
    static let lifetime = Duration.seconds(60 * 86_400)
    /// How exactly ``seenAt`` is kept.
    static let precision = Duration.seconds(3_600)

    let id: Int64
    /// The installation that reads for it.
    let installation: InstallationID
    let channel: PushChannelSecret
    var choice: ReaderChoice
    /// The end of the log at the last visit; `nil` before the first.
    var position: StreamPosition?
    var seenAt: Timestamp
    /// The user whose tag the installation may have.
    var user: UserName?
    /// The user's token, as ``TokenSeal`` encrypts it.
    var sealedToken: Data?
    /// False for somebody who is admitted as a user only.
    var isInvited = true
    /// The browser's own installation, for notifications while no page is open.
    var browser: SessionBrowser?
}

/// A browser that has subscribed to Web Push.
struct SessionBrowser: Sendable, Equatable {
    let installation: InstallationID
    let channel: BrowserPushChannel
}

/// What a reader wants to read.
struct ReaderChoice: Sendable, Equatable {
    static let maximumCategories = 50

    var categories: [Tag]
    /// The language that messages are read in; `nil` for the main one of each.
    var language: LanguageName?

    /// The installation that gets it.
    func installation(_ id: InstallationID, channel: PushChannelSecret) -> Installation {
        Installation(
            id: id,
            platform: .stream,
            pushChannel: .handle(channel.text),
            tags: categories,
            templates: [
                AgentTemplate.name: InstallationTemplate(body: language.map(AgentTemplate.body) ?? AgentTemplate.body)
            ]
        )
    }

    /// The installation that the browser's push service delivers to.
    func installation(_ browser: SessionBrowser) -> Installation {
        Installation(
            id: browser.installation,
            platform: .browser,
            pushChannel: .browser(browser.channel),
            tags: categories,
            templates: [
                BrowserTemplate.name: InstallationTemplate(
                    body: language.map(BrowserTemplate.body) ?? BrowserTemplate.body
                )
            ]
        )
    }
}
