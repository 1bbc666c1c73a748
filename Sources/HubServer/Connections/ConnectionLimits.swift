import Glibc

/// How long clients may take, and how many connections they may have.
package struct ConnectionLimits: Sendable {
    /// From the connect, or from the end of the TLS handshake, to the end of the first request's head.
    package var head = Duration.seconds(20)
    /// For a TLS handshake: two round trips, and the time that a slow device needs to compute.
    package var handshake = Duration.seconds(15)
    /// Without a request, between two requests, and within the head of a later one.
    package var idle = Duration.seconds(120)
    /// From the hub's word that a connection of HTTP/2 will end to its end.
    package var farewell = Duration.seconds(10)
    /// What every body may take, however slow.
    package var bodyGrace = Duration.seconds(20)
    /// Bytes of a body a second, on average, once ``bodyGrace`` has passed.
    package var bodyRate = 1_024
    /// How long a client may take nothing of an answer that waits for it.
    package var stall = Duration.seconds(60)
    /// Connections that have not brought a request with a valid token.
    package var unproven = 4_096
    /// Those of them from one address.
    package var unprovenPerAddress = 1_024
    /// How long such a connection is sure of its place.
    package var unprovenGrace = Duration.seconds(5)
    /// All connections.
    package var open = ConnectionLimits.files
    /// All connections from one address.
    package var openPerAddress = ConnectionLimits.files / 2

    package init() {}

    /// As many as the process may have files open, less those that the hub opens itself.
    private static let files: Int = {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        return max(Int(clamping: limit.rlim_cur) - ownFiles, 64)
    }()

    /// Databases with their logs, certificates, files of jobs, event loops.
    private static let ownFiles = 256
}
