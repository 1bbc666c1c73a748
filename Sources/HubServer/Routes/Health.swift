import HTTPTypes
import Hummingbird
import NIOCore

/// What `/healthz` and `/readyz` answer.
struct Health: Sendable {
    let writer: HubWriter
    let applications: [MountedApplication]

    /// The process answers.
    static var live: Response { text(.ok, "ok\n") }

    /// The hub takes messages: its last commit, if any, succeeded.
    ///
    /// A mounted application that fails has a line of its own. It does not make the hub unready: news goes on.
    var ready: Response {
        guard let reason = writer.failureReason else {
            let lines = applications.compactMap { application in
                application.obstacle().map { "\(application.name): not ready: \($0)\n" }
            }
            return Self.text(.ok, "ready\n\(lines.joined())")
        }
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
