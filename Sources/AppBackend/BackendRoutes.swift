package import HTTPTypes
import Hummingbird

/// An operation of the app backend: its address, its allowed callers and its action.
package struct BackendRoute: Sendable {
    package enum Access: Sendable {
        /// Requests that carry their own credentials, such as a login.
        case anybody
        /// Monitors, whose requests have no credentials and get no user's data.
        case monitor
        /// A user authenticated by ``RequireCaller``.
        case signedIn
    }

    package let method: HTTPRequest.Method
    /// The address with parameters, such as `/api/register/:id`.
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

/// All operations; other addresses are answered with 404.
package enum BackendRoutes {
    package static let all: [BackendRoute] =
        LoginRoutes.routes + RegisterRoutes.routes + NotificationRoutes.routes + SecureRoutes.routes
        + HealthRoutes.routes + MetricsRoute.routes
}
