package import HTTPTypes
import Hummingbird

/// One operation of the app backend: its address, who may call it, and what it does.
package struct BackendRoute: Sendable {
    package enum Access: Sendable {
        /// Requests that bring their own proof, such as a log-in.
        case anybody
        /// Monitors, whose requests have no credentials and get nothing of any user.
        case monitor
        /// A user whom ``RequireCaller`` has found.
        case signedIn
    }

    package let method: HTTPRequest.Method
    /// With parameters, as in `/api/register/:id`.
    package let address: String
    package let access: Access
    let handle: @Sendable (BackendRequest) async throws -> Response

    init(
        _ method: HTTPRequest.Method,
        _ address: String,
        access: Access = .signedIn,
        handle: @escaping @Sendable (BackendRequest) async throws -> Response
    ) {
        self.method = method
        self.address = address
        self.access = access
        self.handle = handle
    }
}

/// Every operation; another address is answered with 404.
package enum BackendRoutes {
    package static let all: [BackendRoute] =
        LoginRoutes.routes + RegisterRoutes.routes + NotificationRoutes.routes + SecureRoutes.routes
        + HealthRoutes.routes + MetricsRoute.routes
}
