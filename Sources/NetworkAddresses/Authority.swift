/// A host and an optional port, as in a `Host` header or a URL.
package struct Authority: Sendable, Equatable, CustomStringConvertible {
    /// Spelled as received: one client compares the hub's addresses with its own, character by character.
    private let host: String
    private let port: Int?

    /// The name or address without the port.
    package var hostName: HostName? { HostName(host) }

    /// The authority as in an address with `https`: the host in its usual spelling, without the port that is implied.
    package var normalizedForHTTPS: Authority {
        Authority(host: hostName?.urlHost ?? host, port: port == 443 ? nil : port)
    }

    /// The same port at another host.
    package func at(_ host: HostName) -> Authority { Authority(host: host.urlHost, port: port) }

    /// Parses exactly a host and an optional port, so that no header adds anything else to an address; `nil` for any
    /// other text.
    package init?(_ text: some StringProtocol) {
        let end = text.hasPrefix("[") ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
        let host = text[..<(end ?? text.endIndex)]
        let rest = text[host.endIndex...]
        guard HostName(host) != nil else { return nil }
        self.host = String(host)
        if rest.isEmpty {
            port = nil
        } else {
            guard rest.hasPrefix(":"), let port = Self.port(rest.dropFirst()) else { return nil }
            self.port = port
        }
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

    package static func port(_ text: some StringProtocol) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let port = Int(text),
            (1...65_535).contains(port)
        else { return nil }
        return port
    }

    package var description: String { port.map { "\(host):\($0)" } ?? host }
}
