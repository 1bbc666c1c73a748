import HostSystem
import HubClient
import HubProtocol

/// Recovery of a receiver from failures of the hub.
extension StreamReceiver {
    mutating func recover(from failure: HubFailure) async throws(AgentError) {
        switch failure {
        case .cancelled:
            if !Task.isCancelled { await wait() }
        case .refused(let error):
            throw error
        case .badCursor(let error):
            guard !hasDroppedCursor else { throw error }
            hasDroppedCursor = true
            try await storing(store.forgetCursor)
            unsavedCursor = nil
            environment.reporter.warning(
                "the stream cannot be resumed from the stored position, which is deleted (\(error)); "
                    + "messages that the hub still has are sent again and skipped"
            )
        case .foreign:
            throw HubFailure.foreignError
        case .clockDiffers:
            if !hasSaidClock {
                environment.reporter.warning("\(HubFailure.clockLine); retrying")
                environment.reporter.hint(.clock)
            }
            hasSaidClock = true
            await wait()
        case .away(let reason, let retryAfter, let hint):
            if presence.failed() {
                environment.reporter.warning("the hub is not available: \(reason); retrying until it is")
                if let hint { environment.reporter.hint(.hub(hint)) }
            }
            await wait(retryAfter: retryAfter)
        case .notFound(let detail):
            unknownInRow += 1
            mustRegister = true
            guard unknownInRow < Self.maximumUnknown else {
                throw AgentError(
                    .badConfiguration,
                    "the hub accepts this installation but has no event stream for it: \(detail)",
                    hint: .noStreams
                )
            }
            if unknownInRow > 1 { await wait() }
        }
    }

    mutating func wait(retryAfter: Duration? = nil) async {
        flow.caughtUp()
        // A stop ends the sleep early; the caller's loop checks for it.
        try? await environment.sleep(backoff.next(retryAfter: retryAfter, random: environment.random()))
    }

    func sayBack() { environment.reporter.notice("the hub is available again") }
}
