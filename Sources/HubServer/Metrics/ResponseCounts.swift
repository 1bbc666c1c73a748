import HTTPTypes
import HubRouting
import Hummingbird
import Synchronization

/// How many requests ended with which status, by operation.
final class ResponseCounts: Sendable {
    struct Key: Hashable, Comparable {
        /// Only of operations that exist: whatever else clients think of would be a metric each.
        let operation: String
        let status: Int

        static func < (left: Key, right: Key) -> Bool {
            (left.operation, left.status) < (right.operation, right.status)
        }
    }

    /// Requests for what does not exist.
    static let noOperation = "none"
    /// Streams on connections of their own, which no route sees.
    static let stream = "GET /{hub}/installations/{id}/stream"

    private let counts = Mutex<[Key: Int]>([:])

    func add(_ operation: String, status: Int) {
        counts.withLock { $0[Key(operation: operation, status: status), default: 0] += 1 }
    }

    var sorted: [(key: Key, count: Int)] {
        counts.withLock { $0.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
}

/// Counts what the routes answer.
struct ResponseCounting<Context: RequestContext>: RouterMiddleware {
    let counts: ResponseCounts

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        // Not a path for what does not exist.
        let path = context.endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil }
        let operation = path.map { "\(request.method.rawValue) \($0)" }
        counts.add(operation ?? ResponseCounts.noOperation, status: response.status.code)
        return response
    }
}
