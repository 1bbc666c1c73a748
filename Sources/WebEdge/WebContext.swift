package import Hummingbird

/// The context of a request: its client, and the user who makes it.
package struct WebContext<User: Sendable>: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Known after ``IdentifyClient``.
    package var client: WebClient
    /// The signed-in user; `nil` if no middleware requires one.
    package var user: User?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        client = WebClient(source.channel)
    }
}
