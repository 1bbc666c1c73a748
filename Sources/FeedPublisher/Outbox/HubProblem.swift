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
        func refused(_ status: Int, _ code: Int, _ detail: String) -> (kind: String, line: String, Bool) {
            let reason = detail.hasSuffix(".") ? String(detail.dropLast()) : detail
            let line = "hub '\(hub)' refuses this publisher with status \(status): \(reason); \(waiting)"
            return ("refused \(code)", line, true)
        }
        switch error {
        case .refused(let status, let code, let detail, _) where error.isPermanent:
            (kind, line, isConfiguration) = refused(status, code, detail)
        case .unsupported(let status, let detail): (kind, line, isConfiguration) = refused(status, status, detail)
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
