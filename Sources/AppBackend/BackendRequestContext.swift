package import Hummingbird
package import NIOCore
package import NetworkAddresses

/// A request's connection, client and signed-in user.
///
/// Routes of the app backend are added to a `Router` of this context, after these middlewares in this order:
///
/// - ``IdentifyClient``, the first, sets ``client`` to the address that trusted proxies report.
/// - ``RequireCaller``, on the group of routes that need a signed-in user, sets ``caller``, or answers 401, 403
///   (another site's `Origin`), 429 or 503. A route in this group calls ``signedIn()`` and names ``network`` in audit
///   events. ``LoginRoutes`` are not in this group.
///
/// A route throws ``BackendRefusal`` to refuse a request; Hummingbird turns it into the response. Other errors are
/// failures of the server.
package struct BackendRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    package let channel: any Channel
    /// The client's address; `nil` for a Unix socket.
    package var client: NetworkAddress?
    /// The host and port that the client called, from the request or from a trusted proxy.
    var authority: String?
    /// The signed-in user; `nil` if no middleware requires one.
    package var caller: Caller?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        client = peer
    }

    /// The other end of the connection, which may be a proxy.
    package var peer: NetworkAddress? {
        channel.remoteAddress?.withSockAddr { address, size in
            NetworkAddress(socketAddress: UnsafeRawBufferPointer(start: address, count: size))
        }?.unmapped
    }

    package var network: ClientNetwork { ClientNetwork(client) }

    /// The user who makes the request.
    ///
    /// - Throws: 401 for a route without ``RequireCaller``.
    package func signedIn() throws(BackendRefusal) -> Caller {
        guard let caller else { throw .unauthorized("The request has no credentials.") }
        return caller
    }
}
