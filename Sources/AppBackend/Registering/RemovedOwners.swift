import Logging
import ServiceLifecycle
import SQLiteFiles

/// Deletes the devices of removed users at the hub, and retries until they are deleted.
///
/// If the hub cannot be reached when a user is removed, it continues to notify the user's devices.
struct RemovedOwners: Service {
    /// The pause between two attempts.
    private static let interval = Duration.seconds(60)

    let devices: UserDevices
    /// False while another node of a hub does this.
    var isKeeper: @Sendable () -> Bool = { true }
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var hasSaid = false
            while !Task.isCancelled {
                if isKeeper() { hasSaid = await clear(saying: !hasSaid) }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// Deletes the devices that can be deleted now.
    ///
    /// - Parameter saying: False if the failure has already been logged.
    /// - Returns: True if devices remain.
    func clear(saying: Bool = true) async -> Bool {
        var failure: (any Error)?
        do {
            for user in try await devices.store.removedOwners() {
                do {
                    try await devices.removeAll(of: user)
                    logger.notice(
                        "the devices of a removed user were deleted at the hub",
                        metadata: ["user.name": "\(user)"]
                    )
                } catch let refusal as BackendRefusal where !refusal.isTemporary {
                    // The hub may still accept the other deletions.
                    failure = refusal
                }
            }
        } catch {
            failure = error
        }
        guard let failure else { return false }
        if saying, !Task.isCancelled {
            logger.warning(
                "devices of removed users are still registered at the hub; retrying every minute",
                metadata: ["error.reason": "\(DatabaseFileError.reason(failure))"]
            )
        }
        return true
    }
}
