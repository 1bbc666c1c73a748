package import AppBackend
import Dispatch
import HostSystem
package import HubProtocol
package import HubServer
import Hummingbird
package import Logging
import ServiceLifecycle
package import SQLiteFiles
import Signals
import Synchronization
import WebEdge

/// The app backend on a hub's port, whose hub is in the same process.
///
/// Without users there is no database: nobody can sign in, and no file is created. The database is opened as soon as it
/// exists. The tables of a hub that shares its log are always there.
package final class BackendMount: Sendable {
    /// The place of accounts and payloads.
    package enum Storage: Sendable {
        /// Files of this hub alone.
        case files(database: String, key: String)
        /// Tables in the hub's file, and the key of all nodes.
        case tables(any TableDatabase, key: [UInt8])

        /// False if there are no users, and no key shows that there were some.
        var exists: Bool {
            switch self {
            case .files(let database, let key): HostFile.exists(database) || HostFile.exists(key)
            case .tables: true
            }
        }

        fileprivate func open() throws -> (BackendStore, PayloadBox) {
            switch self {
            case .files(let database, let key):
                (try BackendStore(path: database, signs: [key]), try PayloadBox(keyFile: key))
            case .tables(let tables, let key): (BackendStore(in: tables), PayloadBox(key: key))
            }
        }
    }

    /// The purpose of the key with which all nodes of a hub encrypt payloads.
    package static let payloadKey = "payloads"
    /// Time between two checks for the database, and then of the app backend.
    package static let checkInterval = Duration.seconds(5)

    private struct Serving: Sendable {
        let backend: AppBackend
        let responder: RouterResponder<WebContext<Caller>>
    }

    private struct State {
        var serving: Serving?
        /// The reason why the database could not be opened, and the time when the next attempt may be made.
        var failure: (reason: String, until: ContinuousClock.Instant)?
        /// The reason why the app backend cannot serve, found by the last check.
        var obstacle: String?
        /// True if the last check has found users in a hub's tables.
        var hasUsers = false
    }

    /// The hub whose users can sign in.
    package var hubName: HubName { hub.name }
    private let storage: Storage
    private let hub: LocalHub
    private let configuration: BackendConfiguration
    private let checkInterval: Duration
    private let logger: Logger
    private let state = Mutex(State())
    private let opening = SingleFlight<SingleKey, Void>()

    /// Creates an app backend for a server's primary hub.
    package init(
        _ storage: Storage,
        on service: HubService,
        configuration: BackendConfiguration,
        checkInterval: Duration = BackendMount.checkInterval,
        logger: Logger
    ) {
        self.storage = storage
        self.checkInterval = checkInterval
        self.logger = logger
        hub = service.primaryLocalHub
        var configuration = configuration
        configuration.onSignedIn = { service.prove($0) }
        configuration.isKeeper = { service.isWriter }
        self.configuration = configuration
    }

    /// The application that the hub mounts.
    package var application: MountedApplication {
        MountedApplication(
            "app backend",
            below: "api",
            responder: Responder(mount: self),
            services: [Upkeep(mount: self)],
            obstacle: { self.state.withLock { $0.obstacle } },
            metrics: { await self.metrics() },
            refuse: { BackendRefusal($1).response(to: $0) }
        )
    }

    /// Opens the database if it exists and is not open yet; returns when it is open or has failed to open.
    ///
    /// After a failure, the next attempt is made ``checkInterval`` later at the earliest.
    private func prepare() async {
        let running = state.withLock { state -> Task<Void, any Error>? in
            if state.serving != nil { return nil }
            if let running = opening.current { return running }
            if let failure = state.failure, .now < failure.until { return nil }
            guard storage.exists else { return nil }
            return opening.join { await self.open() }
        }
        _ = await running?.result
    }

    private func open() async {
        // Opening waits for the disk, for other processes' locks and for migrations, which must not block a task's
        // thread.
        let result = await DispatchQueue.global().run { Result { try self.makeServing() } }
        let failure = state.withLock { state -> String? in
            switch result {
            case .success(let serving):
                state.serving = serving
                state.failure = nil
                return nil
            case .failure(let error):
                let former = state.failure?.reason
                state.failure = ("\(error)", .now + checkInterval)
                return former == "\(error)" ? nil : "\(error)"
            }
        }
        await lookForUsers()
        if let failure {
            logger.error("the app backend cannot use its files", metadata: ["error.reason": "\(failure)"])
        }
    }

    /// Notes whether there are users in a hub's tables.
    private func lookForUsers() async {
        guard case .tables = storage, let backend = state.withLock({ $0.serving })?.backend,
            let hasUsers = try? await backend.hasUsers()
        else { return }
        state.withLock { $0.hasUsers = hasUsers }
    }

    /// The app backend; `nil` while there is no database.
    ///
    /// Call ``prepare()`` first.
    ///
    /// - Throws: ``BackendRefusal`` when the database cannot be used.
    private func serving() throws(BackendRefusal) -> Serving? {
        if let serving = state.withLock({ $0.serving }) { return serving }
        guard storage.exists else { return nil }
        throw Self.unusable
    }

    /// The app backend, for pages of this process; `nil` if there is no database of users.
    ///
    /// Waits while the database is being opened, which takes seconds if another process has locked the file.
    ///
    /// - Throws: ``BackendRefusal`` when the database cannot be used now.
    package func backend() async throws(BackendRefusal) -> AppBackend? {
        await prepare()
        // The first user need not wait for the next check.
        if !hasUsers { await lookForUsers() }
        return try serving()?.backend
    }

    /// True if the database of users exists, unless the last attempt to open it failed.
    package var hasUsers: Bool {
        let (isServing, hasFailed, hasFound) = state.withLock { ($0.serving != nil, $0.failure != nil, $0.hasUsers) }
        if case .tables = storage { return hasFound }
        return isServing || !hasFailed && storage.exists
    }

    /// Returns no lines without a database, and while it is being opened: the hub's metrics must not wait for it.
    private func metrics() async -> String {
        let (serving, hasFailed) = state.withLock { ($0.serving, $0.failure != nil) }
        if let serving { return await serving.backend.metrics() }
        return hasFailed && storage.exists ? AppBackend.metricsOfUnusable : ""
    }

    private static let unusable = BackendRefusal.unavailable(
        "The server cannot do this now.",
        retryAfter: checkInterval
    )

    private func makeServing() throws -> Serving {
        let (store, secrets) = try storage.open()
        let backend = AppBackend(
            store: store,
            secrets: secrets,
            hub: hub,
            configuration: configuration,
            logger: logger
        )
        return Serving(backend: backend, responder: backend.responder())
    }

    /// Checks whether the app backend can serve, and logs each change.
    private func check() async {
        await prepare()
        var obstacle: String?
        do throws(BackendRefusal) {
            obstacle = await (try serving())?.backend.obstacle()
        } catch {
            obstacle = "the database cannot be used"
        }
        let (now, before) = state.withLock { state in
            defer { state.obstacle = obstacle }
            return (obstacle, state.obstacle)
        }
        await lookForUsers()
        guard now != before else { return }
        if let now {
            logger.warning("the app backend is not ready", metadata: ["error.reason": "\(now)"])
        } else {
            logger.notice("the app backend is ready again")
        }
    }
}

extension BackendMount {
    private struct Responder: HTTPResponder {
        let mount: BackendMount

        func respond(to request: Request, context: WebContext<Caller>) async throws -> Response {
            await mount.prepare()
            let serving: Serving?
            do throws(BackendRefusal) {
                serving = try mount.serving()
            } catch {
                return try error.response(from: request, context: context)
            }
            guard let serving else {
                // The refusal of every request without a valid sign-in.
                let refusal = BackendRefusal.unauthorized("Sign in with a name and password, or with a token.")
                return try refusal.response(from: request, context: context)
            }
            return try await serving.responder.respond(to: request, context: context)
        }
    }

    /// Runs the app backend's services once it is open, and checks regularly whether it can serve.
    private struct Upkeep: Service {
        let mount: BackendMount

        func run() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await repeatUntilStopped(every: mount.checkInterval, startsNow: true) { await mount.check() }
                }
                if let backend = await mount.opened() {
                    for service in backend.services { group.addTask { try await service.run() } }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Waits until the app backend is open; returns `nil` if the hub stops first.
    private func opened() async -> AppBackend? {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                if let serving = self.state.withLock({ $0.serving }) { return serving.backend }
                try? await Task.sleep(for: .seconds(1))
            }
            return nil
        }
    }
}
