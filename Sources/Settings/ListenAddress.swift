internal import NetworkAddresses

/// The address at which a server of this machine listens: `127.0.0.1:8789`, `[::1]:8789`, `localhost:0`.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// The host, without brackets.
    package let host: String
    /// The port; 0 picks a free one.
    package let port: Int

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init?(_ text: String) {
        let parts = HostAndPort(text)
        let host = parts.host.hasPrefix("[") ? parts.host.dropFirst().dropLast() : parts.host
        guard !host.isEmpty, host.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"/[]".utf8.contains($0) }),
            let port = parts.port(from: 0)
        else { return nil }
        self.init(host: String(host), port: port)
    }
}

extension SettingFormat<ListenAddress> {
    static let listenAddress = SettingFormat(
        "address and port",
        show: { "\($0)" },
        otherwise: "must be an address of this machine and a port, such as 127.0.0.1:8789"
    ) { ListenAddress($0) }
}

extension SettingFormat<Authority> {
    /// An address of a server, of which only host and port can be chosen.
    static let publicAddress = SettingFormat(
        "https URL",
        range: "without a path",
        show: { "https://\($0)" }
    ) { text throws(SettingValueError) in
        let example = "such as https://news.example.org or https://news.example.org:8443"
        let scheme = "https://"
        guard text.lowercased().hasPrefix(scheme) else {
            throw SettingValueError("must be an address that begins with 'https://', \(example)")
        }
        var rest = text.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains("/") else {
            throw SettingValueError("must have no path, because SDKs expect the hub's name there: \(example)")
        }
        guard let authority = Authority(rest), let host = authority.hostName, !["0.0.0.0", "::"].contains("\(host)")
        else {
            throw SettingValueError("must be a host name or an address, and perhaps a port, \(example)")
        }
        return authority.normalizedForHTTPS
    }
}

extension SettingFormat<String> {
    /// The address at which WebSub hubs reach us.
    ///
    /// It contains the secret of a subscription, so it needs TLS unless it is on this machine.
    static let callback = SettingFormat(
        "https URL",
        show: { $0 },
        otherwise: "must be an address such as https://news.example.org/websub/, without '?', '#' and '@'"
    ) { text in
        guard isSecureURL(text, without: "?#@") else { return nil }
        return text.hasSuffix("/") ? text : text + "/"
    }

    /// True for a printable URL with https, or with http on this machine, without some characters.
    static func isSecureURL(_ text: String, without refused: String) -> Bool {
        let isOwn = ["http://127.0.0.1", "http://localhost", "http://[::1]"].contains { own in
            text.hasPrefix(own) && [nil, ":", "/"].contains(text.dropFirst(own.count).first)
        }
        let host = text.drop { $0 != ":" }.dropFirst(3).first
        return (text.hasPrefix("https://") || isOwn) && host != nil && host != "/" && text.utf8.count <= 1_000
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"<>\"\(refused)".utf8.contains($0) }
    }
}
