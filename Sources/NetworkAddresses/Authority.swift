/// A host and an optional port, as in a `Host` header or a URL.
package struct Authority: Sendable, Equatable, CustomStringConvertible {
    /// Spelled as received: one client compares the hub's addresses with its own, character by character.
    private let host: String
    private let port: Int?

    /// The name or address without the port.
    package var hostName: HostName? { HostName(host) }

    /// The authority as in an address with `https`: the host in its usual spelling, without the port that is implied.
    package var normalizedForHTTPS: Authority {
        Authority(host: hostName?.urlHost ?? host, port: port == WebScheme.https.port ? nil : port)
    }

    /// The same port at another host.
    package func at(_ host: HostName) -> Authority { Authority(host: host.urlHost, port: port) }

    /// Parses exactly a host and an optional port, so that no header adds anything else to an address; `nil` for any
    /// other text.
    package init?(_ text: some StringProtocol) {
        let parts = HostAndPort(text)
        guard HostName(parts.host) != nil, parts.isValid else { return nil }
        self.init(host: String(parts.host), port: parts.port)
    }

    private init(host: String, port: Int?) {
        self.host = host
        self.port = port
    }

    /// Creates an authority; a port of 0 means that it is unknown.
    package init(_ host: HostName, port: Int) {
        self.init(host: host.urlHost, port: port == 0 ? nil : port)
    }

    /// The authority with a port, unless it already has one.
    package func on(_ port: Int) -> Authority { self.port == nil ? Authority(host: host, port: port) : self }

    package var description: String { port.map { "\(host):\($0)" } ?? host }
}
