internal import HubClient
internal import HubProtocol

/// A problem with the hub, worded for people.
struct HubProblem: Sendable, Equatable {
    /// A stable word; a problem of the same kind is not reported again in the next pass.
    let kind: String
    let line: String
    let hint: HubHint?
    /// True if waiting cannot help.
    let isConfiguration: Bool

    /// Describes an error, with the hub's address and the number of messages that wait.
    init(_ error: HubError, at hub: String, pending: Int) {
        let waiting = Counted.text(pending, "message waits", "messages wait")
        hint = error.hint
        switch error {
        case .refused(let status, let code, let detail, _) where error.isPermanent:
            let reason = detail.hasSuffix(".") ? String(detail.dropLast()) : detail
            kind = "refused \(code)"
            line = "hub '\(hub)' refuses this publisher with status \(status): \(reason); \(waiting)"
            isConfiguration = true
        case .unsupported(let status, _):
            kind = "refused \(status)"
            line = "hub '\(hub)' does not have what this publisher asks for: \(error); \(waiting)"
            isConfiguration = true
        case .refused(let status, _, _, _):
            kind = "busy"
            line = "hub '\(hub)' is too busy (status \(status)); \(waiting) for a later pass"
            isConfiguration = false
        case .unreachable, .malformedReply, .cancelled:
            kind = "away"
            line = "hub '\(hub)' is not available: \(error); \(waiting) for a later pass"
            isConfiguration = false
        }
    }
}
