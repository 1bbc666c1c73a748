/// The data of an `event: gap`: what span of the stream the reader cannot be given.
package struct StreamGap: Sendable, Equatable, Codable {
    /// The cursor that could not be honoured, as the reader sent it.
    package let after: String?
    /// The first sequence that the stream can still give.
    package let resumesAt: Int64
    package let reason: String

    package init(after: String?, resumesAt: Int64, reason: String) {
        self.after = after
        self.resumesAt = resumesAt
        self.reason = reason
    }
}

/// Names of the events of a stream that are not messages; a message has none.
package enum StreamEventName {
    /// Something is missing from here on; the data is a ``StreamGap``.
    package static let gap = "gap"
    /// A newer stream of the same installation took over: do not reconnect.
    package static let replaced = "replaced"
    /// The rule or the installation is gone: do not reconnect with what you have.
    package static let revoked = "revoked"
}
