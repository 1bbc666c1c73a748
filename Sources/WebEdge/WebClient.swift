package import HTTPTypes
package import NIOCore
import NIOSSL
package import NetworkAddresses

/// The client of a request, as trusted proxies report it, and its connection.
package struct WebClient: Sendable {
    /// The connection; `nil` if another node of a hub has it.
    package let channel: (any Channel)?
    /// True for a client of another node that uses TLS there.
    private let usesTLSElsewhere: Bool
    /// The other end of the connection, which may be a proxy, or the client that a TCP balancer has named; `nil` for a Unix
    /// socket.
    package let peer: NetworkAddress?
    /// The client's own address; `nil` for a Unix socket.
    package private(set) var address: NetworkAddress?
    /// The host and port that the client called; `nil` if the request does not say.
    package private(set) var authority: String?
    /// The scheme that the client called, as a trusted proxy reports it.
    private var scheme: String?

    package init(_ channel: any Channel) {
        self.channel = channel
        usesTLSElsewhere = false
        peer = channel.clientAddress
        address = peer
    }

    /// The client of another node of a hub, which has passed the request on.
    package init(of peer: NetworkAddress?, speaksTLS: Bool) {
        channel = nil
        usesTLSElsewhere = speaksTLS
        self.peer = peer?.unmapped
        address = self.peer
    }

    /// Reads the reports of trusted proxies.
    package mutating func identify(_ request: HTTPRequest, through proxies: TrustedProxies) {
        let field = { (name: String) in request.headerFields[named: name] }
        address = proxies.client(peer: peer, field: field)
        let called = proxies.authority(request.authority, peer: peer, field: field)
        authority = called?.description ?? request.authority
        scheme = proxies.scheme(peer: peer, field: field)
    }

    package var network: ClientNetwork { ClientNetwork(address) }

    /// True if nobody on the network can read a request and its reply: they use TLS, or do not leave this machine.
    ///
    /// Behind a trusted proxy, the client's own connection counts, as the proxy reports it.
    package var isPrivate: Bool {
        get async {
            if let scheme { return scheme == "https" || address?.isLoopback == true }
            // A Unix socket has no address. A local proxy may report the client's address without the scheme that was
            // used.
            guard let peer else { return true }
            if peer.isLoopback, address?.isLoopback != false { return true }
            return await speaksTLS
        }
    }

    /// True if the connection uses TLS; HTTP/2 streams are within such a connection.
    package var speaksTLS: Bool {
        get async {
            for connection in [channel, channel?.parent].compactMap(\.self) {
                let found = connection.pipeline.containsHandler(type: NIOSSLServerHandler.self)
                if (try? await found.get()) != nil { return true }
            }
            return usesTLSElsewhere
        }
    }
}

extension SocketAddress {
    /// The IP address; `nil` for a Unix socket.
    package var networkAddress: NetworkAddress? {
        withSockAddr { address, size in
            NetworkAddress(socketAddress: UnsafeRawBufferPointer(start: address, count: size))
        }
    }
}

extension HTTPFields {
    /// The value of a field; several are joined by commas.
    package subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
