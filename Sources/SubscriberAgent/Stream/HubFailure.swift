import HostSystem
import HubClient
import HubProtocol

/// A failed call to the hub, by its consequence for the agent.
enum HubFailure: Error, Sendable, Equatable {
    /// Not reachable, busy or broken: try again.
    case away(String, retryAfter: Duration?, hint: HubHint? = nil)
    /// By the hub's clock, our token has expired; either clock may be corrected at any moment.
    case clockDiffers
    /// The hub does not know the installation, or the hub's name.
    case notFound(String)
    /// The installation exists with another secret.
    case foreign
    /// The hub rejects the cursor that was sent to it.
    case badCursor(AgentError)
    /// The next call will fail in the same way.
    case refused(AgentError)
    case cancelled

    init(_ error: HubError) {
        switch error {
        case .unreachable(let reason, _):
            self = .away(reason, retryAfter: nil, hint: error.hint)
        case .malformedReply(let reason):
            self = .away("its answer is not that of a hub: \(reason)", retryAfter: nil)
        case .cancelled:
            self = .cancelled
        case .refused(let status, let code, let detail, let retryAfter):
            self = Self.refusal(status, code, detail, retryAfter, error.hint)
        case .unsupported(let status, let detail):
            self = Self.refusal(status, status, detail, nil, error.hint)
        }
    }

    /// The pause that the hub asks for.
    var retryAfter: Duration? {
        if case .away(_, let retryAfter, _) = self { retryAfter } else { nil }
    }

    /// Makes the failure of a request for the stream that had a cursor.
    ///
    /// If the head is too large, the cursor is from an earlier version, which stored ids of any length.
    init(_ error: HubError, withCursor: Bool) {
        self.init(error)
        guard withCursor, case .refused(let refusal) = self, case .refused(let status, _, _, _) = error,
            [400, 431].contains(status)
        else { return }
        self = .badCursor(refusal)
    }

    /// The error of a command that does not retry.
    var asAgentError: AgentError {
        switch self {
        case .away(let reason, _, let hint):
            AgentError(.hubUnreachable, "cannot reach the hub: \(reason)", hint: hint.map { .hub($0) })
        case .clockDiffers: AgentError(.tryLater, Self.clockLine, hint: .clock)
        case .notFound(let detail): Self.noSuchHub(detail)
        case .foreign: Self.foreignError
        case .badCursor(let error), .refused(let error): error
        case .cancelled: AgentError(.failed, "interrupted")
        }
    }

    static let clockLine = "the hub reports that our token has expired, so its clock and this machine's differ"

    static func noSuchHub(_ detail: String) -> AgentError {
        AgentError(
            .badConfiguration,
            "the hub answered 404 (not found): \(detail)",
            hint: .hub(.hubName)
        )
    }

    static let foreignError = AgentError(
        .badConfiguration,
        "the hub has this installation with another secret",
        hint: .copiedState
    )

    private static func refusal(
        _ status: Int,
        _ code: Int,
        _ detail: String,
        _ retryAfter: Duration?,
        _ hint: HubHint?
    ) -> HubFailure {
        switch status {
        case 401 where code == ProtocolError.Code.expiredToken:
            .clockDiffers
        case 403 where retryAfter != nil:
            // The service answers in this way when a quota is used up (protocol §2).
            .away("it is throttling: \(detail)", retryAfter: retryAfter)
        case 403 where code == ProtocolError.Code.listenQuota:
            .away("it cannot store more now: \(detail)", retryAfter: nil)
        case 401, 403:
            .refused(
                AgentError(
                    .badConfiguration,
                    "the hub refused the key: \(status) \(detail)",
                    hint: hint.map { .hub($0) }
                )
            )
        case 404: .notFound(detail)
        case 409: .foreign
        case 408, 425, 429, 500...: .away("it answered \(status): \(detail)", retryAfter: retryAfter)
        default: .refused(AgentError(.badConfiguration, "the hub refused the request: \(status) \(detail)"))
        }
    }
}
