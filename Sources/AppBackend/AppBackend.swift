import HTTPTypes
package import HubClient
package import Hummingbird
package import Logging

/// What signed-in users may do: register their devices and be notified by name.
///
/// It is served alone, or by a hub beside its own routes.
package final class AppBackend: Sendable {
    /// A middleware of these routes.
    package typealias Middleware = any MiddlewareProtocol<Request, Response, BackendRequestContext>

    package let devices: UserDevices
    private let logger: Logger

    package init(store: BackendStore, hub: HubClient, configuration: BackendConfiguration, logger: Logger) {
        devices = UserDevices(store: store, hub: hub, configuration)
        self.logger = logger
    }

    /// Makes a responder for all routes.
    ///
    /// - Parameters:
    ///   - identifying: Middlewares of every request, such as ``IdentifyClient``.
    ///   - signingIn: Middlewares of routes for users who have signed in, such as ``RequireCaller``.
    /// - Returns: What answers requests of all routes, and others with 404.
    package func responder(
        identifying: [Middleware],
        signingIn: [Middleware]
    ) -> RouterResponder<BackendRequestContext> {
        let router = Router(context: BackendRequestContext.self, options: .caseInsensitive)
        router.add(middleware: BackendErrors(logger: logger))
        for middleware in identifying { router.add(middleware: middleware) }
        let guarded = router.group()
        for middleware in signingIn { guarded.add(middleware: middleware) }
        for route in BackendRoutes.all {
            let respond = { @Sendable (request: Request, context: BackendRequestContext) async throws -> Response in
                try await route.handle(BackendRequest(backend: self, request: request, context: context))
            }
            switch route.access {
            case .anybody: router.on(RouterPath(route.address), method: route.method, use: respond)
            case .signedIn: guarded.on(RouterPath(route.address), method: route.method, use: respond)
            }
        }
        return router.buildResponder()
    }
}
