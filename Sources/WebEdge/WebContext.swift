package import Hummingbird
package import Logging

/// The context of a request: its client, and the user who makes it.
package struct WebContext<User: Sendable>: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The client; before ``IdentifyClient``, the other end of the connection, even if that is a proxy.
    ///
    /// A router whose routes ask ``WebClient/isPrivate`` must have that middleware: a proxy on this machine would count
    /// as a private client.
    package var client: WebClient
    /// The signed-in user; `nil` if no middleware requires one.
    package var user: User?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        client = WebClient(source.channel)
    }

    /// The context of a request whose connection another node of a hub may have.
    package init(of client: WebClient, logger: Logger) {
        coreContext = CoreRequestContextStorage(source: LogSource(logger: logger))
        self.client = client
    }
}

private struct LogSource: RequestContextSource {
    let logger: Logger
}
