import HTTPTypes
import Hummingbird
import NIOCore
import PrometheusText
import Signals
import WebEdge

extension AppBackend {
    /// Lines for `/metrics`: counts, without any user's data.
    package func metrics() async -> String {
        let figures = try? await figures.value()
        var page = PrometheusText([Self.health(figures != nil)])
        page.add([
            (
                "newswire_backend_requests_total", .counter,
                "Requests answered, by route and status; 4xx and 5xx were refused.",
                counts.requests.samples("route", "status")
            ),
            (
                "newswire_backend_events_total", .counter,
                "Events of the audit log, by outcome: sign-ins, refused tokens, payloads that were sent and fetched.",
                audit.totals.samples("event", "outcome")
            ),
            (
                "newswire_backend_password_checks", .gauge, "Passwords that are being checked or wait for it.",
                [.init(configuration.hasher.pendingCount)]
            ),
            (
                "newswire_backend_notifications_total", .counter,
                "Notifications by platform; accepted ones are the hub's to deliver.",
                counts.notifications.samples("platform", "outcome")
            ),
        ])
        if let figures { page.add(Self.metrics(figures)) }
        return page.text
    }

    /// The lines for `/metrics` of an app backend whose database cannot be opened.
    package static var metricsOfUnusable: String { PrometheusText([health(false)]).text }

    private static func health(_ isHealthy: Bool) -> PrometheusText.Metric {
        (
            "newswire_backend_healthy", .gauge, "1 while the app backend's database can be read.",
            [.init(isHealthy ? 1 : 0)]
        )
    }

    private static func metrics(_ figures: BackendFigures) -> [PrometheusText.Metric] {
        [
            ("newswire_backend_accounts", .gauge, "Users who can sign in.", [.init(figures.accounts)]),
            ("newswire_backend_tokens", .gauge, "Valid tokens.", [.init(figures.tokens)]),
            (
                "newswire_backend_devices", .gauge, "Devices that users have registered, by kind.",
                [
                    .init(figures.registrations, ["kind": "registration"]),
                    .init(figures.installations, ["kind": "installation"]),
                ]
            ),
            (
                "newswire_backend_payloads", .gauge, "Stored payloads of secure notifications, by state.",
                [
                    .init(figures.payloadsWaiting, ["state": "waiting"]),
                    .init(figures.payloadsFetched, ["state": "fetched"]),
                ]
            ),
            (
                "newswire_backend_removed_users", .gauge, "Removed users whose devices the hub still has.",
                [.init(figures.removedOwners)]
            ),
        ]
    }
}

/// The route `/metrics` of an app backend that is served alone.
enum MetricsRoute {
    static let routes = [
        BackendRoute(.get, "/metrics", access: .monitor) { request in
            let text = await request.backend.metrics() + request.backend.configuration.serverMetrics()
            return Response(text, PrometheusText.contentType, cache: "no-store")
        }
    ]
}
