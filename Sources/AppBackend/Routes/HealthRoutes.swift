import HTTPTypes
import HubClient
import Hummingbird
import NIOCore

/// `/healthz` and `/readyz`, for monitors.
enum HealthRoutes {
    // Monitors also send HEAD.
    static let routes = [HTTPRequest.Method.get, .head].flatMap { method in
        [
            BackendRoute(method, "/healthz", access: .monitor) { _ in answer(method, .ok, "ok") },
            BackendRoute(method, "/readyz", access: .monitor) { request in
                guard let reason = await request.backend.obstacle() else { return answer(method, .ok, "ready") }
                return answer(method, .serviceUnavailable, "not ready: \(reason)")
            },
        ]
    }

    private static func answer(_ method: HTTPRequest.Method, _ status: HTTPResponse.Status, _ text: String) -> Response
    {
        let response = Response(
            status: status,
            headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: "\(text)\n"))
        )
        return method == .head ? response.createHeadResponse() : response
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
            return "the database cannot be read: \(BackendStore.reason(error))"
        }
        if let reason = await store.check() { return "the database cannot be written: \(reason)" }
        do {
            try await platforms.checkHub()
            return nil
        } catch let error as HubClientError {
            return switch error {
            case .unreachable, .cancelled: "the hub cannot be reached"
            case .refused(let status, _, _, _): "the hub refuses requests of the app backend (\(status))"
            case .malformedReply: "the hub's reply cannot be read"
            }
        } catch {
            return "the hub cannot be checked"
        }
    }
}
