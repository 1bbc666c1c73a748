internal import HubClient

/// A failure of the hub, as lines for people.
struct HubFailure: Sendable, Equatable {
    /// Stable word; the same kind again in the next pass is not news.
    let kind: String
    let line: String
    let advice: String?
    /// True if waiting cannot help.
    let isConfiguration: Bool

    /// Puts an error into words, with the hub's address and the number of messages that wait meanwhile.
    init(_ error: HubClientError, at hub: String, pending: Int) {
        let waiting = pending == 1 ? "1 message waits" : "\(pending) messages wait"
        switch error {
        case .refused(let status, _, let detail, _) where error.isPermanent:
            let reason = detail.hasSuffix(".") ? String(detail.dropLast()) : detail
            kind = "refused \(status) \(reason)"
            line = "hub '\(hub)' refuses this publisher with \(status): \(reason); \(waiting)"
            advice =
                switch status {
                case 401 where reason.contains("claim is required"):
                    "this key is for those who listen; 'newswire hub keys' shows the connection string that may send"
                case 401: "check the key in the connection string, and this machine's clock"
                case 403: "the connection string's rule needs the claim Send"
                case 404: "check the hub's name"
                default: "check that the connection string leads to a notification hub"
                }
            isConfiguration = true
        case .refused(let status, _, _, _):
            kind = "busy"
            line = "hub '\(hub)' is too busy (it answers \(status)); \(waiting) for a later pass"
            advice = nil
            isConfiguration = false
        case .unreachable, .malformedReply, .cancelled:
            kind = "away"
            line = "hub '\(hub)' is away: \(error); \(waiting) for a later pass"
            advice = nil
            isConfiguration = false
        }
    }
}
