import HTTPTypes
import NIOCore
import NIOHTTP1
import NetworkAddresses

extension ClientAddress {
    /// The address that a request comes from; `nil` where there is none, as behind a Unix socket.
    ///
    /// Each proxy adds the address that it was called from to the end of `X-Forwarded-For`, or of `Forwarded`. The list is
    /// read from there, as far as those who have written it are proxies that the operator has named.
    func source(peer: NetworkAddress?, field: (_ name: String) -> String?) -> NetworkAddress? {
        guard var source = peer?.unmapped, isTrusted(source) else { return peer?.unmapped }
        var list: [Substring]
        if let plain = field("X-Forwarded-For") {
            list = plain.split(separator: ",")
        } else {
            list = field("Forwarded")?.split(separator: ",").compactMap(Self.forwardedFor) ?? []
        }
        while isTrusted(source), let next = list.popLast() {
            guard let address = Self.address(next) else { return source }
            source = address
        }
        return source
    }

    func source(_ headers: HTTPFields, peer: NetworkAddress?) -> NetworkAddress? {
        source(peer: peer) { name in HTTPField.Name(name).flatMap { headers[$0] } }
    }

    func source(_ headers: HTTPHeaders, peer: NetworkAddress?) -> NetworkAddress? {
        source(peer: peer) { name in
            let values = headers[name]
            return values.isEmpty ? nil : values.joined(separator: ",")
        }
    }

    /// True if the address is one of the operator's proxies.
    func isTrusted(_ address: NetworkAddress) -> Bool { trustedProxies.contains { $0.contains(address) } }

    /// The other end of a connection, unless connections from there have no bound of their own: they stand for many.
    func boundedPeer(of channel: any Channel) -> NetworkAddress? {
        guard let peer = channel.remoteAddress?.networkAddress?.unmapped, !peer.isLoopback, !isTrusted(peer) else {
            return nil
        }
        return peer
    }

    /// The value of `for` in one element of `Forwarded` (RFC 7239 §5.2).
    private static func forwardedFor(_ element: Substring) -> Substring? {
        for pair in element.split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, trimmed(parts[0]).lowercased() == "for" else { continue }
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
