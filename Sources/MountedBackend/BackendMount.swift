package import AppBackend
import Dispatch
import HostSystem
package import HubProtocol
package import HubServer
import Hummingbird
package import Logging
import ServiceLifecycle
import Signals
import Synchronization
import WebEdge

/// The app backend on a hub's port, whose hub is in the same process.
///
/// Without users there is no database: nobody can sign in, and no file is created. The database is opened as soon as it
/// exists.
package final class BackendMount: Sendable {
    /// The files of the app backend.
    package struct Files: Sendable {
        let database: String
        let key: String

        package init(database: String, key: String) {
            self.database = database
            self.key = key
        }

        /// True if there are users, or if a key shows that there were some.
        var exist: Bool { HostFile.exists(database) || HostFile.exists(key) }
    }

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
    }

    /// The hub whose users can sign in.
    package var hubName: HubName { hub.name }
    private let files: Files
    private let hub: LocalHub
    private let configuration: BackendConfiguration
    private let checkInterval: Duration
    private let logger: Logger
    private let state = Mutex(State())
    private let opening = SingleFlight<SingleKey, Void>()

    /// Creates an app backend for a server's primary hub.
    package init(
        _ files: Files,
        on service: HubService,
        configuration: BackendConfiguration,
        checkInterval: Duration = BackendMount.checkInterval,
        logger: Logger
    ) {
        self.files = files
        self.checkInterval = checkInterval
        self.logger = logger
        hub = service.primaryLocalHub
        var configuration = configuration
        configuration.onSignedIn = { service.prove($0) }
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
            metrics: { await self.metrics() }
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
            guard files.exist else { return nil }
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
        if let failure {
            logger.error("the app backend cannot use its files", metadata: ["error.reason": "\(failure)"])
        }
    }

    /// The app backend; `nil` while there is no database.
    ///
    /// Call ``prepare()`` first.
    ///
    /// - Throws: ``BackendRefusal`` when the database cannot be used.
    private func serving() throws(BackendRefusal) -> Serving? {
        if let serving = state.withLock({ $0.serving }) { return serving }
        guard files.exist else { return nil }
        throw Self.unusable
    }

    /// The app backend, for pages of this process; `nil` if there is no database of users.
    ///
    /// Waits while the database is being opened, which takes seconds if another process has locked the file.
    ///
    /// - Throws: ``BackendRefusal`` when the database cannot be used now.
    package func backend() async throws(BackendRefusal) -> AppBackend? {
        await prepare()
        return try serving()?.backend
    }

    /// True if the database of users exists, unless the last attempt to open it failed.
    package var hasUsers: Bool {
        let (isServing, hasFailed) = state.withLock { ($0.serving != nil, $0.failure != nil) }
        return isServing || !hasFailed && files.exist
    }

    /// Returns no lines without a database, and while it is being opened: the hub's metrics must not wait for it.
    private func metrics() async -> String {
        let (serving, hasFailed) = state.withLock { ($0.serving, $0.failure != nil) }
        if let serving { return await serving.backend.metrics() }
        return hasFailed && files.exist ? AppBackend.metricsOfUnusable : ""
    }

    private static let unusable = BackendRefusal.unavailable(
        "The server cannot do this now.",
        retryAfter: checkInterval
    )

    private func makeServing() throws -> Serving {
        let backend = AppBackend(
            store: try BackendStore(path: files.database, signs: [files.key]),
            secrets: try PayloadBox(keyFile: files.key),
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
