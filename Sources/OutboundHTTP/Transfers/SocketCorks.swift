import CCurl
import Glibc

/// Holds back the bytes that libcurl writes until it has written all it can.
///
/// libcurl writes each HTTP/2 frame separately, and the kernel would send each in a packet of its own, which costs 30 %
/// of the rate.
///
/// Confined to the loop's thread; outlives the handles that it watches. Source: tcp(7), `TCP_CORK`.
final class SocketCorks {
    /// With more sockets, the two calls for each cost more than they save.
    private static let maximum = 16

    /// Has the sockets that are watched.
    let live = LiveConnections()
    /// False if bytes are not held back.
    private let isOn: Bool
    /// Sockets that ``uncork()`` must release, even if others were opened since.
    private var corked: Set<curl_socket_t> = []

    init(isOn: Bool = true) { self.isOn = isOn }

    /// Watches the sockets that a handle opens and closes.
    func watch(_ easy: UnsafeMutableRawPointer) -> CURLcode {
        ccurl_set_socket_watch(easy, Unmanaged.passUnretained(self).toOpaque(), socketOpened, socketClosed)
    }

    func cork() {
        guard isOn, live.sockets.count <= Self.maximum else { return }
        corked = live.sockets
        for socket in corked { LiveConnections.set(CInt(IPPROTO_TCP), TCP_CORK, 1, socket) }
    }

    func uncork() {
        for socket in corked { LiveConnections.set(CInt(IPPROTO_TCP), TCP_CORK, 0, socket) }
        corked = []
    }

    func noteOpened(_ socket: curl_socket_t) { live.sockets.insert(socket) }

    /// Forgets a closed socket, since its descriptor may soon belong to another one.
    func noteClosed(_ socket: curl_socket_t) {
        live.sockets.remove(socket)
        corked.remove(socket)
    }
}

private func corks(_ context: UnsafeMutableRawPointer?) -> SocketCorks? {
    context.map { Unmanaged<SocketCorks>.fromOpaque($0).takeUnretainedValue() }
}

private func socketOpened(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _: curlsocktype) -> Int32 {
    corks(context)?.noteOpened(socket)
    return Int32(CURL_SOCKOPT_OK)
}

private func socketClosed(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    corks(context)?.noteClosed(socket)
    return Glibc.close(socket)
}
