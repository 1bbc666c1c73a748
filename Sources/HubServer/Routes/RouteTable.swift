import Foundation
import HTTPTypes
import HubProtocol
import Hummingbird
import NIOCore

/// A request that was let in: its hub, its grant, its path's parameters.
struct HubRequest {
    let hub: Hub
    let grant: Grant
    let request: Request
    let parameters: Parameters

    /// The secret of a `stream` installation that the request presents.
    var channel: PushChannelSecret? { PushChannelSecret(header: request.headers[header: HeaderName.pushChannel]) }

    func installationID() throws(ProtocolError) -> InstallationID {
        try InstallationID(try parameter("id"))
    }

    /// A parameter of the path, without its percent-encoding.
    func parameter(_ name: String) throws(ProtocolError) -> String {
        guard let text = (parameters.get(name) ?? "").removingPercentEncoding else {
            throw .badRequest("The path is not valid percent-encoding.")
        }
        return text
    }

    /// Reads the whole body.
    ///
    /// - Throws: 413 above `limit` bytes.
    func body(limit: Int) async throws -> [UInt8] {
        do {
            let buffer = try await request.body.collect(upTo: limit)
            return [UInt8](buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw ProtocolError.tooLarge("The request body is larger than \(limit) bytes.")
        }
    }
}

/// One operation: its address below the hub, what it needs, what it does.
struct Route: Sendable {
    let method: HTTPRequest.Method
    /// Below the hub; `:id` and `:publisher` are parameters.
    let path: String
    let right: AccessRights
    let handle: @Sendable (HubRequest, HubDirectory) async throws -> Response
}

/// Every operation below a hub; what is not here is answered with 404.
enum RouteTable {
    static let routes: [Route] =
        InstallationRoutes.routes + MessageRoutes.routes + StreamRoutes.routes + CategoryRoutes.routes
        + DeliveryRoutes.routes

    /// A responder for all routes, and for the server's own `/healthz`, `/readyz` and `/metrics`.
    static func responder(
        hubs: HubDirectory,
        health: Health,
        metrics: MetricsPage
    ) -> RouterResponder<BasicRequestContext> {
        let router = Router(options: .caseInsensitive)
        router.add(middleware: ResponseCounting(counts: metrics.responses))
        router.add(middleware: ErrorMiddleware())
        router.get("/healthz") { _, _ in Health.live }
        router.get("/readyz") { _, _ in health.ready }
        router.get("/metrics") { _, _ in try await metrics.response() }
        for route in routes {
            router.on(RouterPath("/:hub\(route.path)"), method: route.method) { request, context in
                let hub = try hubs.hub(named: context.parameters.get("hub") ?? "")
                let grant = try hub.grant(
                    authorization: request.headers[.authorization],
                    path: request.uri.path,
                    needs: route.right
                )
                let allowed = HubRequest(hub: hub, grant: grant, request: request, parameters: context.parameters)
                return try await route.handle(allowed, hubs)
            }
        }
        return router.buildResponder()
    }
}
