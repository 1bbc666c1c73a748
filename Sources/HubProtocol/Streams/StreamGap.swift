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
    /// A heartbeat, for clients that have asked for it as an event: see ``StreamHeartbeat``.
    package static let heartbeat = "heartbeat"
    /// The rule or the installation is gone: do not reconnect with what you have.
    package static let revoked = "revoked"
}

/// The form of a stream's heartbeats, in the query of the stream's address.
///
/// An `EventSource` of a browser (WHATWG HTML §9.2) hides blocks without data from the page's script.
package enum StreamHeartbeat {
    package static let parameter = "heartbeat"
    /// The value for ``StreamEventName/heartbeat`` events.
    package static let event = "event"

    /// True if a query asks for events.
    ///
    /// - Parameter value: The parameter's value; `nil` without the parameter.
    /// - Returns: False without the parameter.
    /// - Throws: ``ProtocolError`` 400 for any other value.
    package static func isEvent(_ value: String?) throws(ProtocolError) -> Bool {
        guard let value else { return false }
        guard value == event else {
            throw .badRequest(
                "'\(value.excerpt)' is not a valid form of heartbeats: '\(parameter)' can only be '\(event)'."
            )
        }
        return true
    }
}
