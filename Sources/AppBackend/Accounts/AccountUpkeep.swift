import HostSystem
import HubProtocol
package import Logging
import ServiceLifecycle
import Signals
import SQLiteFiles
import Synchronization

/// Writes the audit log every second, and deletes outdated rows at the start and every hour.
package final class AccountUpkeep: Service {
    private static let flushInterval = Duration.seconds(1)
    static let purgeInterval = Duration.seconds(3_600)
    /// The largest drift between wall clock and monotonic clock in ``purgeInterval``.
    ///
    /// After a larger drift nothing is deleted: a wrong clock must not empty the audit log.
    static let clockTolerance = Duration.seconds(60)
    /// The largest age of the newest event at which the wall clock is trusted at the start.
    ///
    /// With an older event the clock may be ahead, as after a boot without a clock battery; nothing is deleted for an
    /// hour.
    static let startTolerance = Duration.seconds(7 * 86_400)

    private struct Look {
        let wall: Timestamp
        let monotonic: Duration
    }

    private let store: BackendStore
    private let audit: AuditLog
    private let clock: BackendClock
    private let isKeeper: @Sendable () -> Bool
    private let logger: Logger
    private let lastLook: Mutex<Look>

    /// `isKeeper` is false while another node of a hub deletes outdated rows.
    package init(
        store: BackendStore,
        audit: AuditLog,
        clock: BackendClock = .system,
        isKeeper: @escaping @Sendable () -> Bool = { true },
        logger: Logger
    ) {
        self.isKeeper = isKeeper
        self.store = store
        self.audit = audit
        self.clock = clock
        self.logger = logger
        lastLook = Mutex(Look(wall: clock.now(), monotonic: clock.monotonic()))
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown { await self.purgeAtStart() }
        await repeatUntilStopped(every: Self.flushInterval) {
            await self.audit.flush()
            await self.purgeIfDue()
        }
        await audit.flush()
    }

    /// Purges an hour after the start and then every hour, if the wall clock has kept pace with the monotonic clock.
    func purgeIfDue() async {
        let look = Look(wall: clock.now(), monotonic: clock.monotonic())
        let isDue = lastLook.withLock { last in
            let elapsed = look.monotonic - last.monotonic
            guard elapsed >= Self.purgeInterval else { return false }
            let drift = (look.wall - last.wall) - elapsed
            last = look
            return drift <= Self.clockTolerance && drift >= .zero - Self.clockTolerance
        }
        guard isDue, isKeeper() else { return }
        await purging { try await purge(at: look.wall) }
    }

    /// Purges if the wall clock is plausible given the newest event.
    func purgeAtStart() async {
        guard isKeeper() else { return }
        let now = clock.now()
        await purging {
            guard let newest = try await store.newestEvent() else { return }
            let elapsed = now - newest
            guard elapsed >= .zero - Self.clockTolerance, elapsed <= Self.startTolerance else { return }
            try await purge(at: now)
        }
    }

    private func purging(_ work: () async throws -> Void) async {
        do {
            try await work()
        } catch {
            // A stop is no failure.
            if Task.isCancelled { return }
            let reason = DatabaseFileError.reason(error)
            logger.warning(
                "cannot delete old tokens, payloads and audit entries; will retry",
                metadata: ["error.reason": "\(reason)"]
            )
        }
    }

    private func purge(at now: Timestamp) async throws {
        try await store.boundAudit()
        try await store.deleteAudit(before: now - AuditLog.retention)
        try await store.deleteTokens(expiredBefore: now)
        try await store.releaseNames(before: now - Accounts.nameRetention)
        try await store.changePayloads { try $0.deleteExpired(by: now) }
    }
}
