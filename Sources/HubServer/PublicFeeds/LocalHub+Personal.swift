package import HubProtocol
import HubRouting
import HubStore
package import WebPages

/// A message to one person.
package struct PersonalMessage: Sendable {
    package enum Content: Sendable {
        case open(StoryVersion)
        /// The id of a secure message, whose text is in the app backend.
        case secure(Int64)
    }

    package let sequence: LogSequence
    /// The time at which the hub accepted it.
    package let at: Timestamp
    package let content: Content
}

extension LocalHub {
    /// The newest messages that name a person's tag, at most ``PersonalMessages/maximumMessages``, the newest first.
    ///
    /// The caller must have verified that the reader is the person of `tag`, such as `username:alice`. Messages before
    /// `since` may be for a former owner of the name. Throws a `DatabaseError`, or ``HubProtocol/ProtocolError`` 404 if
    /// the hub is gone.
    package func messages(to tag: Tag, since: Timestamp) async throws -> [PersonalMessage] {
        let hub = try hub
        return try await hub.personalMessages.messages(to: tag, since: since, in: hub)
    }
}

extension PersonalMessage {
    /// Approximate size in memory, in bytes.
    var bytes: Int {
        switch content {
        case .open(let storyVersion): storyVersion.bytes
        case .secure: 50
        }
    }

    /// `nil` for a message that a page does not show.
    init?(_ message: AcceptedMessage) {
        let record = message.logged.record
        guard record.format == .template || record.format == .stream,
            case .success(nil) = Result(catching: { try record.targets }), let id = try? record.id,
            let properties = try? MessageProperties(json: record.body)
        else { return nil }
        if let secureID = properties[.secureID].flatMap({ Int64($0) }) {
            self.init(sequence: message.logged.sequence, at: message.at, content: .secure(secureID))
            return
        }
        let storyVersion = StoryVersion(
            sequence: message.logged.sequence,
            at: message.at,
            message: id.text,
            body: record.body,
            scope: ""
        )
        guard let storyVersion else { return nil }
        self.init(sequence: storyVersion.sequence, at: storyVersion.at, content: .open(storyVersion))
    }
}
