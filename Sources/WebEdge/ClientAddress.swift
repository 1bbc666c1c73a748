package import HTTPTypes
package import NIOCore
package import NIOHTTP1
package import NetworkAddresses

/// Finds the address of a client, and the authority that it has used, so that addresses in a reply lead back to the
/// same place.
///
/// ``NetworkAddresses/TrustedProxies/authority(_:peer:field:)`` reads the authority. A client can write any host into a
/// request: with configured names, the host must be one of them, or of this machine. Addresses in replies always begin
/// with `https`, because SDKs require it where they extract ids.
package struct ClientAddress: Sendable {
    /// Used if a request has no usable authority.
    private let publicAddress: PublicAddress
    /// The server's own port.
    private let port: Int
    private let proxies: TrustedProxies
    /// The names by which clients reach the server; without them, any host is repeated.
    private let hostNames: [HostName]

    package init(
        publicAddress: PublicAddress,
        port: Int,
        trustedProxies: [AddressBlock],
        hostNames: [HostName] = []
    ) {
        (self.publicAddress, self.port, self.hostNames) = (publicAddress, port, hostNames)
        proxies = TrustedProxies(trustedProxies)
    }

    /// The authority for addresses in the reply to a request; `peer` and `local`, the addresses of the connection, are
    /// evaluated only if needed.
    package func authority(
        _ request: HTTPRequest,
        peer: @autoclosure () -> NetworkAddress?,
        local: @autoclosure () -> NetworkAddress? = nil
    ) -> Authority {
        let called = proxies.authority(request.authority, peer: peer()) { request.headerFields[named: $0] }
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

    /// The address that a request comes from; `nil` if there is none, as with a Unix socket.
    package func source(_ headers: HTTPFields, peer: NetworkAddress?) -> NetworkAddress? {
        proxies.client(peer: peer) { headers[named: $0] }
    }

    package func source(_ headers: HTTPHeaders, peer: NetworkAddress?) -> NetworkAddress? {
        proxies.client(peer: peer) { name in
            let values = headers[name]
            return values.isEmpty ? nil : values.joined(separator: ",")
        }
    }

    /// True if a connection comes from one of the operator's proxies, whoever its client is.
    package func isProxy(_ channel: any Channel) -> Bool {
        channel.remoteAddress?.networkAddress.map { proxies.contains($0.unmapped) } ?? false
    }

    /// The peer of a connection; `nil` for the operator's proxies, whose connections represent many clients.
    package func client(of channel: any Channel) -> NetworkAddress? {
        guard let peer = channel.clientAddress, !proxies.contains(peer) else { return nil }
        return peer
    }
}
