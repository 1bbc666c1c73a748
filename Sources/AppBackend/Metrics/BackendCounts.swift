import HTTPTypes
import Hummingbird
import Synchronization
import WebEdge

/// Counts of operations since the start.
final class BackendCounts: Sendable {
    struct RequestKey: Hashable, Comparable {
        /// The route, or ``CountRequests/noRoute``: clients could make up any number of addresses.
        let route: String
        let status: Int

        static func < (left: RequestKey, right: RequestKey) -> Bool {
            (left.route, left.status) < (right.route, right.status)
        }
    }

    struct NotificationKey: Hashable, Comparable {
        let platform: String
        let outcome: String

        static func < (left: NotificationKey, right: NotificationKey) -> Bool {
            (left.platform, left.outcome) < (right.platform, right.outcome)
        }
    }

    private struct State {
        var requests: [RequestKey: Int] = [:]
        var notifications: [NotificationKey: Int] = [:]
    }

    private let state = Mutex(State())

    func count(_ request: RequestKey) { state.withLock { $0.requests[request, default: 0] += 1 } }

    func count(_ result: PlatformResult) {
        let key = NotificationKey(platform: result.platform.rawValue, outcome: result.outcome.name)
        state.withLock { $0.notifications[key, default: 0] += 1 }
    }

    var requests: [(key: RequestKey, count: Int)] {
        state.withLock { $0.requests }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    var notifications: [(key: NotificationKey, count: Int)] {
        state.withLock { $0.notifications }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

/// Counts requests by route and status, refusals included.
struct CountRequests: RouterMiddleware {
    /// The route of requests to unknown addresses.
    static let noRoute = "none"

    let counts: BackendCounts

    func handle(
        _ request: Request,
        context: WebContext<Caller>,
        next: (Request, WebContext<Caller>) async throws -> Response
    ) async throws -> Response {
        do {
            let response = try await next(request, context)
            count(request, context, response.status)
            return response
        } catch let refusal as any HTTPResponseError {
            count(request, context, refusal.status)
            throw refusal
        }
    }

    private func count(_ request: Request, _ context: WebContext<Caller>, _ status: HTTPResponse.Status) {
        let path = context.endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil }
        let route = path.map { "\(request.method.rawValue) \($0)" } ?? Self.noRoute
        counts.count(.init(route: route, status: status.code))
    }
}
