import HTTPTypes
import HubProtocol
import Hummingbird

/// One operation: its address, its requirements and its handler.
struct Route: Sendable {
    /// The rules that can allow the operation.
    enum Scope: Sendable, Equatable {
        /// The rules of the hub in the address, and those of the namespace.
        case hub
        /// The rules of the namespace only.
        case namespace
    }

    /// A right that some requests of an operation need instead of the usual one.
    struct Exception: Sendable {
        let right: AccessRights
        /// An example of a query that needs the right, for programs that enumerate the table.
        let example: String
        let isMeant: @Sendable (Request) -> Bool
    }

    enum Operation: Sendable {
        case ofHub(@Sendable (HubRequest) async throws -> Response)
        case ofNamespace(@Sendable (NamespaceRequest) async throws -> Response)
    }

    let method: HTTPRequest.Method
    /// The address with `:hub` and other parameters.
    let address: String
    var scope = Scope.hub
    /// The right that most requests need.
    var right = AccessRights.manage
    var exception: Exception?
    /// True if the token may be in the query, for clients that send no `Authorization`.
    var takesTokenInQuery = false
    /// True if the answer describes this node only, so that the node need not catch up with the log first.
    var isOfNode = false
    /// True for an operation that is not a GET and changes nothing for other nodes.
    var staysHere = false
    /// True if requests with the same `Idempotency-Key` are executed once, whichever node gets them.
    var isRepeatable = false
    /// True if pages of other origins may use the operation: see ``CrossOrigin``.
    var isForWebApps = false
    let operation: Operation

    /// True if the operation changes something for all nodes, so that the node that writes executes it.
    var isForwarded: Bool { method != .get && !staysHere }

    /// True if the answer must contain what other nodes have written until now.
    var isRead: Bool { method == .get && !isOfNode }

    /// The token in the query, in the form of a header.
    func tokenInQuery(of request: Request) -> String? {
        guard takesTokenInQuery, let query = request.uri.query else { return nil }
        return "SharedAccessSignature \(query)"
    }

    /// True if a request may take longer than an event loop may be busy with it.
    ///
    /// Changes by senders and devices wait for the writer, and do little besides reading their bodies; those by operators
    /// also read keys and certificates.
    func isLong(_ request: Request) -> Bool {
        let bytes = request.headers[.contentLength].flatMap { Int($0) } ?? .max
        return !isForwarded || right == .manage || bytes > Self.maximumBriefBytes
    }

    /// Largest body that an event loop reads; a publisher's report has up to 512 KiB.
    private static let maximumBriefBytes = 16 << 10

    func right(for request: Request) -> AccessRights {
        guard let exception, exception.isMeant(request) else { return right }
        return exception.right
    }
}

extension Route {
    /// Creates an operation of a hub, which must exist; `path` is below the hub.
    init(
        method: HTTPRequest.Method,
        path: String,
        right: AccessRights,
        exception: Exception? = nil,
        takesTokenInQuery: Bool = false,
        isOfNode: Bool = false,
        staysHere: Bool = false,
        isRepeatable: Bool = false,
        isForWebApps: Bool = false,
        handle: @escaping @Sendable (HubRequest) async throws -> Response
    ) {
        self.init(
            method: method,
            address: "/:hub\(path)",
            right: right,
            exception: exception,
            takesTokenInQuery: takesTokenInQuery,
            isOfNode: isOfNode,
            staysHere: staysHere,
            isRepeatable: isRepeatable,
            isForWebApps: isForWebApps,
            operation: .ofHub(handle)
        )
    }

    /// Creates an operation of the namespace, or on a hub as a whole; it needs Manage.
    init(
        method: HTTPRequest.Method,
        address: String,
        scope: Scope,
        staysHere: Bool = false,
        handle: @escaping @Sendable (NamespaceRequest) async throws -> Response
    ) {
        self.init(
            method: method,
            address: address,
            scope: scope,
            staysHere: staysHere,
            operation: .ofNamespace(handle)
        )
    }
}
