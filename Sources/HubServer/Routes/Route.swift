import HTTPTypes
import HubProtocol
import Hummingbird

/// One operation: its address, what it needs, what it does.
struct Route: Sendable {
    /// Whose rules allow it.
    enum Scope: Sendable, Equatable {
        /// The hub's that its address names, and the namespace's.
        case hub
        /// The namespace's alone.
        case namespace
    }

    /// A right that some of an operation's requests need in the place of the usual one.
    struct Exception: Sendable {
        let right: AccessRights
        /// A query that makes the exception, for whoever goes through the table.
        let example: String
        let isMeant: @Sendable (Request) -> Bool
    }

    enum Operation: Sendable {
        case ofHub(@Sendable (HubRequest, HubDirectory) async throws -> Response)
        case ofNamespace(@Sendable (NamespaceRequest) async throws -> Response)
    }

    let method: HTTPRequest.Method
    /// With `:hub` and other parameters.
    let address: String
    let scope: Scope
    /// What most requests need.
    let right: AccessRights
    let exception: Exception?
    /// The token may stand in the query, for clients that send no `Authorization`.
    let takesTokenInQuery: Bool
    let operation: Operation

    /// An operation of a hub, which must be there; `path` is below it.
    init(
        method: HTTPRequest.Method,
        path: String,
        right: AccessRights,
        exception: Exception? = nil,
        takesTokenInQuery: Bool = false,
        handle: @escaping @Sendable (HubRequest, HubDirectory) async throws -> Response
    ) {
        self.method = method
        self.address = "/:hub\(path)"
        self.scope = .hub
        self.right = right
        self.exception = exception
        self.takesTokenInQuery = takesTokenInQuery
        operation = .ofHub(handle)
    }

    /// An operation of the namespace, or on a hub as a whole: it needs Manage.
    init(
        method: HTTPRequest.Method,
        address: String,
        scope: Scope,
        handle: @escaping @Sendable (NamespaceRequest) async throws -> Response
    ) {
        self.method = method
        self.address = address
        self.scope = scope
        right = .manage
        exception = nil
        takesTokenInQuery = false
        operation = .ofNamespace(handle)
    }

    /// A token in the query, as a header would have it.
    func tokenInQuery(of request: Request) -> String? {
        guard takesTokenInQuery, let query = request.uri.query else { return nil }
        return "SharedAccessSignature \(query)"
    }

    func right(for request: Request) -> AccessRights {
        guard let exception, exception.isMeant(request) else { return right }
        return exception.right
    }
}
