import HTTPTypes
import NetworkAddresses
import NIOCore

/// Finds the authority that a client has used, so that addresses in a reply lead back to the same place.
///
/// That authority is in `Host`, or in `:authority` over HTTP/2. A proxy that replaces it passes on the client's in
/// `X-Forwarded-Host` and `X-Forwarded-Port`, or in `Forwarded`. These are trusted only from the operator's proxies,
/// since any client can send them. Addresses in replies always begin with `https`, because SDKs require it where they
/// extract ids. `X-Forwarded-Proto` therefore only determines which port can be left out.
struct ClientAddress: Sendable {
    /// Used if a request has no usable authority.
    let fallback: Authority
    let trustedProxies: [AddressBlock]

    /// The authority for addresses in the reply to a request; `peer`, the remote address of the connection, is
    /// evaluated only if needed.
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

    /// The entries of the nearest proxy: each proxy may have added to those it received.
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
