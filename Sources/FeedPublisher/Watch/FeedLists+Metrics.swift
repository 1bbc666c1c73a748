internal import FeedLists
package import FoundationEssentials
internal import HostSystem
internal import PrometheusText

extension FeedLists {
    /// Returns the publisher's metrics after a pass, in the form that Prometheus' node_exporter reads from a file.
    ///
    /// The names are stable; `docs/monitoring.md` lists them.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func metrics(of store: PublisherStore, after report: PublishReport, now: Date = Date()) throws -> String {
        let feeds = try health(of: store, now: now)
        let pending = try store.pending()
        let oldest = pending.map(\.isDue).min().map { max(now.timeIntervalSince($0), 0) } ?? 0

        let figures: [PrometheusText.Metric] = [
            (
                "newswire_publisher_last_pass_timestamp_seconds", .gauge,
                "When the last pass ended; an old time means that no timer or cron runs passes.",
                [.init(now.timeIntervalSince1970)]
            ),
            (
                "newswire_publisher_last_pass_exit_code", .gauge,
                "0 done, 1 failed, 75 the hub or the disk must recover first, 78 bad configuration.",
                [.init(report.exit.rawValue)]
            ),
            ("newswire_publisher_outbox", .gauge, "Messages that wait for the hub.", [.init(pending.count)]),
            (
                "newswire_publisher_outbox_oldest_seconds", .gauge, "How long the oldest of them has waited.",
                [.init(oldest)]
            ),
            (
                "newswire_publisher_last_pass_entries", .gauge, "New entries of the last pass, by outcome.",
                [.init(report.announced, ["outcome": "announced"]), .init(report.recorded, ["outcome": "recorded"])]
            ),
            (
                "newswire_publisher_last_pass_messages", .gauge, "Messages of the last pass, by the hub's answer.",
                [.init(report.sent, ["outcome": "sent"]), .init(report.refused, ["outcome": "refused"])]
            ),
        ]
        return PrometheusText(figures + Self.figures(feeds) + Self.pushes(feeds)).text
    }

    private static func figures(_ feeds: [FeedHealth]) -> [PrometheusText.Metric] {
        let named = feeds.map { (category: $0.category, feed: $0.address.publicText, health: $0) }
        return [
            (
                "newswire_feed_state", .gauge, "1 for the state a feed is in: new, well, failing, gone, paused.",
                named.map { .init(1, ["category": $0, "feed": $1, "state": $2.state.rawValue]) }
            ),
            (
                "newswire_feed_failures", .gauge, "Consecutive failures of a feed.",
                named.map { .init($2.failures, ["category": $0, "feed": $1]) }
            ),
            (
                "newswire_feed_last_success_timestamp_seconds", .gauge, "When a feed was last read.",
                named.compactMap { category, feed, health in
                    health.lastSuccess.map { .init($0.timeIntervalSince1970, ["category": category, "feed": feed]) }
                }
            ),
        ]
    }

    private static func pushes(_ feeds: [FeedHealth]) -> [PrometheusText.Metric] {
        let pushed = feeds.compactMap { feed in feed.push.map { (feed.category, feed.address.publicText, $0) } }
        return [
            (
                "newswire_feed_push_state", .gauge,
                "1 for the state of the subscription at a feed's hub: active, unproven, pending, denied.",
                pushed.map { category, feed, push in
                    .init(1, ["category": category, "feed": feed, "hub": push.hub, "state": push.state.rawValue])
                }
            ),
            (
                "newswire_feed_deliveries_total", .counter, "Deliveries in the name of a feed's hub, by outcome.",
                pushed.flatMap { category, feed, push in
                    [("taken", push.deliveries), ("discarded", push.discarded)].map { outcome, count in
                        .init(count, ["category": category, "feed": feed, "outcome": outcome])
                    }
                }
            ),
            (
                "newswire_feed_last_delivery_timestamp_seconds", .gauge, "When a feed's hub last delivered.",
                pushed.compactMap { category, feed, push in
                    push.lastDelivery.map { .init($0.timeIntervalSince1970, ["category": category, "feed": feed]) }
                }
            ),
        ]
    }
}
