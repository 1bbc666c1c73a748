package import Hummingbird
package import NIOCore
package import NetworkAddresses

/// A request's connection, client and signed-in user.
///
/// Routes of the app backend are added to a `Router` of this context, behind these middlewares in this order:
///
/// - ``IdentifyClient``, first of all, sets ``client`` to the address that trusted proxies report.
/// - ``RequireCaller``, on the group of routes that need a signed-in user, sets ``caller``, or answers 401, 403 (another
///   site's `Origin`), 429 or 503. A route behind it calls ``signedIn()`` and names ``network`` in audit events.
///   ``LoginRoutes`` are not behind it.
///
/// A route throws ``BackendRefusal`` to refuse a request; a responder of Hummingbird turns it into the response. Other
/// errors are failures of the server.
package struct BackendRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    package let channel: any Channel
    /// The address of the client; `nil` behind a Unix socket.
    package var client: NetworkAddress?
    /// Host and port that the client called, as the request says; trusted proxies report another one.
    var authority: String?
    /// `nil` where no middleware asks for a signed-in user.
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
    /// - Throws: 401 for a route that is not behind ``RequireCaller``.
    package func signedIn() throws(BackendRefusal) -> Caller {
        guard let caller else { throw .unauthorized("The request has no credentials.") }
        return caller
    }
}
