import FairShares
import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import Logging
import NetworkAddresses
import NIOCore
import Signals
import WebEdge

/// An authorized request.
protocol AllowedRequest {
    var grant: Grant { get }
    var request: Request { get set }
    var context: HubRequestContext { get }
    var client: ClientAddress { get }
}

/// A request below a hub.
struct HubRequest: AllowedRequest {
    /// The hub's operations for the request's sender.
    let operations: HubOperations
    var request: Request
    let context: HubRequestContext
    let client: ClientAddress

    var hub: Hub { operations.hub }
    var grant: Grant { operations.grant }

    /// The secret of a `stream` installation that the request presents.
    var channel: PushChannelSecret? { PushChannelSecret(header: request.headers[named: HeaderName.pushChannel]) }

    func installationID() throws(ProtocolError) -> InstallationID {
        try InstallationID(try context.parameter("id"))
    }

    /// A number in the query; `nil` without one.
    ///
    /// - Throws: 400 for text that is not a number from 1 to `maximum`.
    func number(_ name: String, maximum: Int) throws(ProtocolError) -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text), (1...maximum).contains(number) else {
            throw .badRequest("'\(name)' must be a number from 1 to \(maximum), not '\(text.excerpt)'.")
        }
        return number
    }
}

/// All operations; other requests are answered with 404.
enum RouteTable {
    static let routes: [Route] =
        NamespaceRoutes.routes + JobRoutes.routes + RegistrationRoutes.routes + InstallationRoutes.routes
        + MessageRoutes.routes
        + StreamRoutes.routes + CategoryRoutes.routes + PublisherRoutes.routes + DeliveryRoutes.routes
        + FeedbackRoutes.routes + CredentialRoutes.routes + OverviewRoutes.routes + AlarmRoutes.routes
        + EmulatorRoutes.routes

    /// Makes a responder for all routes.
    ///
    /// `pages` is `nil` for requests that other nodes have passed on, `forwarding` for a hub with one node.
    static func responder(
        hubs: HubManagement,
        edge: ServerEdge,
        pages: OwnPages?,
        forwarding: RequestForwarding?
    ) -> RouterResponder<HubRequestContext> {
        let router = Router(context: HubRequestContext.self, options: [.caseInsensitive, .autoGenerateHeadEndpoints])
        router.add(middleware: ResponseCounting(counts: edge.responses))
        router.add(middleware: HeadMiddleware())
        let crossOrigin = CrossOrigin(hubs.configuration.corsOrigins)
        let webApps = CrossOriginMiddleware(crossOrigin, routes)
        if crossOrigin.isOn { router.add(middleware: webApps) }
        router.add(middleware: ErrorMiddleware(logger: edge.logger))
        pages?.add(to: router)
        for route in routes {
            // Some clients escape the dollar sign of `$Resources`.
            for address in Set([route.address, route.address.replacing("$", with: "%24")]) {
                router.on(RouterPath(address), method: route.method) { request, context in
                    @Sendable func answer() async throws -> Response {
                        switch route.operation {
                        case .ofHub(let handle):
                            let allowed = try await hubs.upToDate(isRead: route.isRead) { () throws(ProtocolError) in
                                try allow(request, context, edge.client, route, hubs.directory)
                            }
                            if let channel = context.channel { edge.connections.prove(channel) }
                            return try await forward(allowed, route, forwarding, or: handle)
                        case .ofNamespace(let handle):
                            let allowed = try await hubs.upToDate(isRead: route.isRead) { () throws(ProtocolError) in
                                try allow(request, context, edge.client, route, hubs)
                            }
                            if let channel = context.channel { edge.connections.prove(channel) }
                            return try await forward(allowed, route, forwarding, or: handle)
                        }
                    }
                    return try await route.isLong(request) ? LongWork.run(answer) : answer()
                }
            }
        }
        // A preflight has no key.
        for (address, methods) in webApps.methods where crossOrigin.isOn {
            router.on(RouterPath(address), method: .options) { request, _ in
                crossOrigin.preflight(request, methods: methods)
            }
        }
        return router.buildResponder()
    }

    /// Passes a request that changes something to another node, if that one writes; otherwise executes it here.
    private static func forward<Allowed: AllowedRequest>(
        _ allowed: Allowed,
        _ route: Route,
        _ forwarding: RequestForwarding?,
        or handle: (Allowed) async throws -> Response
    ) async throws -> Response {
        guard route.isForwarded, let forwarding else { return try await handle(allowed) }
        let isRepeatable = route.isRepeatable && allowed.request.headers[named: HeaderName.idempotencyKey] != nil
        switch try await forwarding.pass(allowed.request, allowed.context, isRepeatable: isRepeatable) {
        case .answered(let response): return response
        case .local(let request):
            var allowed = allowed
            allowed.request = request
            return try await handle(allowed)
        }
    }

    private static func allow(
        _ request: Request,
        _ context: HubRequestContext,
        _ client: ClientAddress,
        _ route: Route,
        _ hubs: HubDirectory
    ) throws(ProtocolError) -> HubRequest {
        let hub = try hubs.hub(named: context.parameters.get("hub") ?? "")
        var grant = try hub.grant(
            authorization: request.headers[.authorization] ?? route.tokenInQuery(of: request),
            path: request.uri.path,
            needs: route.right(for: request)
        )
        if grant.rights.contains(.manage) { context.manage?.set() }
        guard !hub.status.isDisabled else {
            throw .disabled(hub.record.name)
        }
        let address = client.source(request.headers, peer: context.peer)
        if let address, !hub.configuration.grouping.isEverybody(address) { grant.network = .client(address) }
        return HubRequest(
            operations: HubOperations(hub: hub, directory: hubs, grant: grant, source: address),
            request: request,
            context: context,
            client: client
        )
    }

    private static func allow(
        _ request: Request,
        _ context: HubRequestContext,
        _ client: ClientAddress,
        _ route: Route,
        _ hubs: HubManagement
    ) throws(ProtocolError) -> NamespaceRequest {
        let name = context.parameters.get("hub")
        let hub = name.flatMap { name in try? hubs.directory.hub(named: name) }
        if hub == nil, route.scope == .hub, route.method != .put { throw .noHub(pathSegment: name ?? "") }
        let tokens = route.scope == .hub ? hub?.tokens : nil
        let grant: Grant
        do throws(ProtocolError) {
            grant = try (tokens ?? hubs.directory.namespaceTokens).authorize(
                request.headers[.authorization],
                path: request.uri.path,
                needs: route.right(for: request),
                now: hubs.configuration.timestamp
            )
        } catch {
            // The key may be one of a hub: a reason of its own keeps the client from looking for a bad signature.
            guard tokens == nil, error == .unauthorized(.invalidSignature) else { throw error }
            throw .unauthorized(.noNamespaceSignature)
        }
        return NamespaceRequest(
            hubs: hubs,
            hub: hub,
            name: name ?? "",
            grant: grant,
            request: request,
            context: context,
            client: client
        )
    }
}

extension ProtocolError {
    static func disabled(_ hub: HubName) -> ProtocolError {
        .forbidden("The hub '\(hub)' is disabled; set Status to false in its description.")
    }
}
