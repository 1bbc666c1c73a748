import Glibc

/// Time limits for clients, and limits on the number of connections.
package struct ConnectionLimits: Sendable {
    /// Time from the connect, or from the end of the TLS handshake, to the end of the first request's head.
    package var head = Duration.seconds(20)
    /// Time for a TLS handshake: two round trips, and the time that a slow device needs to compute.
    package var handshake = Duration.seconds(15)
    /// Time without a request, between two requests, and within the head of a later request.
    package var idle = Duration.seconds(120)
    /// Time from the announcement that an HTTP/2 connection will end to its end.
    package var farewell = Duration.seconds(10)
    /// Time that every body may take, however slow.
    package var bodyGrace = Duration.seconds(20)
    /// Minimum average rate in bytes per second once ``bodyGrace`` has passed.
    package var bodyRate = 1_024
    /// Time for which a client may read nothing of a waiting response.
    package var stall = Duration.seconds(60)
    /// Maximum number of connections that have not sent a request with a valid token.
    package var unproven = 3_072
    /// Maximum number of further ones from networks that have sent one before.
    package var unprovenOfKnown = 1_024
    /// Time for which such a connection cannot be displaced by one of its own group.
    package var unprovenGrace = Duration.seconds(5)
    /// Time for which such a connection cannot be displaced by one of a group with as many: otherwise a crowd that
    /// arrives at once would displace each other before their tokens have come.
    package var unprovenGraceOfOthers = Duration.seconds(1)
    /// Maximum number of open connections.
    package var open = ConnectionLimits.files

    package init() {}

    /// The maximum number of open files of the process, less those that the hub opens itself.
    private static let files: Int = {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        return max(Int(clamping: limit.rlim_cur) - ownFiles, 64)
    }()

    /// Databases with their logs, certificates, files of jobs, event loops.
    private static let ownFiles = 256
}
