/// The data of an `event: gap`: the span of the stream that the reader cannot get.
package struct StreamGap: Sendable, Equatable, Codable {
    /// The cursor that could not be honoured, as the reader sent it.
    package let after: String?
    /// The first sequence that the stream can still deliver.
    package let resumesAt: LogSequence
    package let reason: String
    /// The name of a loss whose place the hub knows, the same each time the loss is announced; `nil` for other gaps.
    ///
    /// A hub that was restored from an older copy cannot say which messages it lost.
    package let loss: String?

    package init(after: String?, resumesAt: LogSequence, reason: String, loss: String? = nil) {
        self.after = after
        self.resumesAt = resumesAt
        self.reason = reason
        self.loss = loss
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
