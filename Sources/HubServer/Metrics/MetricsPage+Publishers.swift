import Foundation
import HubProtocol
import HubRouting
import HubStore
import PrometheusText

extension MetricsPage {
    /// The reports of publishers, which expire after 7 days.
    func publishers() async throws -> [Metric] {
        let now = configuration.timestamp
        let reported = try await served.store.publishers(since: now - PublisherReport.lifetime)
        // The schedule distinguishes a publisher that keeps running, and whose silence is a failure, from single passes.
        func samples(_ value: (PublisherSummary) -> Double) -> [Sample] {
            members.flatMap { hub in
                (reported[hub.record.id] ?? []).map { publisher in
                    .init(
                        value(publisher),
                        [
                            "hub": "\(hub.record.name)", "publisher": publisher.publisher,
                            "schedule": publisher.schedule.rawValue,
                        ]
                    )
                }
            }
        }
        return [
            (
                "newswire_publisher_last_report_seconds", .gauge, "Time since a publisher last reported.",
                samples { max(0, now.date.timeIntervalSince(ISODateTime.parse($0.reportedAt) ?? now.date)) }
            ),
            (
                "newswire_publisher_reported_feeds", .gauge, "Feeds of a publisher, as it last reported.",
                samples { Double($0.feedCount) }
            ),
            (
                "newswire_publisher_reported_failed_feeds", .gauge,
                "Feeds of a publisher that fail or are gone, as it last reported.",
                samples { Double($0.failedFeeds) }
            ),
            (
                "newswire_publisher_reported_outbox", .gauge,
                "Messages of a publisher that wait for the hub, as it last reported.",
                samples { Double($0.outbox) }
            ),
        ]
    }
}
