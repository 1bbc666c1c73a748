import HTTPTypes
import Hummingbird
import NIOCore

/// The responses of `/healthz` and `/readyz`.
struct Health: Sendable {
    let writer: HubWriter
    let applications: [MountedApplication]

    /// The process is running.
    static var live: Response { text(.ok, "ok\n") }

    /// The hub accepts messages: its last commit, if any, succeeded.
    ///
    /// A mounted application that fails adds a line. It does not make the hub unready, because news is still delivered.
    var ready: Response {
        guard let reason = writer.health.failureReason else {
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
