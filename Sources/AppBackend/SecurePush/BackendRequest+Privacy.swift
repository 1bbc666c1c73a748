import HTTPTypes
package import Hummingbird
import NIOCore
import NIOSSL
package import NetworkAddresses

extension BackendRequest {
    /// True if nobody on the network can read the reply.
    var isPrivate: Bool {
        get async { await context.isPrivate(request, trusting: backend.configuration.trustedProxies) }
    }
}

extension BackendRequestContext {
    /// True if nobody on the network can read a request and its reply: they use TLS, or do not leave this machine.
    ///
    /// Behind a trusted proxy, the client's own connection counts, as the proxy reports it.
    package func isPrivate(_ request: Request, trusting proxies: TrustedProxies) async -> Bool {
        if let peer, proxies.contains(peer) {
            let scheme = proxies.scheme(peer: peer) { name in HTTPField.Name(name).flatMap { request.headers[$0] } }
            if let scheme { return scheme == "https" || client?.isLoopback == true }
        }
        // A Unix socket has no address. A local proxy may report the client's address without the scheme that was used.
        guard let peer else { return true }
        if peer.isLoopback, client?.isLoopback != false { return true }
        return await Self.speaksTLS(channel)
    }

    /// The host and port that a client called; `nil` if the request does not say.
    package func calledAuthority(_ request: Request) -> String? { authority ?? request.head.authority }

    /// True if a connection uses TLS; HTTP/2 streams are within such a connection.
    static func speaksTLS(_ channel: any Channel) async -> Bool {
        for connection in [channel, channel.parent].compactMap(\.self) {
            let found = connection.pipeline.containsHandler(type: NIOSSLServerHandler.self)
            if (try? await found.get()) != nil { return true }
        }
        return false
    }
}
