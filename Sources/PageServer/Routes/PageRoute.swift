import HTTPTypes
import Hummingbird

/// One operation of the pages: its address below a hub's, and what it does.
struct PageRoute: Sendable {
    /// The address of a hub's first page.
    static let home = "/-/:hub"

    let method: HTTPRequest.Method
    /// With parameters, as in `/-/:hub/events`.
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

/// Every operation; another address is answered with 404.
enum PageRoutes {
    static let all: [PageRoute] =
        ReaderRoutes.routes + EntryRoutes.routes + SignInRoutes.routes + DeviceRoutes.routes + NotifyRoutes.routes
        + SecureMessageRoutes.routes + PushRoutes.routes + OperatorRoutes.all
}
