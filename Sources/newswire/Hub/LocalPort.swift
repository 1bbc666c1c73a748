import Glibc

/// Ports of this machine.
enum LocalPort {
    /// True if nothing listens on a TCP port of an address of this machine, so that a server can.
    ///
    /// Another program may take the port before the caller does: its server still needs an error for that.
    static func isFree(_ port: Int, on address: String) -> Bool {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, "\(port)", &hints, &found) == 0, let info = found?.pointee else { return false }
        defer { freeaddrinfo(found) }
        let descriptor = socket(info.ai_family, info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), info.ai_protocol)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // As servers do: connections of an earlier one that linger are no obstacle.
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        return bind(descriptor, info.ai_addr, info.ai_addrlen) == 0
    }
}
