import HTTPTypes
import Hummingbird

/// An operation of the pages: its address below a hub's, and its action.
struct PageRoute: Sendable {
    /// The address of a hub's main page.
    static let home = "/-/:hub"

    let method: HTTPRequest.Method
    /// The address with parameters, such as `/-/:hub/events`.
    let address: String
    let handle: @Sendable (PageRequest) async throws -> Response

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        handle: @escaping @Sendable (PageRequest) async throws -> Response
    ) {
        self.method = method
        address = Self.home + path
        self.handle = handle
    }
}

/// All operations; other addresses are answered with 404.
enum PageRoutes {
    static let all: [PageRoute] =
        ReaderRoutes.routes + EntryRoutes.routes + SignInRoutes.routes + DeviceRoutes.routes + NotifyRoutes.routes
        + SecureMessageRoutes.routes + PushRoutes.routes + CertificateRoutes.routes + FeedPageRoutes.routes
        + ImageRoutes.routes + OperatorRoutes.all
}
