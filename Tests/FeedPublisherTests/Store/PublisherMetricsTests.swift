import Foundation
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

struct PublisherMetricsTests {
    private typealias Item = FakeSite.Item

    private func metrics(_ room: Newsroom, _ lists: FeedLists, _ report: PublishReport) throws -> [String: Double] {
        let store = try room.store()
        defer { try? store.close() }
        var samples: [String: Double] = [:]
        let text = try lists.metrics(of: store, after: report, now: room.now)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let space = try #require(line.lastIndex(of: " "))
            #expect(samples[String(line[..<space])] == nil, "each series once: \(line)")
            samples[String(line[..<space])] = Double(String(line[space...].dropFirst()))
        }
        return samples
    }

    @Test func `feeds, the outbox and the pass are measured`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w", "/broken"]])
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([Item("a")])))
        room.site.set("/broken", FakeSite.Document(body: "<html>"))
        try await room.pass(lists)
        room.advance(60)
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([Item("b"), Item("a")])))
        room.hub.answer { _ in 503 }
        let report = try await room.pass(lists)
        room.advance(30)
        let samples = try metrics(room, lists, report)
        let (well, broken) = (room.site.url("/w"), room.site.url("/broken"))
        #expect(samples["newswire_publisher_last_pass_exit_code"] == 75)
        #expect(samples["newswire_publisher_outbox"] == 1)
        #expect(samples["newswire_publisher_outbox_oldest_seconds"] == 30)
        #expect(samples["newswire_publisher_last_pass_entries{outcome=\"announced\"}"] == 1)
        #expect(samples["newswire_feed_state{category=\"World\",feed=\"\(well)\",state=\"well\"}"] == 1)
        #expect(samples["newswire_feed_state{category=\"World\",feed=\"\(broken)\",state=\"failing\"}"] == 1)
        #expect((samples["newswire_feed_failures{category=\"World\",feed=\"\(broken)\"}"] ?? 0) >= 1)
        #expect(samples["newswire_feed_last_success_timestamp_seconds{category=\"World\",feed=\"\(broken)\"}"] == nil)
    }

    @Test func `keys in addresses stay out, and feeds that differ only there are distinguished`() async throws {
        let room = try Newsroom()
        let address = room.site.url("/w").replacingOccurrences(of: "http://", with: "http://user:canary@")
        let lists = try FeedLists.parse([
            (
                file: "feeds/w.yaml",
                text: """
                category: World
                feeds:
                  - {url: "\(address)?key=canary", local: true}
                  - {url: "\(address)?key=canary2", local: true}
                """
            )
        ])
        let samples = try metrics(room, lists, PublishReport())
        #expect(samples.keys.count { $0.hasPrefix("newswire_feed_state") } == 2)
        #expect(!samples.keys.contains { $0.contains("canary") })
    }
}
