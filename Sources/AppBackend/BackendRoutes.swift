package import HTTPTypes
import Hummingbird

/// One operation of the app backend, for users who have signed in: its address, and what it does.
package struct BackendRoute: Sendable {
    package let method: HTTPRequest.Method
    /// With parameters, as in `/api/register/:id`.
    package let address: String
    let handle: @Sendable (BackendRequest) async throws -> Response

    init(
        _ method: HTTPRequest.Method,
        _ address: String,
        handle: @escaping @Sendable (BackendRequest) async throws -> Response
    ) {
        self.method = method
        self.address = address
        self.handle = handle
    }
}

/// Every operation beside ``LoginRoutes``; another address is answered with 404.
package enum BackendRoutes {
    package static let all: [BackendRoute] = RegisterRoutes.routes + NotificationRoutes.routes + SecureRoutes.routes
}
