import HTTPTypes
import Hummingbird
import PrometheusText
import Synchronization
import WebEdge

/// Counts since the start, by the values of two labels.
final class PairCounts: Sendable {
    private struct Pair: Hashable {
        let first: String
        let second: String
    }

    private let counts = Mutex<[Pair: Int]>([:])

    func add(_ first: String, _ second: String) {
        counts.withLock { $0[Pair(first: first, second: second), default: 0] += 1 }
    }

    /// The counts for `/metrics`, sorted by the values of the labels with these names.
    func samples(_ first: String, _ second: String) -> [PrometheusText.Sample] {
        counts.withLock { $0 }
            .sorted { ($0.key.first, $0.key.second) < ($1.key.first, $1.key.second) }
            .map { .init($0.value, [first: $0.key.first, second: $0.key.second]) }
    }
}

/// Counts of operations since the start.
struct BackendCounts: Sendable {
    /// Requests by route, or ``CountRequests/noRoute`` since clients could make up any number of addresses, and status.
    let requests = PairCounts()
    /// Notifications by platform and outcome.
    let notifications = PairCounts()
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
        counts.requests.add(route, "\(status.code)")
    }
}
