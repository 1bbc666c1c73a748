import HTTPTypes
import Hummingbird
import NIOCore
import NIOSSL
import NetworkAddresses

extension BackendRequest {
    /// True if nobody on the way can read the reply: it goes through TLS, or does not leave this machine.
    ///
    /// Behind a proxy that the operator trusts, the client's own connection counts, as the proxy reports it.
    var isPrivate: Bool {
        get async {
            let peer = context.peer
            let proxies = backend.configuration.trustedProxies
            if let peer, proxies.contains(peer) {
                let scheme = proxies.scheme(peer: peer) { name in
                    HTTPField.Name(name).flatMap { request.headers[$0] }
                }
                if let scheme { return scheme == "https" || context.client?.isLoopback == true }
            }
            // A Unix socket has no address. A proxy on this machine may say for whom it calls, and not how it was called.
            guard let peer else { return true }
            if peer.isLoopback, context.client?.isLoopback != false { return true }
            return await Self.speaksTLS(context.channel)
        }
    }

    /// Streams of HTTP/2 are within a connection that does.
    static func speaksTLS(_ channel: any Channel) async -> Bool {
        for connection in [channel, channel.parent].compactMap(\.self) {
            let found = connection.pipeline.containsHandler(type: NIOSSLServerHandler.self)
            if (try? await found.get()) != nil { return true }
        }
        return false
    }
}
