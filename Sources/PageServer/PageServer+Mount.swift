import AppBackend
import HubProtocol
package import HubServer
import Logging
import MountedBackend
import ServiceLifecycle
import Signals

extension PageServer {
    /// The application that the hub mounts.
    package var application: MountedApplication {
        MountedApplication(
            "pages",
            below: "-",
            servesRoot: true,
            responder: responder(),
            streams: MountedApplication.Streams(isPath: { ReaderRoutes.hub(ofEvents: $0) != nil }) {
                await self.streamAnswer(to: $0, on: $1, $2)
            },
            services: [SessionUpkeep(pages: self), StoreCheck(pages: self)],
            obstacle: { self.store.obstacle.map { "the database cannot be used: \($0)" } },
            refuse: { self.errors.response(to: $1, of: "", in: $0.words) }
        )
    }

    /// Ends expired sessions, and deletes what they and former sessions registered.
    ///
    /// - Throws: The first failure, after the sessions that have none.
    func endExpiredSessions() async throws {
        var failure: (any Error)?
        func attempt(_ work: () async throws -> Void) async {
            do { try await work() } catch { failure = failure ?? error }
        }
        await attempt { try await store.dropExpiredDrafts(at: clock.now()) }
        // Sessions of deleted hubs end, and a hub without sessions may have installations of former ones.
        let served = Set(service.hubNames.map(\.folded))
        for name in service.hubNames + (try await store.hubNames().filter { !served.contains($0.folded) }) {
            let hub = hub(name)
            // The registrations of a deleted hub are gone; those of a disabled hub must wait.
            guard hub != nil || !service.has(name) else { continue }
            await attempt {
                if let hub { try await noteIdentity(of: hub) }
                let registrar = hub.map { ReaderRegistrar(pages: self, hub: $0) }
                for session in try await store.expired(hub: name, at: clock.now(), limit: Self.endedAtOnce) {
                    await attempt { try await end(session, registrar) }
                }
                if let registrar {
                    let count = try await registrar.removeStrays()
                    guard count > 0 else { return }
                    logger.notice(
                        "removed devices of readers whose sessions are gone",
                        metadata: ["hub.name": "\(name)", "devices.removed": "\(count)"]
                    )
                }
            }
        }
        if let failure { throw failure }
    }

    /// Ends a session in its turn, unless its reader has come back.
    private func end(_ session: ReaderSession, _ registrar: ReaderRegistrar?) async throws {
        try await turns.pass(session.id) {
            guard let session = try await store.session(id: session.id),
                session.seenAt <= clock.now() - ReaderSession.lifetime
            else { return }
            try await registrar?.remove(session)
            try await store.end(session)
        }
    }

    /// The largest number of sessions of a hub that are ended in one round; others wait for the next round.
    private static let endedAtOnce = 500

    /// Checks regularly whether the database can be used, and logs each change.
    private struct StoreCheck: Service {
        let pages: PageServer

        func run() async throws {
            await cancelWhenGracefulShutdown {
                var former: String?
                while (try? await Task.sleep(for: pages.checkInterval)) != nil {
                    await pages.store.check()
                    let obstacle = pages.store.obstacle
                    if let obstacle, obstacle != former {
                        pages.logger.warning("the pages are not ready", metadata: ["error.reason": "\(obstacle)"])
                    } else if obstacle == nil, former != nil {
                        pages.logger.notice("the pages are ready again")
                    }
                    former = obstacle
                }
            }
        }
    }

    private struct SessionUpkeep: Service {
        static let interval = Duration.seconds(3_600)

        let pages: PageServer

        func run() async throws {
            await repeatUntilStopped(every: Self.interval, startsNow: true) {
                // Another node of the hub does it.
                guard pages.service.isWriter else { return }
                do {
                    try await pages.endExpiredSessions()
                } catch {
                    // A stop is no failure.
                    if Task.isCancelled { return }
                    pages.logger.warning(
                        "cannot end expired sessions of readers; will retry",
                        metadata: ["error.reason": "\(error)"]
                    )
                }
            }
        }
    }
}
