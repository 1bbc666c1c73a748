import HTTPTypes
import Hummingbird
import NIOCore

/// What `/healthz` and `/readyz` answer.
struct Health: Sendable {
    let writer: HubWriter

    /// The process answers.
    static var live: Response { text(.ok, "ok\n") }

    /// The hub takes messages: its last commit, if any, succeeded.
    var ready: Response {
        guard let reason = writer.failureReason else { return Self.text(.ok, "ready\n") }
        return Self.text(.serviceUnavailable, "not ready: \(reason)\n")
    }

    private static func text(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/plain; charset=utf-8"],
            body: .init(byteBuffer: ByteBuffer(string: text))
        )
    }
}
