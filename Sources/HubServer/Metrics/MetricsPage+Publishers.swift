import Foundation
import HubProtocol
import HubRouting
import HubStore
import PrometheusText

extension MetricsPage {
    /// Adds the reports of publishers, which expire after 7 days.
    func addPublishers(to page: inout PrometheusText) async throws {
        let now = configuration.timestamp
        let reported = try await served.store.publishers(since: now - PublisherReport.lifetime)
        let all = members.flatMap { hub in
            (reported[hub.record.id] ?? []).map { (hub: "\(hub.record.name)", publisher: $0) }
        }
        let figures: [(String, String, (PublisherSummary) -> Double)] = [
            (
                "newswire_publisher_last_report_seconds", "Time since a publisher last reported.",
                { max(0, now.date.timeIntervalSince(ISODateTime.parse($0.reportedAt) ?? now.date)) }
            ),
            (
                "newswire_publisher_reported_feeds", "Feeds of a publisher, as it last reported.",
                { Double($0.feedCount) }
            ),
            (
                "newswire_publisher_reported_failed_feeds",
                "Feeds of a publisher that fail or are gone, as it last reported.",
                { Double($0.failedFeeds) }
            ),
            (
                "newswire_publisher_reported_outbox",
                "Messages of a publisher that wait for the hub, as it last reported.",
                { Double($0.outbox) }
            ),
        ]
        for (name, help, value) in figures {
            page.add(
                name,
                .gauge,
                help,
                all.map { .init(value($0.publisher), Self.labels($0.publisher, of: $0.hub)) }
            )
        }
    }

    /// The schedule distinguishes a publisher that keeps running, and whose silence is a failure, from single passes.
    private static func labels(_ publisher: PublisherSummary, of hub: String) -> KeyValuePairs<String, String> {
        ["hub": hub, "publisher": publisher.publisher, "schedule": publisher.schedule.rawValue]
    }
}
