import HTTPTypes
import Logging

/// Logs why the hub failed.
///
/// A hub that is down fails every request; each kind of failure is logged once a minute.
final class HubFailureLog: Sendable {
    /// Not a request's own, which adds keys that are not ours.
    private let logger: Logger
    private let warnings: MinuteLimiter<HTTPResponse.Status>

    init(logger: Logger, clock: BackendClock) {
        self.logger = logger
        warnings = MinuteLimiter(1, clock: clock.monotonic)
    }

    /// Notes the failure of the hub that a refusal comes from, if it does.
    func note(_ refusal: BackendRefusal) {
        guard let cause = refusal.cause, warnings.admit(refusal.status) == nil else { return }
        logger.warning("the hub failed", metadata: ["error.reason": "\(cause)"])
    }
}
