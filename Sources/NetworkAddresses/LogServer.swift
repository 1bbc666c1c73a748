/// The address of a server of a replicated log: `nats://host:4222`, or `tls://host:4222` for a connection with TLS.
package struct LogServer: Sendable, Hashable, CustomStringConvertible {
    private static let standardPort: UInt16 = 4_222

    package let usesTLS: Bool
    package let host: HostName
    package let port: UInt16

    private init(usesTLS: Bool, host: HostName, port: UInt16) {
        self.usesTLS = usesTLS
        self.host = host
        self.port = port
    }

    /// - Parameter text: An address without user name, password and path.
    package init?(_ text: some StringProtocol) {
        let usesTLS = text.hasPrefix("tls://")
        guard usesTLS || text.hasPrefix("nats://") else { return nil }
        let rest = text.dropFirst(usesTLS ? 6 : 7)
        if let host = HostName(rest) {
            self.init(usesTLS: usesTLS, host: host, port: Self.standardPort)
            return
        }
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]), port > 0,
            let host = HostName(rest[..<colon])
        else { return nil }
        // In IPv6 without brackets, the last group is not a port.
        if case .address(let address) = host, address.bytes.count == 16, !rest.hasPrefix("[") { return nil }
        self.init(usesTLS: usesTLS, host: host, port: port)
    }

    package var description: String { "\(usesTLS ? "tls" : "nats")://\(host.urlHost):\(port)" }
    /// The same server, with TLS.
    package var withTLS: LogServer { LogServer(usesTLS: true, host: host, port: port) }
}
