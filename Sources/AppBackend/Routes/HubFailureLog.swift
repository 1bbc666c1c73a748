import HTTPTypes
import Logging
import WebEdge

/// Logs failures of the hub.
///
/// If the hub is down, every request fails; each kind of failure is logged once a minute.
final class HubFailureLog: Sendable {
    /// A logger of our own, since a request's logger adds other keys.
    private let logger: Logger
    private let warnings: MinuteLimiter<HTTPResponse.Status>

    init(logger: Logger, clock: BackendClock) {
        self.logger = logger
        warnings = MinuteLimiter(1, clock: clock.monotonic)
    }

    /// Logs the hub's failure that caused a refusal, if there is one.
    func note(_ refusal: BackendRefusal) {
        guard let cause = refusal.cause, warnings.admit(refusal.status) == nil else { return }
        logger.warning("the hub failed", metadata: ["error.reason": "\(cause)"])
    }
}
