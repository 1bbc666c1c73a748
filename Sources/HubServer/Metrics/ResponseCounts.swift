import HTTPTypes
import HubRouting
import Hummingbird
import Synchronization

/// Number of requests by operation and status.
final class ResponseCounts: Sendable {
    struct Key: Hashable, Comparable {
        /// Only existing operations: otherwise every path that clients try would become a metric.
        let operation: String
        let status: Int

        static func < (left: Key, right: Key) -> Bool {
            (left.operation, left.status) < (right.operation, right.status)
        }
    }

    /// The operation of requests for unknown paths.
    static let noOperation = "none"
    /// Streams on connections of their own, which pass no route.
    static let stream = "GET /{hub}/installations/{id}/stream"

    private let counts = Mutex<[Key: Int]>([:])

    func add(_ operation: String, status: Int) {
        counts.withLock { $0[Key(operation: operation, status: status), default: 0] += 1 }
    }

    var sorted: [(key: Key, count: Int)] {
        counts.withLock { $0.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
}

/// Counts the responses of the routes.
struct ResponseCounting<Context: RequestContext>: RouterMiddleware {
    let counts: ResponseCounts

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        // Not a path if the operation is unknown.
        let path = context.endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil }
        let operation = path.map { "\(request.method.rawValue) \($0)" }
        counts.add(operation ?? ResponseCounts.noOperation, status: response.status.code)
        return response
    }
}
