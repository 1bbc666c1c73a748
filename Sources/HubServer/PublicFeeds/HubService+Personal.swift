package import HubProtocol
import HubRouting
import HubStore
package import WebPages

/// A message to one person.
package struct PersonalMessage: Sendable {
    package enum Content: Sendable {
        case open(Telling)
        /// The id of a secure message, whose text is in the app backend.
        case secure(Int64)
    }

    package let sequence: LogSequence
    /// The time at which the hub accepted it.
    package let at: Timestamp
    package let content: Content
}

extension HubService {
    /// Maximum number of messages that one request reads, in about 6 ms.
    private static let maximumScan = 2_000
    private static let page = 500

    /// The newest messages among the last ``maximumScan`` ones that name a person's tag, newest first.
    ///
    /// The caller has verified that the reader is the person of `tag`, such as `username:alice`. Messages before
    /// `since` may be for a former owner of the name. Throws a `DatabaseError`, or 404 if the hub is gone.
    package func messages(
        to tag: Tag,
        since: Timestamp,
        limit: Int,
        in name: HubName
    ) async throws -> [PersonalMessage] {
        let hub = try directory.hub(named: name.text)
        let (dropped, store) = (hub.status.droppedThrough, hub.store)
        var (messages, through, room): ([PersonalMessage], LogSequence, Int) = ([], hub.status.head, Self.maximumScan)
        while room > 0, messages.count < limit, through > dropped {
            let found = try await store.scanMessages(
                hub: hub.record.id,
                after: dropped,
                through: through,
                limit: min(Self.page, room)
            ) { Self.names(tag, $0) }
            for message in found.messages {
                // The log is in order of time.
                guard message.at >= since else { return Array(messages.prefix(limit)) }
                if let personal = PersonalMessage(message) { messages.append(personal) }
            }
            room -= Self.page
            guard found.count == Self.page, let lowest = found.lowest else { break }
            through = lowest.previous
        }
        return Array(messages.prefix(limit))
    }

    /// True if a device with `tag` as its only tag matches an expression that names it.
    private static func names(_ tag: Tag, _ text: String?) -> Bool {
        guard let text, let expression = try? TagExpression(parsing: text, limits: .stored) else { return false }
        return expression.tags.contains(tag) && expression.matches { $0 == tag }
    }
}

extension PersonalMessage {
    /// `nil` for a message that pages do not show.
    fileprivate init?(_ message: AcceptedMessage) {
        let record = message.logged.record
        guard record.format == .template || record.format == .stream,
            case .success(nil) = Result(catching: { try record.targets }), let id = try? record.id,
            let properties = try? MessageProperties(json: record.body)
        else { return nil }
        if let secureID = properties[.secureID].flatMap({ Int64($0) }) {
            self.init(sequence: message.logged.sequence, at: message.at, content: .secure(secureID))
            return
        }
        let telling = Telling(
            sequence: message.logged.sequence,
            at: message.at,
            message: id.text,
            body: record.body,
            scope: ""
        )
        guard let telling else { return nil }
        self.init(sequence: telling.sequence, at: telling.at, content: .open(telling))
    }
}
