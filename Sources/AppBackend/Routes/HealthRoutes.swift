import HTTPTypes
import HubProtocol
import Hummingbird
import SQLiteFiles
import WebEdge

/// `/healthz` and `/readyz`, for monitors.
enum HealthRoutes {
    static let routes = [
        BackendRoute(.get, "/healthz", access: .monitor) { _ in answer(.ok, "ok") },
        BackendRoute(.get, "/readyz", access: .monitor) { request in
            guard let reason = await request.backend.obstacle() else { return answer(.ok, "ready") }
            return answer(.serviceUnavailable, "not ready: \(reason)")
        },
    ]

    private static func answer(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response("\(text)\n", status: status, cache: "no-store")
    }
}

extension AppBackend {
    /// The reason why users cannot be served; `nil` if they can.
    ///
    /// The text is public, so it contains no address and none of the hub's own messages.
    package func obstacle() async -> String? {
        do {
            try await probe()
        } catch {
            return "the database cannot be read: \(DatabaseFileError.reason(error))"
        }
        if let reason = await store.check() { return "the database cannot be written: \(reason)" }
        do {
            try await platforms.checkHub()
            return nil
        } catch let error as HubError {
            return switch error {
            case .unreachable, .cancelled: "the hub cannot be reached"
            case .refused(let status, _, _, _), .unsupported(let status, _):
                "the hub refuses requests of the app backend (\(status))"
            case .malformedReply: "the hub's reply cannot be read"
            }
        } catch {
            return "the hub cannot be checked"
        }
    }
}
