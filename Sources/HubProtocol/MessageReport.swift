/// What became of a message: the answer of our own route `GET /{hub}/deliveries/{message}` (design §6).
///
/// Instants are ISO 8601 in UTC. Positions are those of the hub's log.
package struct MessageReport: Sendable, Equatable, Codable {
    package let id: MessageID
    package let acceptedAt: String
    /// Until then it is owed.
    package let expiresAt: String
    package let position: Int64
    /// The tag expression as it was sent; absent for a broadcast.
    package let tags: String?
    package let state: MessageState
    /// How many installations of each platform it matched when it was accepted; absent when the hub did not count yet.
    package let matched: [String: Int]?
    package let streams: StreamOutcomes
    /// Present when it was asked for.
    package var device: DeviceReport?

    package init(
        id: MessageID,
        acceptedAt: String,
        expiresAt: String,
        position: Int64,
        tags: String?,
        state: MessageState,
        matched: [String: Int]?,
        streams: StreamOutcomes
    ) {
        self.id = id
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
        self.position = position
        self.tags = tags
        self.state = state
        self.matched = matched
        self.streams = streams
    }
}

/// The newest messages: the answer of `GET /{hub}/deliveries`.
package struct MessageReports: Sendable, Equatable, Codable {
    /// Newest first.
    package let messages: [MessageReport]

    package init(messages: [MessageReport]) { self.messages = messages }
}

/// What became of a message at the `stream` installations that it matched.
package struct StreamOutcomes: Sendable, Equatable, Codable {
    /// Those that are still registered; each of them is written, owed, expired or too large.
    package var matched = 0
    /// The stream was written everything up to the message, or beyond.
    package var written = 0
    /// Of those written: came back with a cursor at the message or beyond, which proves that it arrived.
    package var resumedPast = 0
    /// Waits for the device.
    package var owed = 0
    /// Its time ran out before it was written.
    package var expired = 0
    /// Its templates made too much of it, so that a gap takes its place; absent for none.
    package var tooLarge: Int?
    /// Removed since; what became of it there is not known.
    package var gone = 0

    package init() {}
}
