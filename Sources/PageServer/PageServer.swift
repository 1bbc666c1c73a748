package import AppBackend
import Certificates
import Formats
import HTTPTypes
package import HubProtocol
package import HubServer
package import Hummingbird
package import Logging
package import MountedBackend
import NIOCore
import NetworkAddresses
package import OutboundHTTP
import Signals
import Synchronization
package import WebEdge
package import WebPages

/// The pages of the hubs of one server, below `/-/`.
package final class PageServer: Sendable {
    let store: PageStore
    let accessPolicy: PageAccessPolicy
    let proxies: TrustedProxies
    let clock: BackendClock
    let templates: PageTemplates
    let sharedPages = SharedPages()
    /// The limit of changes of each session: the hub's quotas do not apply to changes by its own pages.
    let changes: MinuteLimiter<Int64>
    /// Turns of the requests that change a session; no request that has one waits for another session's.
    let turns = TurnQueue<Int64>.ofChanges(maximumWaiting: PageServer.changesPerMinute)
    /// The limit of requests with each address of feeds.
    let feedRequests: MinuteLimiter<Int64>
    /// The limit of searches and selections of each client network: each reads all news in memory.
    let searches: MinuteLimiter<String>
    /// The limit of requests for pictures of each client network.
    let imageRequests: MinuteLimiter<String>
    /// Tag prefixes that identify users.
    let reservedTags: ReservedTagPrefixes
    /// The largest number of categories of a reader, chosen or not.
    let maximumCategories: Int
    /// The file of the hub's own authority; `nil` for a hub with another certificate, or without TLS.
    let authorityPath: String?
    /// The appearance of the pages of each hub for which the operator has set one.
    let appearances: [HubName: PageAppearance]
    /// The pictures of news; `nil` if no hub shows any.
    let images: NewsImages?
    let service: HubService
    let backend: BackendMount?
    /// Time between two checks of the database.
    let checkInterval: Duration
    let logger: Logger
    /// The creation times of hubs by folded name, as recorded in ``store``.
    private let identities = Mutex<[String: Timestamp]>([:])

    /// Creates the pages' server; users can sign in at the pages of the hub that `backend` belongs to.
    ///
    /// `images` fetches the pictures of news, from these addresses; its owner ends the client.
    ///
    /// - Throws: An error if a template is invalid, which is a fault of the build.
    package init(
        store: PageStore,
        on service: HubService,
        _ configuration: HubConfiguration,
        appearances: [HubName: PageAppearance] = [:],
        images: (http: OutboundClient, addresses: AddressPolicy)? = nil,
        backend: BackendMount? = nil,
        clock: BackendClock = .system,
        checkInterval: Duration = .seconds(5),
        logger: Logger
    ) throws {
        self.store = store
        self.service = service
        self.appearances = appearances
        let showsImages = appearances.values.contains(where: \.showsImages)
        self.images = images.flatMap { http, addresses in
            showsImages ? NewsImages(http, addresses: addresses, time: clock.monotonic) : nil
        }
        self.backend = backend
        self.logger = logger
        self.clock = clock
        self.checkInterval = checkInterval
        changes = MinuteLimiter(Self.changesPerMinute, clock: clock.monotonic)
        feedRequests = MinuteLimiter(ReaderFeedAddress.requestsPerMinute, clock: clock.monotonic)
        imageRequests = MinuteLimiter(Self.imagesPerMinute, clock: clock.monotonic)
        searches = MinuteLimiter(Self.searchesPerMinute, clock: clock.monotonic)
        accessPolicy = PageAccessPolicy(configuration)
        proxies = TrustedProxies(configuration.trustedProxies)
        reservedTags = configuration.reservedTags
        // One tag is the user's.
        maximumCategories = min(ReaderChoice.maximumCategories, max(0, configuration.maximumTags - 1))
        authorityPath =
            if case .local(let local)? = configuration.certificate {
                LocalCertificates.authorityPath(in: local.directory)
            } else { nil }
        templates = try PageTemplates()
    }

    /// True if readers on this machine need no invitation.
    package var isOpenHere: Bool { accessPolicy.access == .public || accessPolicy.admitsThisMachine }

    /// `nil` for a hub that is unknown or disabled.
    func hub(_ name: HubName) -> LocalHub? { service.localHub(name) }

    /// The app backend whose users can sign in at a hub's pages; `nil` if nobody can sign in.
    ///
    /// Waits while its database is being opened, so only requests that need users may ask for it.
    ///
    /// - Throws: ``BackendRefusal`` when its database cannot be used at the moment.
    func backend(of hub: LocalHub) async throws(BackendRefusal) -> AppBackend? {
        guard let backend, backend.hubName == hub.name else { return nil }
        return try await backend.backend()
    }

    /// True if users can sign in at a hub's pages, as far as that is known without waiting.
    func hasUsers(_ hub: LocalHub) -> Bool {
        guard let backend, backend.hubName == hub.name else { return false }
        return backend.hasUsers
    }

    /// Ends the sessions and invitations of an earlier hub with this name.
    func noteIdentity(of hub: LocalHub) async throws {
        guard let createdAt = try await hub.createdAt() else { throw PageRefusal.notFound }
        guard identities.withLock({ $0[hub.name.folded] }) != createdAt else { return }
        try await store.note(hub.name, createdAt: createdAt)
        identities.withLock { $0[hub.name.folded] = createdAt }
    }

    /// The largest number of changes of a session in a minute.
    ///
    /// A page that loses its stream reconnects every two seconds.
    static let changesPerMinute = 60

    /// The largest number of searches and selections of a client network in a minute.
    static let searchesPerMinute = 60

    /// The largest number of requests for pictures of a client network in a minute.
    ///
    /// Twelve pages have as many if each of their stories has one; browsers keep them for an hour.
    static let imagesPerMinute = 600

    /// Creates a responder for all routes of the pages.
    package func responder() -> RouterResponder<WebContext<Never>> {
        let router = Router(context: WebContext<Never>.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: HeadMiddleware())
        router.add(middleware: errors)
        router.add(middleware: IdentifyClient<Never>(trustedProxies: proxies))
        // Hubs can have the same picture or colour.
        for asset in (WebAsset.all + appearances.values.flatMap(\.assets)).distinct(by: \.path) {
            router.get(RouterPath(asset.path)) { _, _ in asset.response }
        }
        router.get("/") { request, context in
            try await FrontPage(pages: self).response(to: request, context)
        }
        if accessPolicy.access == .public {
            router.on(RouterPath(FeedPageRoutes.address), method: .options) { _, _ in
                CrossOrigin.publicFeedPreflight
            }
        }
        for route in PageRoutes.all {
            router.on(RouterPath(route.address), method: route.method) { request, context in
                try await self.respond(to: request, by: route, hub: context.parameters.get("hub") ?? "", context)
            }
            guard route.address == PageRoute.home else { continue }
            // Hubs may have these names; without these routes the router would match the files only.
            router.on("/-/assets", method: route.method) { request, context in
                try await self.respond(to: request, by: route, hub: "assets", context)
            }
            addWorker(to: router, beside: route)
        }
        return router.buildResponder()
    }

    /// Adds the route of the worker's file.
    ///
    /// A hub can be named `sw.js`: its address is the one that ends in a slash.
    private func addWorker(to router: Router<WebContext<Never>>, beside home: PageRoute) {
        let name = String(WorkerFile.path.dropFirst("/-/".count))
        router.on(RouterPath(WorkerFile.path), method: home.method) { request, context in
            guard request.uri.path.hasSuffix("/") else {
                return WorkerFile.response(in: FormFields(request.uri.query)["language"])
            }
            return try await self.respond(to: request, by: home, hub: name, context)
        }
    }

    private func respond(
        to request: Request,
        by route: PageRoute,
        hub name: String,
        _ context: WebContext<Never>
    ) async throws -> Response {
        let page: PageRequest
        do {
            page = try await pageRequest(request, hub: name, context)
        } catch is PageRefusal where route.address == FeedPageRoutes.address {
            // Feed readers get the same refusal for every reason.
            return await FeedPageRoutes.answer(request, context, by: service, isProven: false)
        }
        if let address = page.otherSpelling { return page.movedPermanently(address) }
        return try await route.handle(page)
    }

    /// A request to a page of a hub, whose name is a segment of the path.
    private func pageRequest(
        _ request: Request,
        hub name: String,
        _ context: WebContext<Never>
    ) async throws -> PageRequest {
        let text = PercentEncoding.decode(name)
        // An unknown hub, a disabled hub and a hub without pages look the same.
        guard accessPolicy.access != .off, let name = text.flatMap({ try? HubName($0) }), let hub = hub(name) else {
            throw PageRefusal.notFound
        }
        try await noteIdentity(of: hub)
        return PageRequest(pages: self, hub: hub, request: request, context: context)
    }

    var errors: PageErrors { PageErrors(logger: logger, templates: templates) }

    /// Decides about a request for a reader's stream that is the first on its connection: it passes no router, which
    /// could only give it the body of a response.
    func streamAnswer(to request: Request, on channel: any Channel, _ logger: Logger) async -> StreamAnswer {
        var context = WebContext<Never>(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        context.client.identify(request.head, through: proxies)
        do {
            // What other nodes have written decides who may read.
            try await service.catchUp()
            let hub = ReaderRoutes.hub(ofEvents: request.uri.path) ?? ""
            let page = try await pageRequest(request, hub: hub, context)
            if let address = page.otherSpelling { return .response(page.movedPermanently(address)) }
            return try await ReaderRoutes.stream(page)
        } catch {
            let route = "\(PageRoute.home)\(ReaderRoutes.events)"
            return .response(errors.response(to: error, of: route, in: request.words))
        }
    }
}

extension WebAsset {
    fileprivate var response: Response {
        var headers = PageHeaders.common(mediaType)
        headers[.cacheControl] = "public, max-age=31536000, immutable"
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }
}

extension WorkerFile {
    fileprivate static func response(in language: String?) -> Response {
        var headers = PageHeaders.common(mediaType)
        headers[.cacheControl] = "no-cache"
        headers[.contentSecurityPolicy] = "default-src 'none'; connect-src 'self'"
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body(in: language))))
    }
}
