import Glibc

/// Reports the state of a `Type=notify` service to systemd.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3).
package struct ServiceNotifier: Sendable {
    private let address: [UInt8]

    /// Interval between calls of ``watchdog()``: half of what systemd allows.
    ///
    /// `nil` if systemd does not watch this process.
    package let watchdogInterval: Duration?

    /// - Returns: `nil` if no service manager expects notifications.
    package init?(environment: [String: String]) {
        guard let path = environment["NOTIFY_SOCKET"], path.hasPrefix("/") || path.hasPrefix("@") else { return nil }
        var address = Array(path.utf8)
        guard (2...Self.maximumAddressLength).contains(address.count), !address.contains(0) else { return nil }
        // An abstract name begins with NUL and has no end but its length.
        if path.hasPrefix("@") { address[0] = 0 }
        self.address = address
        self.watchdogInterval = Self.watchdogInterval(environment)
    }

    /// Reports that the service is ready: the sockets are bound.
    package func ready() { send("READY=1\nSTATUS=") }

    package func stopping() { send("STOPPING=1") }

    package func watchdog() { send("WATCHDOG=1") }

    /// Reports that a start waits for something; from the last call on, it may take 15 minutes more.
    package func waiting(_ text: String) { send("EXTEND_TIMEOUT_USEC=900000000\nSTATUS=\(TerminalText.safe(text))") }

    /// Sends one line for `systemctl status`.
    package func status(_ text: String) { send("STATUS=\(TerminalText.safe(text))") }

    private static func watchdogInterval(_ environment: [String: String]) -> Duration? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), microseconds > 1 else {
            return nil
        }
        if let process = environment["WATCHDOG_PID"], process != "\(getpid())" { return nil }
        return .microseconds(microseconds / 2)
    }

    /// Sends a notification; a service cannot react to one that is lost.
    private func send(_ message: String) {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = Descriptor(Glibc.socket(AF_UNIX, kind, 0))
        guard socket.number >= 0, let pathOffset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) else { return }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: address) }
        let length = socklen_t(pathOffset + address.count)
        let bytes = Array(message.utf8)
        withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                _ = sendto(socket.number, bytes, bytes.count, Int32(MSG_NOSIGNAL), generic, length)
            }
        }
    }

    /// Maximum bytes of a path in `sun_path`, without the NUL at its end.
    private static let maximumAddressLength = 107
}
