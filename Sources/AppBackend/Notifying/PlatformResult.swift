import Formats
import HTTPTypes
import HubProtocol
import Hummingbird

/// The result of a notification on one platform, for its sender; it never includes the number of devices.
struct PlatformResult: Sendable, Equatable {
    enum Outcome: Sendable, Equatable {
        /// The hub has accepted it, for any number of devices.
        case accepted
        /// The hub does not have this platform, or the platform does not accept this kind of notification.
        case skipped(BackendRefusal)
        /// Sending failed; if that is not certain, devices may still get the notification.
        case failed(BackendRefusal, isCertain: Bool)

        /// The name of the outcome in replies and metrics.
        var name: String {
            typealias Name = PlatformOutcome.Name
            return switch self {
            case .accepted: Name.accepted
            case .skipped: Name.skipped
            case .failed: Name.failed
            }
        }

        /// The reason why the hub does not have it.
        var refusal: BackendRefusal? {
            switch self {
            case .accepted: nil
            case .skipped(let refusal), .failed(let refusal, _): refusal
            }
        }
    }

    let platform: NotifiedPlatform
    let outcome: Outcome

    var failure: BackendRefusal? { if case .failed(let refusal, _) = outcome { refusal } else { nil } }
    fileprivate var obstacle: BackendRefusal? { if case .skipped(let refusal) = outcome { refusal } else { nil } }
}

struct PlatformResults: Sendable {
    let results: [PlatformResult]
    let choice: PlatformChoice

    /// True if the hub has the notification for at least one platform.
    var isAccepted: Bool { results.contains { $0.outcome == .accepted } }

    /// True if devices may get the notification although the hub has not confirmed it.
    var isUncertain: Bool {
        results.contains { if case .failed(_, isCertain: false) = $0.outcome { true } else { false } }
    }

    /// Creates the reply: empty for the tutorials' clients, which would parse a body as XML.
    ///
    /// Failures that are not thrown are recorded in `log`.
    ///
    /// - Throws: The failure, if all chosen platforms failed. If some failed and the client does not ask for JSON, a
    ///   failure that names those platforms.
    func response(asJSON: Bool, log: HubFailureLog) throws(BackendRefusal) -> Response {
        if let refusal = total { throw refusal }
        let failures = results.filter { $0.failure != nil }
        guard asJSON || failures.isEmpty else {
            let lines = failures.map { "\($0.platform.rawValue): \($0.failure?.reason ?? "")" }
            throw BackendRefusal(
                .badGateway,
                "The notification was not sent everywhere. \(lines.joined(separator: " "))",
                cause: failures.first?.failure?.cause
            )
        }
        guard asJSON else { return .empty }
        let list = JSONText(array: outcomes(log: log).map(\.json))
        return .json(["results": list], status: failures.isEmpty ? .ok : .badGateway)
    }

    /// The results for clients; failures are recorded in `log`.
    func outcomes(log: HubFailureLog) -> [PlatformOutcome] {
        for failure in results.compactMap(\.failure) { log.note(failure) }
        return results.map { result in
            let reason = result.outcome.refusal?.reason
            return PlatformOutcome(platform: result.platform.rawValue, outcome: result.outcome.name, reason: reason)
        }
    }

    /// The reason why nothing was sent at all.
    private var total: BackendRefusal? {
        if isAccepted { return nil }
        if let failure = results.lazy.compactMap(\.failure).first { return failure }
        guard let obstacle = results.lazy.compactMap(\.obstacle).first else { return nil }
        guard choice == .all, obstacle.status == .conflict else { return obstacle }
        return .conflict("The hub cannot deliver to any platform: give it credentials.")
    }
}

extension PlatformOutcome {
    fileprivate var json: JSONText {
        ["platform": JSONText(platform), "outcome": JSONText(outcome), "reason": JSONText(reason)]
    }
}
