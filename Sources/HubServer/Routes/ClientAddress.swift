import HTTPTypes
import NetworkAddresses
import NIOCore

/// Finds the authority that a client has used, so that addresses in a reply lead back to the same place.
///
/// ``NetworkAddresses/TrustedProxies/authority(_:peer:field:)`` reads it. A client can write any host into a request: with
/// configured names, the host must be one of them, or of this machine. Addresses in replies always begin with `https`,
/// because SDKs require it where they extract ids.
struct ClientAddress: Sendable {
    /// Used if a request has no usable authority.
    let publicAddress: PublicAddress
    /// The server's own port.
    let port: Int
    let trustedProxies: [AddressBlock]
    /// The names by which clients reach the server; without them, any host is repeated.
    var hostNames: [HostName] = []

    /// The authority for addresses in the reply to a request; `peer` and `local`, the addresses of the connection, are
    /// evaluated only if needed.
    func authority(
        _ request: HTTPRequest,
        peer: @autoclosure () -> NetworkAddress?,
        local: @autoclosure () -> NetworkAddress? = nil
    ) -> Authority {
        let proxies = TrustedProxies(trustedProxies)
        let called = proxies.authority(request.authority, peer: peer()) { request.headerFields[header: $0] }
        guard let called else { return publicAddress.authority(port: port) }
        guard let first = hostNames.first, let host = called.hostName, !hostNames.contains(host), !host.isLoopback,
            !isConfigured(host), host != local().map({ HostName.address($0.unmapped) })
        else { return called }
        if !proxies.blocks.isEmpty, let peer = peer()?.unmapped, proxies.contains(peer) { return called }
        guard case .configured(let authority) = publicAddress else { return called.at(first) }
        return authority
    }

    private func isConfigured(_ host: HostName) -> Bool {
        if case .configured(let authority) = publicAddress { authority.hostName == host } else { false }
    }
}

extension SocketAddress {
    /// The IP address; `nil` for a Unix socket.
    var networkAddress: NetworkAddress? {
        withSockAddr { address, size in
            NetworkAddress(socketAddress: UnsafeRawBufferPointer(start: address, count: size))
        }
    }
}
