package import AppBackend
import HTTPTypes
import HubProtocol
package import HubServer
package import Hummingbird
package import Logging
package import MountedBackend
import NIOCore
import NetworkAddresses
import WebPages

/// The pages of the hubs of one server, below `/-/`.
package final class PageServer: Sendable {
    let store: PageStore
    let door: PageDoor
    let proxies: TrustedProxies
    let clock: BackendClock
    let templates: PageTemplates
    /// Each change of a session is a change of the hub, whose quotas do not count its own pages.
    let changes: MinuteLimiter<Int64>
    /// Tags that say who somebody is.
    let reservedTags: ReservedTagPrefixes
    let service: HubService
    private let calls: InternalCalls
    let backend: BackendMount?
    let logger: Logger

    /// Makes the pages; people can sign in at those of the hub that `backend` has the users of.
    ///
    /// - Throws: What is wrong with a template, which would be a fault of the build.
    package init(
        store: PageStore,
        on service: HubService,
        _ configuration: HubConfiguration,
        backend: BackendMount? = nil,
        clock: BackendClock = .system,
        logger: Logger
    ) throws {
        self.store = store
        self.service = service
        self.backend = backend
        self.logger = logger
        self.clock = clock
        changes = MinuteLimiter(Self.changesPerMinute, clock: clock.monotonic)
        door = PageDoor(configuration)
        proxies = TrustedProxies(configuration.trustedProxies)
        reservedTags = configuration.reservedTags
        calls = service.internalCalls
        templates = try PageTemplates()
    }

    /// True if readers on this machine need no invitation.
    package var isOpenHere: Bool { door.access == .public || door.admitsThisMachine }

    /// `nil` for a hub that is unknown or disabled.
    func hub(_ name: HubName) -> PageHub? { PageHub(name, of: service, calls) }

    /// The app backend whose users can sign in at a hub's pages; `nil` where nobody can.
    ///
    /// - Throws: ``BackendRefusal`` when its database cannot be used now.
    func backend(of hub: PageHub) throws(BackendRefusal) -> AppBackend? {
        guard let backend, backend.hubName == hub.name else { return nil }
        return try backend.backend()
    }

    /// A page that lost its stream comes back every two seconds.
    static let changesPerMinute = 60

    /// Makes a responder for all routes, and for no others.
    package func responder() -> RouterResponder<BackendRequestContext> {
        let router = Router(context: BackendRequestContext.self)
        router.add(middleware: PageErrors(logger: logger, templates: templates))
        router.add(middleware: IdentifyClient(trustedProxies: proxies))
        if let backend { router.add(middleware: PrepareBackend(backend: backend)) }
        for asset in WebAsset.all {
            for method in [HTTPRequest.Method.get, .head] {
                router.on(RouterPath(asset.path), method: method) { _, _ in asset.response(method) }
            }
        }
        for method in [HTTPRequest.Method.get, .head] {
            router.on(RouterPath(WorkerFile.path), method: method) { _, _ in WorkerFile.response(method) }
        }
        for route in PageRoutes.all {
            // A hub may have the name of the assets' folder, which the router would take for that alone.
            for address in route.address == PageRoute.home ? [route.address, "/-/assets"] : [route.address] {
                router.on(RouterPath(address), method: route.method) { request, context in
                    try await self.respond(to: request, by: route, context)
                }
            }
        }
        return router.buildResponder()
    }

    private func respond(
        to request: Request,
        by route: PageRoute,
        _ context: BackendRequestContext
    ) async throws -> Response {
        let text = PercentEncoding.decode(context.parameters.get("hub") ?? "assets")
        // A hub that is unknown, disabled or without pages looks the same.
        guard door.access != .off, let name = text.flatMap({ try? HubName($0) }), let hub = hub(name) else {
            throw PageRefusal.notFound
        }
        return try await route.handle(PageRequest(self, hub: hub, request: request, context: context))
    }
}

extension WebAsset {
    fileprivate func response(_ method: HTTPRequest.Method) -> Response {
        var headers = PageHeaders.common(mediaType)
        headers[.cacheControl] = "public, max-age=31536000, immutable"
        let response = Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
        return method == .head ? response.createHeadResponse() : response
    }
}

extension WorkerFile {
    fileprivate static func response(_ method: HTTPRequest.Method) -> Response {
        var headers = PageHeaders.common(mediaType)
        headers[.cacheControl] = "no-cache"
        headers[.contentSecurityPolicy] = "default-src 'none'; connect-src 'self'"
        let response = Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
        return method == .head ? response.createHeadResponse() : response
    }
}
