import NetworkAddresses

/// A host and perhaps a port, as they stand in a `Host` header and in addresses.
struct Authority: Sendable, Equatable, CustomStringConvertible {
    /// Kept as it was written: one client compares our addresses with its own, letter by letter.
    private let host: String
    private let port: Int?

    /// - Parameter text: `nil` when it is anything else than a host and a port, so that no header puts more into an address.
    init?(_ text: some StringProtocol) {
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

    /// A port of 0 is one that is not known.
    init(_ host: HostName, port: Int) {
        self.init(host: host.urlHost, port: port == 0 ? nil : port)
    }

    /// The same on a port, unless it has one.
    func on(_ port: Int) -> Authority { self.port == nil ? Authority(host: host, port: port) : self }

    static func port(_ text: some StringProtocol) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let port = Int(text),
            (1...65_535).contains(port)
        else { return nil }
        return port
    }

    var description: String { port.map { "\(host):\($0)" } ?? host }
}
