package import HubClient
import HTTPTypes

extension BackendRefusal {
    /// When a client may try again what the hub could not do now.
    static let hubRetry = Duration.seconds(5)

    /// A failure of the hub, as clients of the app backend see it: they know nothing of a hub.
    package init(_ error: HubClientError) {
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
        case .refused, .malformedReply:
            self = BackendRefusal(.badGateway, "The notification hub failed: \(error).", cause: error)
        }
    }

    private static let unreachable = unavailable(
        "The notification hub cannot be reached now.",
        retryAfter: hubRetry
    )

    /// One answer for ids that are unknown, gone, or another device's: nobody learns which.
    static let goneRegistration = gone("The registration id cannot be used: ask for a new one.")

    static let busyDevice = unavailable("Other requests change this device all the time.", retryAfter: .seconds(1))
}
