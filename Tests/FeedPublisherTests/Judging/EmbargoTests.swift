import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// `future: hold` holds every entry until its date.
@Suite struct EmbargoTests {
    private typealias Item = FakeSite.Item

    /// The clock begins on Thursday 28 May 2026 at 20:26:40 GMT.
    private static let inTenMinutes = "Thu, 28 May 2026 20:37:40 GMT"
    private static let tomorrow = "Fri, 29 May 2026 18:00:00 GMT"
    private static let nextWeek = "Thu, 04 Jun 2026 20:00:00 GMT"

    /// A room whose feed was read once, one minute before now.
    private func room(every: String = "1m", _ rules: String = "future: hold") async throws -> (Newsroom, FeedLists) {
        let room = try Newsroom()
        let text =
            "category: World\nevery: \(every)\n\(rules)\nfeeds:\n  - url: \(room.site.url("/w"))\n    local: true"
        let lists = try FeedLists.parse([(file: "w.yaml", text: text)])
        publish(room, [Item("first")])
        try await room.pass(lists)
        room.advance(60)
        return (room, lists)
    }

    private func publish(_ room: Newsroom, _ items: [Item], etag: String? = nil) {
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss(items), etag: etag))
    }

    @Test func `a date that changes among hundreds of embargoes counts`() async throws {
        let (room, lists) = try await room()
        var items = (1...600).map { Item("event \($0)", id: "e\($0)", date: Self.nextWeek) }
        publish(room, items)
        try await room.pass(lists)
        items[599] = Item("event 600", id: "e600", date: Self.tomorrow)
        publish(room, items)
        room.advance(60)
        try await room.pass(lists)
        publish(room, [Item("first")])
        room.advance(86_400)
        try await room.pass(lists)
        #expect(room.hub.titles == ["event 600"])
    }

    @Test func `each entry waits for its date, however near, and is announced once`() async throws {
        let (room, lists) = try await room()
        publish(
            room,
            [
                Item("near", date: Self.inTenMinutes), Item("tomorrow", date: Self.tomorrow),
                Item("event", date: Self.nextWeek),
            ],
            etag: "\"1\""
        )
        let fates = try await room.preview(lists).feeds.first?.entries.map(\.fate) ?? []
        #expect(fates.count == 3)
        for fate in fates {
            if case .silent(.held, _) = fate {} else { Issue.record("\(fate)") }
        }
        try await room.pass(lists)
        room.advance(599)
        try await room.pass(lists)
        #expect(room.hub.titles == [])
        for (wait, titles) in [
            (1, ["near"]), (86_400, ["near", "tomorrow"]), (5.5 * 86_400, ["near", "tomorrow"]),
            (0.5 * 86_400, ["near", "tomorrow", "event"]), (86_400, ["near", "tomorrow", "event"]),
        ] as [(Double, [String])] {
            room.advance(wait)
            try await room.pass(lists)
            #expect(room.hub.titles == titles)
        }
    }

    @Test(arguments: [200, 500, 404, 410])
    func `an entry that has left its feed is announced on its date, also if the feed fails`(status: Int) async throws {
        let (room, lists) = try await room()
        publish(room, [Item("study", link: "https://news.example/study", date: Self.tomorrow)])
        try await room.pass(lists)
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([Item("first")]), status: status))
        room.advance(3_600)
        try await room.pass(lists)
        #expect(room.hub.titles == [])
        room.advance(86_400)
        for _ in 1...2 {
            try await room.pass(lists)
            room.advance(60)
        }
        #expect(room.hub.titles == ["study"])
        let message = try MessageProperties(json: try #require(room.hub.messages.first).body)
        #expect(message["link"] == "https://news.example/study" && message["published"] == "2026-05-29T18:00:00Z")
    }

    @Test func `a feed that is not due is not polled for the date of a held entry`() async throws {
        let (room, lists) = try await room(every: "7d")
        room.advance(7 * 86_400)
        publish(room, [Item("study", date: "Fri, 05 Jun 2026 18:00:00 GMT")])
        try await room.pass(lists)
        let requests = room.site.requests("/w").count
        room.advance(86_400)
        let report = try await room.pass(lists)
        #expect(room.hub.titles == ["study"] && report.announced == 1 && report.polled == 0)
        #expect(room.site.requests("/w").count == requests)
        try await room.pass(lists)
        #expect(room.hub.titles.count == 1)
    }

    @Test func `the last wording and the last date before its date count`() async throws {
        let (room, lists) = try await room()
        publish(room, [Item("draft title", id: "1", date: Self.inTenMinutes)])
        try await room.pass(lists)
        publish(room, [Item("final title", id: "1", date: Self.tomorrow)])
        room.advance(60)
        try await room.pass(lists)
        room.advance(3_600)
        publish(room, [])
        try await room.pass(lists)
        #expect(room.hub.titles == [])
        room.advance(86_400)
        try await room.pass(lists)
        #expect(room.hub.titles == ["final title"])
    }

    @Test func `a year of another calendar holds nothing, and is reported`() async throws {
        let (room, lists) = try await room()
        publish(room, [Item("today", date: "Thu, 28 May 2569 20:00:00 GMT")])
        let entry = try await room.preview(lists).feeds.first?.entries.first
        #expect(entry?.dateProblem == .calendar)
        try await room.pass(lists)
        #expect(room.hub.titles == ["today"])
    }
}
