import Hummingbird
import PrometheusText
import Signals
import WebEdge

/// The server's own pages: `/healthz`, `/readyz` and `/metrics`.
struct OwnPages: Sendable {
    let metrics: MetricsPage

    func add(to router: Router<HubRequestContext>) {
        // Anyone may request the page, and computing it reads every stream's state.
        let page = SharedValue(
            lifetime: metrics.configuration.metricsInterval,
            clock: metrics.configuration.monotonic
        ) { try await metrics.text() }
        // The process is running.
        router.get("/healthz") { _, _ in Response("ok\n") }
        router.get("/readyz") { _, _ in ready }
        router.get("/metrics") { _, _ in
            try await LongWork.run { Response(try await page.value(), PrometheusText.contentType, cache: "no-store") }
        }
    }

    /// The hub accepts messages: its last commit, if any, succeeded.
    ///
    /// A mounted application that fails adds a line. It does not make the hub unready, because news is still delivered.
    private var ready: Response {
        guard let reason = metrics.served.writer.health.failureReason else {
            let lines = metrics.applications.compactMap { application in
                application.obstacle().map { "\(application.name): not ready: \($0)\n" }
            }
            return Response("ready\n\(lines.joined())")
        }
        return Response("not ready: \(reason)\n", status: .serviceUnavailable)
    }
}
