import HTTPTypes
package import HubProtocol
package import Hummingbird
package import Logging
package import ServiceLifecycle
import Signals
package import WebEdge

/// The operations of signed-in users: registering devices, and notifying users by name.
///
/// An app backend is served by a process of its own, or by a hub. ``services`` must run as long as it is served.
package final class AppBackend: Sendable {
    package let devices: UserDevices
    let notifier: UserNotifier
    let payloads: SecurePayloads
    package let services: [any Service]

    let audit: AuditLog
    let configuration: BackendConfiguration
    let signIn: SignIn
    let platforms: HubPlatforms
    let counts = BackendCounts()
    let figures: SharedValue<BackendFigures>
    let hubFailures: HubFailureLog
    let store: BackendStore
    private let logger: Logger

    package init(
        store: BackendStore,
        secrets: PayloadBox,
        hub: any NotificationHub,
        configuration: BackendConfiguration,
        logger: Logger
    ) {
        let clock = configuration.clock
        audit = AuditLog(store: store, clock: clock, logger: logger)
        signIn = SignIn(
            store: store,
            audit: audit,
            hasher: configuration.hasher,
            clock: clock,
            mayNotifyRoles: configuration.mayNotifyRoles,
            provider: configuration.provider.map { OpenIDProvider($0, clock: clock, logger: logger) }
        )
        devices = UserDevices(store: store, hub: hub, audit: audit, configuration)
        platforms = HubPlatforms(hub: hub, clock: clock.monotonic)
        notifier = UserNotifier(hub: hub, platforms: platforms, counts: counts, clock: clock)
        // Clients without credentials may ask for the figures.
        figures = SharedValue(lifetime: configuration.figureInterval, clock: clock.monotonic) {
            try await store.figures(at: clock.now())
        }
        hubFailures = HubFailureLog(logger: logger, clock: clock)
        payloads = SecurePayloads(
            store: store,
            box: secrets,
            bounds: configuration.payloadBounds,
            clock: clock,
            logger: logger
        )
        services = [
            AccountUpkeep(
                store: store,
                audit: audit,
                clock: clock,
                isKeeper: configuration.isKeeper,
                logger: logger
            ),
            RemovedOwners(devices: devices, isKeeper: configuration.isKeeper, logger: logger),
            HubInspection(platforms: platforms, logger: logger),
        ]
        self.store = store
        self.configuration = configuration
        self.logger = logger
    }

    /// Checks that the store can be read.
    ///
    /// - Throws: The error of SQLite.
    package func probe() async throws { try await store.probe() }

    /// True if there is a user.
    package func hasUsers() async throws -> Bool { try await store.hasAccounts() }

    /// Creates a responder for all routes of the app backend.
    package func responder() -> RouterResponder<WebContext<Caller>> {
        let router = Router(
            context: WebContext<Caller>.self,
            options: [.caseInsensitive, .autoGenerateHeadEndpoints]
        )
        router.add(middleware: CountRequests(counts: counts))
        router.add(middleware: BackendErrors(logger: logger, hubFailures: hubFailures))
        router.add(middleware: IdentifyClient<Caller>(trustedProxies: configuration.trustedProxies))
        let open = router.group().add(middleware: RefuseCrossSite<Caller>())
        let requiring = RequireCaller(signIn: signIn, proxyUsers: configuration.proxyUsers)
        let guarded = router.group().add(middleware: requiring)
        for route in BackendRoutes.all {
            let group = route.access == .signedIn ? guarded : open
            group.on(RouterPath(route.address), method: route.method) { request, context in
                if context.user != nil, let channel = context.client.channel {
                    self.configuration.onSignedIn(channel)
                }
                return try await route.handle(BackendRequest(backend: self, request: request, context: context))
            }
        }
        return router.buildResponder()
    }
}
