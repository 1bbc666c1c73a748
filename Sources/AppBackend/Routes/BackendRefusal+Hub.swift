package import HubProtocol
import HTTPTypes

extension BackendRefusal {
    /// The time after which a client may repeat a request that the hub could not serve.
    static let hubRetry = Duration.seconds(5)

    /// Creates a refusal from a failure of the hub, which clients of the app backend do not know.
    package init(_ error: HubError) {
        switch error {
        case .cancelled: self = Self.unreachable
        case .unreachable: self = Self.unreachable.caused(by: error)
        case .refused(410, _, _, _): self = .goneRegistration
        case .refused(let status, _, let detail, let wait) where status == 429 || status == 503:
            self = .unavailable(
                "The notification hub is too busy now (\(status): \(detail))",
                retryAfter: wait ?? Self.hubRetry
            )
            .caused(by: error)
        case .refused, .unsupported, .malformedReply:
            self = BackendRefusal(.badGateway, "The notification hub failed: \(error).", cause: error)
        }
    }

    private static let unreachable = unavailable(
        "The notification hub cannot be reached now.",
        retryAfter: hubRetry
    )

    /// The refusal for ids that are unknown, gone or of another device, which clients cannot tell apart.
    static let goneRegistration = gone("The registration id cannot be used: ask for a new one.")

    static let busyDevice = unavailable("Other requests keep changing this device.", retryAfter: .seconds(1))
}
