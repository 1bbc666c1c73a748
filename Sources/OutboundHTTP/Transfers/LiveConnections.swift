import Glibc
import NetworkAddresses

/// Finds connections that have died without a word, so that no further request is sent on them.
///
/// The kernel notices a peer whose packets are lost, but not one that acknowledges what it never reads. libcurl keeps a
/// connection over HTTP/2 when a request on it times out, and gives it the next ones.
///
/// Confined to the loop's thread. Source: tcp(7), `TCP_KEEPIDLE`, `TCP_USER_TIMEOUT`; RFC 5482.
final class LiveConnections {
    /// A connection as libcurl names it: by its own end, since this machine uses a port once at a time for a remote end.
    struct Name: Hashable {
        let remote: String
        let remotePort: Int32
        let localPort: Int32
    }

    /// Arrivals to keep before old ones are forgotten.
    private static let maximum = 1_024
    /// Time after which an arrival says nothing any more: no request takes as long.
    private static let memory = Duration.seconds(600)

    private var arrivals: [Name: ContinuousClock.Instant] = [:]
    /// Open sockets.
    var sockets: Set<CInt> = []

    /// Lets the kernel end a connection whose peer acknowledges nothing for a time, at least five seconds.
    static func watch(_ socket: CInt, patience: Duration) {
        let seconds = CInt(clamping: patience.components.seconds)
        let interval = max(1, seconds / 5)
        set(SOL_SOCKET, SO_KEEPALIVE, 1, socket)
        set(CInt(IPPROTO_TCP), TCP_KEEPIDLE, interval * 2, socket)
        set(CInt(IPPROTO_TCP), TCP_KEEPINTVL, interval, socket)
        // Also ends an idle connection, whose unanswered questions Linux then does not count. Unacknowledged data would
        // otherwise be sent again for a quarter of an hour, and nobody asks meanwhile.
        set(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, seconds * 1_000, socket)
    }

    static func set(_ level: CInt, _ name: CInt, _ value: CInt, _ socket: CInt) {
        withUnsafePointer(to: value) { value in
            _ = setsockopt(socket, level, name, value, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    func noteArrival(_ name: Name) {
        let now = ContinuousClock.now
        if arrivals.count >= Self.maximum, arrivals[name] == nil {
            arrivals = arrivals.filter { now - $0.value < Self.memory }
        }
        arrivals[name] = now
    }

    /// Ends the connection of a request that has timed out, if nothing has arrived on it since the request began.
    ///
    /// libcurl notices the end, and closes the connection.
    func noteTimeout(_ name: Name, begunAt: ContinuousClock.Instant) {
        if let arrival = arrivals[name], arrival >= begunAt { return }
        arrivals[name] = nil
        for socket in sockets where Self.isNamed(socket, name) { shutdown(socket, CInt(SHUT_RDWR)) }
    }

    private static func isNamed(_ socket: CInt, _ name: Name) -> Bool {
        port(socket, getsockname) == name.localPort && port(socket, getpeername) == name.remotePort
    }

    private static func port(
        _ socket: CInt,
        _ read: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> Int32? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard read(socket, address, &length) == 0 else { return nil }
                // `sin_port` and `sin6_port` are at the same place, in network order.
                return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    Int32(UInt16(bigEndian: $0.pointee.sin_port))
                }
            }
        }
    }
}
