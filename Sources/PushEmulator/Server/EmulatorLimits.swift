/// Bounds of the emulator's server.
package struct EmulatorLimits: Sendable {
    /// Concurrent connections; further ones are closed.
    package var connections = 1_000
    /// Concurrent streams of one HTTP/2 connection, as announced to clients.
    ///
    /// Apple's servers allow about 1,000.
    package var streams = 1_000
    /// Bytes of a body to keep; each service refuses far shorter bodies.
    ///
    /// The rest is read and discarded.
    package var bodyBytes = 64 << 10
    /// Bytes of a refused body after which the request is ended.
    package var discardedBytes = 4 << 20
    /// Longest TLS handshake.
    package var handshake = Duration.seconds(10)
    /// Longest time from a request's head to its end.
    package var request = Duration.seconds(15)
    /// Longest silence of a connection.
    package var idle = Duration.seconds(600)
    /// Time that open requests have after a GOAWAY.
    package var farewell = Duration.seconds(1)
    package var inbox = InboxLimits()

    package init() {}
}

/// Bounds of the inbox; the oldest deliveries are dropped when there are more.
package struct InboxLimits: Sendable {
    package var deliveriesPerDevice = 100
    package var deliveries = 10_000
    /// Bytes of bodies and headers.
    package var bytes = 32 << 20
}
