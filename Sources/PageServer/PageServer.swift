package import AppBackend
import HTTPTypes
import HubProtocol
package import HubServer
package import Hummingbird
package import Logging
package import MountedBackend
import NIOCore
import NetworkAddresses
import Synchronization
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
    /// When the hubs that were asked for were made, by their folded names: what ``store`` has noted.
    private let identities = Mutex<[String: Timestamp]>([:])

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

    /// Ends the sessions and invitations of an earlier hub of this name.
    func noteIdentity(of name: HubName) async throws {
        guard let createdAt = try await service.createdAt(name) else { throw PageRefusal.notFound }
        guard identities.withLock({ $0[name.folded] }) != createdAt else { return }
        try await store.note(name, createdAt: createdAt)
        identities.withLock { $0[name.folded] = createdAt }
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
        for route in PageRoutes.all {
            router.on(RouterPath(route.address), method: route.method) { request, context in
                try await self.respond(to: request, by: route, hub: context.parameters.get("hub") ?? "", context)
            }
            guard route.address == PageRoute.home else { continue }
            // Hubs may have these names, which the router would take for the files alone.
            router.on("/-/assets", method: route.method) { request, context in
                try await self.respond(to: request, by: route, hub: "assets", context)
            }
            addWorker(to: router, beside: route)
        }
        return router.buildResponder()
    }

    /// Adds the worker's file, whose address differs from that of a hub of its name by the slash that ends a hub's.
    private func addWorker(to router: Router<BackendRequestContext>, beside home: PageRoute) {
        let name = String(WorkerFile.path.dropFirst("/-/".count))
        for method in [HTTPRequest.Method.get, .head] {
            router.on(RouterPath(WorkerFile.path), method: method) { request, context in
                guard method == home.method, request.uri.path.hasSuffix("/") else {
                    return WorkerFile.response(method)
                }
                return try await self.respond(to: request, by: home, hub: name, context)
            }
        }
    }

    private func respond(
        to request: Request,
        by route: PageRoute,
        hub name: String,
        _ context: BackendRequestContext
    ) async throws -> Response {
        let text = PercentEncoding.decode(name)
        // A hub that is unknown, disabled or without pages looks the same.
        guard door.access != .off, let name = text.flatMap({ try? HubName($0) }), let hub = hub(name) else {
            throw PageRefusal.notFound
        }
        try await noteIdentity(of: hub.name)
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
