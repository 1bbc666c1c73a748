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
        let what: String
        (kind, what, isConfiguration) =
            switch error {
            case .refused(let status, let code, let detail, _) where error.isPermanent:
                ("refused \(code)", "refuses this publisher with status \(status): \(Self.clause(detail))", true)
            case .unsupported(let status, _):
                ("refused \(status)", "does not have what this publisher asks for: \(error)", true)
            case .refused(let status, _, _, _): ("busy", "is too busy (status \(status))", false)
            case .unreachable, .malformedReply, .cancelled: ("away", "is not available: \(error)", false)
            }
        line = "hub '\(hub)' \(what); \(waiting)\(isConfiguration ? "" : " for a later pass")"
        hint = error.hint
    }

    private static func clause(_ sentence: String) -> String {
        sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
    }
}
