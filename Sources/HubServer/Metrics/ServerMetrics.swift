import PrometheusText

/// The metrics of any server: its version and its process.
package struct ServerMetrics: Sendable {
    let version: String?
    /// Seconds since 1970.
    let startedAt: Double

    package init(version: String?, startedAt: Double) {
        self.version = version
        self.startedAt = startedAt
    }

    /// Lines for `/metrics` in the text format of Prometheus.
    package var text: String {
        var page = PrometheusText()
        add(to: &page)
        return page.text
    }

    func add(to page: inout PrometheusText) {
        if let version {
            page.add(
                "newswire_build_info",
                .gauge,
                "The running version; always 1.",
                [.init(1, ["version": version])]
            )
        }
        ProcessFigures(startedAt: startedAt).add(to: &page)
    }
}
