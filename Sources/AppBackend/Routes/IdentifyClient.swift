import HTTPTypes
package import Hummingbird
package import NetworkAddresses

/// Finds the client's address and the host that the client called, through proxies that the operator trusts.
package struct IdentifyClient: RouterMiddleware {
    private let proxies: TrustedProxies

    package init(trustedProxies: TrustedProxies) { proxies = trustedProxies }

    package func handle(
        _ request: Request,
        context: BackendRequestContext,
        next: (Request, BackendRequestContext) async throws -> Response
    ) async throws -> Response {
        let field = { (name: String) in HTTPField.Name(name).flatMap { request.headers[$0] } }
        var context = context
        let peer = context.peer
        context.client = proxies.client(peer: peer, field: field)
        context.authority = proxies.authority(request.head.authority, peer: peer, field: field)?.description
        return try await next(request, context)
    }
}
