package import Hummingbird
package import NetworkAddresses

/// Finds the client's address and the host that the client called, through proxies that the operator trusts.
package struct IdentifyClient<User: Sendable>: RouterMiddleware {
    private let proxies: TrustedProxies

    package init(trustedProxies: TrustedProxies) { proxies = trustedProxies }

    package func handle(
        _ request: Request,
        context: WebContext<User>,
        next: (Request, WebContext<User>) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.client.identify(request.head, through: proxies)
        return try await next(request, context)
    }
}
