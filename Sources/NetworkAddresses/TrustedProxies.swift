/// The operator's proxies, whose reports of their clients are believed.
package struct TrustedProxies: Sendable {
    package let blocks: [AddressBlock]

    package init(_ blocks: [AddressBlock]) { self.blocks = blocks }

    package func contains(_ address: NetworkAddress) -> Bool { blocks.contains { $0.contains(address) } }

    /// The address that a request comes from; `nil` where there is none, as behind a Unix socket.
    ///
    /// Each proxy adds the address that it was called from to the end of `X-Forwarded-For`, or of `Forwarded`. The list is
    /// read from there, as far as those who have written it are proxies that the operator has named.
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

    /// Host and port that a client called, by the report of the nearest proxy; `nil` if a proxy is not between.
    package func authority(peer: NetworkAddress?, field: (_ name: String) -> String?) -> String? {
        guard let peer = peer?.unmapped, contains(peer) else { return nil }
        let plain = field("X-Forwarded-Host")?.split(separator: ",").last.map(Self.trimmed)
        let last = field("Forwarded")?.split(separator: ",").last
        return (plain ?? last.flatMap { Self.value("host", in: $0) }).map(String.init)
    }

    /// The scheme that a client called, in small letters, by the report of the nearest proxy; `nil` if it does not say.
    package func scheme(peer: NetworkAddress?, field: (_ name: String) -> String?) -> String? {
        guard let peer = peer?.unmapped, contains(peer) else { return nil }
        let plain = field("X-Forwarded-Proto")?.split(separator: ",").last.map(Self.trimmed)
        let last = field("Forwarded")?.split(separator: ",").last
        return (plain ?? last.flatMap { Self.value("proto", in: $0) })?.lowercased()
    }

    private static func forwardedFor(_ element: Substring) -> Substring? { value("for", in: element) }

    /// The value of a parameter in one element of `Forwarded` (RFC 7239 §4).
    private static func value(_ name: String, in element: Substring) -> Substring? {
        for pair in element.split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, trimmed(parts[0]).lowercased() == name else { continue }
            return trimmed(parts[1]).filter { $0 != "\"" }[...]
        }
        return nil
    }

    /// An address with or without a port; an IPv6 address with a port is in brackets.
    private static func address(_ text: Substring) -> NetworkAddress? {
        let text = trimmed(text)
        if text.hasPrefix("[") { return NetworkAddress(String(text.dropFirst().prefix { $0 != "]" }))?.unmapped }
        if let whole = NetworkAddress(String(text)) { return whole.unmapped }
        return NetworkAddress(String(text.prefix { $0 != ":" }))?.unmapped
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
