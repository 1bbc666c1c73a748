import HTTPTypes
import NIOCore
import NIOHTTP1
import NetworkAddresses

extension ClientAddress {
    private var proxies: TrustedProxies { TrustedProxies(trustedProxies) }

    /// The address that a request comes from; `nil` if there is none, as with a Unix socket.
    func source(peer: NetworkAddress?, field: (_ name: String) -> String?) -> NetworkAddress? {
        proxies.client(peer: peer, field: field)
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
    func isTrusted(_ address: NetworkAddress) -> Bool { proxies.contains(address) }

    /// The peer of a connection; `nil` for the operator's proxies, whose connections represent many clients.
    func client(of channel: any Channel) -> NetworkAddress? {
        guard let peer = channel.remoteAddress?.networkAddress?.unmapped, !isTrusted(peer) else { return nil }
        return peer
    }
}
