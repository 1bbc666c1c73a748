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
}

/// What a reader wants to read.
struct ReaderChoice: Sendable, Equatable {
    static let maximumCategories = 50

    var categories: [Tag]

    /// The installation that gets it.
    func installation(_ id: InstallationID, channel: PushChannelSecret) -> Installation {
        Installation(
            id: id,
            platform: .stream,
            pushChannel: .handle(channel.text),
            tags: categories,
            templates: [AgentTemplate.name: InstallationTemplate(body: AgentTemplate.body)]
        )
    }
}
