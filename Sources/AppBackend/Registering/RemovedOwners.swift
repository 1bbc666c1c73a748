import Logging
import ServiceLifecycle

/// Deletes the devices of removed users at the hub, and retries until the hub has done so.
///
/// The hub may be away when a user is removed, and continues to notify these devices.
struct RemovedOwners: Service {
    /// Between two attempts.
    private static let interval = Duration.seconds(60)

    let devices: UserDevices
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var hasSaid = false
            while !Task.isCancelled {
                hasSaid = await clear(saying: !hasSaid)
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// Deletes what can be deleted now.
    ///
    /// - Parameter saying: False if the log has the failure already.
    /// - Returns: True if devices are left.
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
                    // The hub may accept the others.
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
                metadata: ["error.reason": "\(BackendStore.reason(failure))"]
            )
        }
        return true
    }
}
