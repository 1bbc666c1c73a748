internal import Formats

/// The operator's proxies, whose reports of their clients are believed.
package struct TrustedProxies: Sendable {
    package let blocks: [AddressBlock]

    package init(_ blocks: [AddressBlock]) { self.blocks = blocks }

    package func contains(_ address: NetworkAddress) -> Bool { blocks.contains { $0.contains(address) } }

    /// Returns the address that a request comes from; `nil` if there is none, for example behind a Unix socket.
    ///
    /// Each proxy adds the address that called it to the end of `X-Forwarded-For`, or of `Forwarded`. The list is read
    /// from there, as long as its authors are proxies that the operator has named.
    package func client(peer: NetworkAddress?, field: (_ name: String) -> String?) -> NetworkAddress? {
        guard var source = peer?.unmapped, contains(source) else { return peer?.unmapped }
        var list: [Substring]
        if let plain = field("X-Forwarded-For") {
            list = plain.split(separator: ",")
        } else {
            list = field("Forwarded")?.split(separator: ",").compactMap(Self.forwardedFor) ?? []
        }
        while contains(source), let next = list.popLast() {
            guard let address = Self.address(next) else { return source }
            source = address
        }
        return source
    }

    /// True if a request comes through a proxy that the operator has not named, as far as can be seen: it has a report
    /// of a client, from an address that a proxy of the operator can have.
    package func isUnnamedProxy(peer: NetworkAddress?, field: (_ name: String) -> String?) -> Bool {
        guard let peer = peer?.unmapped, !peer.isPublic, !contains(peer) else { return false }
        return field("X-Forwarded-For") != nil || field("Forwarded") != nil
    }

    /// Returns the host and port that a client called.
    ///
    /// They are in `Host`, or in `:authority` over HTTP/2. The nearest proxy reports those that it has replaced in
    /// `X-Forwarded-Host` and `X-Forwarded-Port`, or in `Forwarded`.
    ///
    /// - Parameters:
    ///   - own: The authority of the request itself.
    ///   - peer: The other end of the connection, which is evaluated only if needed.
    ///   - field: Returns a header field by its name.
    /// - Returns: `nil` if there is no valid one.
    package func authority(
        _ own: String?,
        peer: @autoclosure () -> NetworkAddress?,
        field: (_ name: String) -> String?
    ) -> Authority? {
        let own = own.flatMap(Authority.init)
        guard !blocks.isEmpty, let peer = peer()?.unmapped, contains(peer) else { return own }
        let reported = Self.report("X-Forwarded-Host", or: "host", field).flatMap(Authority.init)
        guard let host = reported ?? own else { return nil }
        let scheme = scheme(peer: peer, field: field).flatMap(WebScheme.init(rawValue:)) ?? .https
        guard let port = Self.last(field("X-Forwarded-Port")).flatMap({ HostAndPort.number($0) }), port != scheme.port
        else { return host }
        return host.on(port)
    }

    /// Returns the scheme that a client called, in lower case, as the nearest proxy reports it; `nil` if it does not.
    package func scheme(peer: NetworkAddress?, field: (_ name: String) -> String?) -> String? {
        guard let peer = peer?.unmapped, contains(peer) else { return nil }
        return Self.report("X-Forwarded-Proto", or: "proto", field)?.lowercased()
    }

    /// The report of the nearest proxy in a field of its own, or in a parameter of `Forwarded`: each proxy may have added
    /// to the reports that it received.
    private static func report(_ name: String, or parameter: String, _ field: (String) -> String?) -> Substring? {
        last(field(name)) ?? last(field("Forwarded")).flatMap { value(parameter, in: $0) }
    }

    private static func last(_ list: String?) -> Substring? {
        list?.split(separator: ",").last.map { $0.trimmingBlanks() }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func forwardedFor(_ element: Substring) -> Substring? { value("for", in: element) }

    /// Returns the value of a parameter in one element of `Forwarded` (RFC 7239 §4).
    private static func value(_ name: String, in element: Substring) -> Substring? {
        for pair in element.split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].trimmingBlanks().lowercased() == name else { continue }
            return parts[1].trimmingBlanks().filter { $0 != "\"" }[...]
        }
        return nil
    }

    /// Reads an address with or without a port; an IPv6 address with a port is in brackets.
    private static func address(_ text: Substring) -> NetworkAddress? {
        let text = text.trimmingBlanks()
        if text.hasPrefix("[") { return NetworkAddress(String(text.dropFirst().prefix { $0 != "]" }))?.unmapped }
        if let whole = NetworkAddress(String(text)) { return whole.unmapped }
        return NetworkAddress(String(text.prefix { $0 != ":" }))?.unmapped
    }
}
