import CCurl
import Glibc

/// Holds back what libcurl writes until it has written all that it can: it writes each frame by itself, and the kernel
/// would send as many packets, at 0.7 of the rate.
///
/// Confined to the loop's thread; outlives the handles that it watches. Source: tcp(7), `TCP_CORK`.
final class SocketCorks {
    /// With more the two calls for each would cost more than they spare.
    private static let maximum = 16

    private var sockets: Set<curl_socket_t> = []

    /// Learns of the sockets that a handle opens and closes.
    func watch(_ easy: UnsafeMutableRawPointer) -> CURLcode {
        ccurl_set_socket_watch(easy, Unmanaged.passUnretained(self).toOpaque(), socketOpened, socketClosed)
    }

    func cork() { set(1) }

    func uncork() { set(0) }

    private func set(_ value: CInt) {
        guard sockets.count <= Self.maximum else { return }
        for socket in sockets {
            withUnsafePointer(to: value) { value in
                _ = setsockopt(socket, CInt(IPPROTO_TCP), TCP_CORK, value, socklen_t(MemoryLayout<CInt>.size))
            }
        }
    }

    fileprivate func open(_ socket: curl_socket_t) { sockets.insert(socket) }

    fileprivate func close(_ socket: curl_socket_t) { sockets.remove(socket) }
}

private func corks(_ context: UnsafeMutableRawPointer?) -> SocketCorks? {
    context.map { Unmanaged<SocketCorks>.fromOpaque($0).takeUnretainedValue() }
}

private func socketOpened(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _: curlsocktype) -> Int32 {
    corks(context)?.open(socket)
    return Int32(CURL_SOCKOPT_OK)
}

private func socketClosed(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    corks(context)?.close(socket)
    return Glibc.close(socket)
}
