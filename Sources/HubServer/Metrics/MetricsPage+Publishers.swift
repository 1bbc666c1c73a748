import Foundation
import HubProtocol
import HubRouting
import HubStore
import PrometheusText

extension MetricsPage {
    /// What publishers have reported; those that have not for 7 days are forgotten.
    func addPublishers(to page: inout PrometheusText) async throws {
        let now = configuration.timestamp
        let reported = try await store.publishers(since: now - PublisherReport.lifetime)
        let all = hubs.all.flatMap { member in
            (reported[member.hub.record.id] ?? []).map { (hub: "\(member.hub.record.name)", publisher: $0) }
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
                "Feeds of a publisher that bring no news, as it last reported.",
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

    /// The schedule tells a publisher that stays, and whose silence is a failure, from passes that come when they come.
    private static func labels(_ publisher: PublisherSummary, of hub: String) -> KeyValuePairs<String, String> {
        ["hub": hub, "publisher": publisher.publisher, "schedule": publisher.schedule.rawValue]
    }
}
