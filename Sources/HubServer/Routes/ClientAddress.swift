import HTTPTypes
import NetworkAddresses
import NIOCore

/// Tells under which address a client has called, so that the addresses in a reply lead back to where it came from.
///
/// That is what `Host` says, or `:authority` over HTTP/2. Proxies that pass on another one tell the client's in
/// `X-Forwarded-Host` and `X-Forwarded-Port`, or in `Forwarded`; these are believed of the proxies that the operator has named,
/// since anybody else can send them, too. Replies say `https` whatever the hub was reached by: SDKs want it in what they take ids
/// out of, so `X-Forwarded-Proto` only tells which port need not be named.
struct ClientAddress: Sendable {
    /// Where a request says nothing that can be used.
    let fallback: Authority
    let trustedProxies: [AddressBlock]

    /// Whom the reply to a request should send its client back to; `peer`, whoever is at the other end of the connection, is
    /// asked for only where it matters.
    func authority(_ request: HTTPRequest, peer: @autoclosure () -> NetworkAddress?) -> Authority {
        let own = request.authority.flatMap(Authority.init)
        guard !trustedProxies.isEmpty, let proxy = peer()?.unmapped,
            trustedProxies.contains(where: { $0.contains(proxy) })
        else { return own ?? fallback }
        let fields = Self.forwarded(request.headerFields)
        guard let host = fields.host.flatMap(Authority.init) ?? own else { return fallback }
        let standardPort = fields.scheme?.lowercased() == "http" ? 80 : 443
        guard let port = fields.port.flatMap(Authority.port), port != standardPort else { return host }
        return host.on(port)
    }

    /// What the proxy nearest to us says: each one may have added to what came to it.
    private static func forwarded(_ headers: HTTPFields) -> (host: Substring?, scheme: Substring?, port: Substring?) {
        var standard: [String: Substring] = [:]
        for pair in last(headers, .forwarded)?.split(separator: ";") ?? [] {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            standard[parts[0].trimmingSpaces.lowercased()] = parts[1].trimmingSpaces.trimmingQuotes
        }
        return (
            last(headers, .forwardedHost) ?? standard["host"], last(headers, .forwardedProto) ?? standard["proto"],
            last(headers, .forwardedPort)
        )
    }

    private static func last(_ headers: HTTPFields, _ name: HTTPField.Name) -> Substring? {
        headers[name].flatMap { $0.split(separator: ",").last?.trimmingSpaces }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    fileprivate var trimmingQuotes: Substring {
        count >= 2 && hasPrefix("\"") && hasSuffix("\"") ? dropFirst().dropLast() : self
    }
}

extension HTTPField.Name {
    // The names are constants and valid tokens.
    fileprivate static let forwarded = HTTPField.Name("Forwarded") ?? .location
    fileprivate static let forwardedHost = HTTPField.Name("X-Forwarded-Host") ?? .location
    fileprivate static let forwardedProto = HTTPField.Name("X-Forwarded-Proto") ?? .location
    fileprivate static let forwardedPort = HTTPField.Name("X-Forwarded-Port") ?? .location
}

extension SocketAddress {
    /// The IP address; `nil` for a Unix socket.
    var networkAddress: NetworkAddress? {
        withSockAddr { address, size in
            NetworkAddress(socketAddress: UnsafeRawBufferPointer(start: address, count: size))
        }
    }
}
