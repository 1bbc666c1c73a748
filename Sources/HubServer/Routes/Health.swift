import Hummingbird
import WebEdge

/// The responses of `/healthz` and `/readyz`.
struct Health: Sendable {
    let writer: HubWriter
    let applications: [MountedApplication]

    /// The process is running.
    static var live: Response { Response("ok\n") }

    /// The hub accepts messages: its last commit, if any, succeeded.
    ///
    /// A mounted application that fails adds a line. It does not make the hub unready, because news is still delivered.
    var ready: Response {
        guard let reason = writer.health.failureReason else {
            let lines = applications.compactMap { application in
                application.obstacle().map { "\(application.name): not ready: \($0)\n" }
            }
            return Response("ready\n\(lines.joined())")
        }
        return Response("not ready: \(reason)\n", status: .serviceUnavailable)
    }
}
