/// The address of a server of a replicated log: `nats://host:4222`, or `tls://host:4222` for a connection with TLS.
package struct LogServer: Sendable, Hashable, CustomStringConvertible {
    private static let standardPort = 4_222

    package private(set) var usesTLS: Bool
    package let host: HostName
    package let port: UInt16

    /// - Parameter text: An address without user name, password and path; IPv6 needs brackets only before a port.
    package init?(_ text: some StringProtocol) {
        guard let parts = URLParts(text), ["nats", "tls"].contains(parts.scheme), parts.rest.isEmpty else { return nil }
        let whole = HostName(parts.authority)
        let server = HostAndPort(parts.authority)
        guard let host = whole ?? HostName(server.host), let port = whole == nil ? server.port : Self.standardPort
        else {
            return nil
        }
        (usesTLS, self.host, self.port) = (parts.scheme == "tls", host, UInt16(port))
    }

    package var description: String { "\(usesTLS ? "tls" : "nats")://\(host.urlHost):\(port)" }

    /// The same server, with TLS.
    package var withTLS: LogServer {
        var server = self
        server.usesTLS = true
        return server
    }
}
