import HTTPTypes
package import Hummingbird
import NIOCore
import NIOSSL
package import NetworkAddresses

extension BackendRequest {
    /// True if the reply cannot be read on the way.
    var isPrivate: Bool {
        get async { await context.isPrivate(request, trusting: backend.configuration.trustedProxies) }
    }
}

extension BackendRequestContext {
    /// True if a request and its reply cannot be read on the way: they go through TLS, or do not leave this machine.
    ///
    /// Behind a proxy that the operator trusts, the client's own connection counts, as the proxy reports it.
    package func isPrivate(_ request: Request, trusting proxies: TrustedProxies) async -> Bool {
        if let peer, proxies.contains(peer) {
            let scheme = proxies.scheme(peer: peer) { name in HTTPField.Name(name).flatMap { request.headers[$0] } }
            if let scheme { return scheme == "https" || client?.isLoopback == true }
        }
        // A Unix socket has no address. A proxy on this machine may say for whom it calls, and not how it was called.
        guard let peer else { return true }
        if peer.isLoopback, client?.isLoopback != false { return true }
        return await Self.speaksTLS(channel)
    }

    /// The host and port that a client called; `nil` if the request does not say.
    package func calledAuthority(_ request: Request) -> String? { authority ?? request.head.authority }

    /// Streams of HTTP/2 are within a connection that does.
    static func speaksTLS(_ channel: any Channel) async -> Bool {
        for connection in [channel, channel.parent].compactMap(\.self) {
            let found = connection.pipeline.containsHandler(type: NIOSSLServerHandler.self)
            if (try? await found.get()) != nil { return true }
        }
        return false
    }
}
