import Foundation
import HostSystem
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

struct HealthReportTests {
    private func document(_ titles: String...) -> FakeSite.Document {
        FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) }))
    }

    /// Makes a pass and reports, as `newswire publish` does.
    @discardableResult
    private func pass(_ room: Newsroom, _ paths: String..., cap: Int = 20) async throws -> PublishReport {
        let store = try room.store()
        defer { try? store.close() }
        var options = PublishOptions()
        options.force = true
        options.cap = cap
        let pass = try room.prepared(room.lists(["World": paths]), store: store, options)
        let report = try await pass.run()
        await pass.reportHealth(after: report)
        return report
    }

    @Test func `a pass tells the hub of its feeds`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        try await pass(room, "/a", "/gone")
        let report = try #require(room.hub.reports.first)
        #expect(report.schedule == .pass && report.exitCode == 0 && report.outbox == 0)
        #expect(report.lastPass == ISODateTime.formatSeconds(room.now))
        #expect(report.feeds.map(\.category) == ["World", "World"])
        let (well, failing) = (report.feeds[0], report.feeds[1])
        #expect(well.state == "well" && well.error == nil)
        #expect(well.lastSuccess == ISODateTime.formatSeconds(room.now) && well.nextPoll != nil)
        #expect(failing.state == "failing" && failing.error != nil && failing.failingSince != nil)
        #expect(room.hub.reports.count == 1)
    }

    private func entries(_ room: Newsroom) throws -> [PublisherReport.Entry] {
        let report = try #require(room.hub.reports.last)
        return try #require(report.feeds.first?.entries)
    }

    @Test func `a report says of each entry why it was announced or not, also at later readings`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        try await pass(room, "/a")
        var reported = try entries(room)
        #expect(reported.map(\.title) == ["one"])
        #expect(reported.map(\.state) == [SkipReason.firstReading.name])
        #expect(reported.first?.reason == SkipReason.firstReading.text && reported.first?.message == nil)
        let first = ISODateTime.formatSeconds(room.now)
        for titles in [["two", "one"], ["three", "two", "one"]] {
            room.advance(65)
            room.site.set("/a", FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) })))
            try await pass(room, "/a")
        }
        #expect(room.hub.reports.count == 3)
        reported = try entries(room)
        #expect(Set(reported.map(\.title)) == ["one", "two", "three"])
        let byTitle = Dictionary(uniqueKeysWithValues: reported.map { ($0.title, $0) })
        #expect(byTitle["one"]?.state == SkipReason.firstReading.name && byTitle["one"]?.judgedAt == first)
        #expect(byTitle["two"]?.state == "sent" && byTitle["two"]?.message == "m1")
        #expect(byTitle["three"]?.state == "sent" && byTitle["three"]?.message == "m2")
    }

    @Test func `an entry that the hub refuses is reported with the reason`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        try await pass(room, "/a")
        room.hub.answer { _ in 400 }
        room.advance(65)
        room.site.set("/a", document("two", "one"))
        try await pass(room, "/a")
        let refused = try entries(room).first { $0.title == "two" }
        #expect(refused?.state == PublisherReport.Entry.refused && refused?.message == nil)
        #expect(refused?.reason.isEmpty == false)
    }

    @Test func `new entries alone lead to one report a minute at most`() async throws {
        let room = try Newsroom()
        var titles = ["0"]
        for number in 1...13 {
            room.site.set("/a", FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) })))
            try await pass(room, "/a")
            titles.append("\(number)")
            room.advance(10)
        }
        // At 0, 60 and 120 seconds.
        #expect(room.hub.reports.count == 3)
    }

    @Test func `messages that wait for their digest lead to no report of their own`() async throws {
        let room = try Newsroom()
        var titles = ["0"]
        for number in 1...8 {
            room.site.set("/a", FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) })))
            try await pass(room, "/a", cap: 1)
            titles.append("\(number)")
            room.advance(5)
        }
        // The first one, and one when messages begin to wait.
        #expect(room.hub.reports.count == 2)
    }

    @Test func `the newest twenty entries of a feed are reported, and fewer of many feeds`() async throws {
        let room = try Newsroom()
        let titles = (1...30).map { "\($0) " + String(repeating: "long ", count: 50) }
        room.site.set("/a", FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) })))
        try await pass(room, "/a")
        #expect(try entries(room).count == PublisherReport.maximumEntries)

        let entry = try judgedEntry(titles[0])
        var report = PublisherReport(
            schedule: .pass,
            lastPass: ISODateTime.formatSeconds(room.now),
            exitCode: 0,
            outbox: 0,
            feeds: (0..<1_500).map {
                PublisherReport.Feed(category: "World", url: "https://a.example/\($0)", state: "well")
            }
        )
        let store = try room.store()
        defer { try? store.close() }
        let all = Dictionary(uniqueKeysWithValues: (0..<1_500).map { ($0, Array(repeating: entry, count: 20)) })
        try report.add(all, from: store, now: room.now)
        #expect(report.feeds[0].entries?.count == 1 && report.feeds[1_499].entries == nil)
        let encoded = try JSONEncoder().encode(report)
        #expect(encoded.count < PublisherReport.maximumBytes)
        #expect(throws: Never.self) { try PublisherReport(json: Array(encoded)) }
    }

    @Test func `a report names the language of feeds whose list has one`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        let text = """
            category: World
            language: English
            feeds:
              - url: \(room.site.url("/a"))
                local: true
              - url: \(room.site.url("/b"))
                local: true
                language: French
            """
        let store = try room.store()
        defer { try? store.close() }
        let pass = try room.prepared(FeedLists.parse([(file: "feeds/World.yaml", text: text)]), store: store)
        let report = try await pass.run()
        await pass.reportHealth(after: report)
        let sent = try #require(room.hub.reports.first)
        #expect(sent.feeds.map(\.language) == ["English", "French"])
        let summary = PublisherSummary(sent, of: "desk", at: 0)
        #expect(summary.languages == ["World": ["English", "French"]])
    }

    private func judgedEntry(_ title: String) throws -> JudgedEntry {
        let object = ["title": title, "silence": "blank", "reason": title, "judgedAt": 0] as [String: Any]
        return try JSONDecoder().decode(JudgedEntry.self, from: JSONSerialization.data(withJSONObject: object))
    }

    @Test func `without a change nothing is reported for ten minutes`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        for _ in 1...9 {
            try await pass(room, "/a")
            room.advance(65)
        }
        #expect(room.hub.reports.count == 1)
        room.advance(65)
        try await pass(room, "/a")
        #expect(room.hub.reports.count == 2)
        room.site.set("/a", FakeSite.Document(status: 404))
        room.advance(65)
        try await pass(room, "/a")
        #expect(room.hub.reports.count == 3)
        #expect(room.hub.reports.last?.feeds.first?.state == "failing")
    }

    @Test(arguments: [400, 404, 405, 501])
    func `a hub that does not know the route is asked again after a day`(status: Int) async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        room.hub.answerReports(status)
        for _ in 1...3 {
            let report = try await pass(room, "/a")
            #expect(report.exit == .done)
            room.advance(3_600)
        }
        #expect(room.hub.reportAttempts == 1)
        room.hub.answerReports(200)
        room.advance(86_400)
        try await pass(room, "/a")
        #expect(room.hub.reports.count == 1)
    }

    @Test(arguments: [0, 401, 500, 503])
    func `a report that fails changes nothing, and is tried at the next pass`(status: Int) async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        room.hub.answerReports(status)
        let report = try await pass(room, "/a")
        #expect(report.exit == .done)
        #expect(room.lines() == [])
        room.hub.answerReports(200)
        room.advance(65)
        try await pass(room, "/a")
        #expect(room.hub.reports.count == 1)
    }

    @Test func `a hub that is away is not asked to take a report`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        try await pass(room, "/a")
        room.hub.answer { _ in 503 }
        room.site.set("/a", document("two", "one"))
        room.advance(3_600)
        let attempts = room.hub.reportAttempts
        let report = try await pass(room, "/a")
        #expect(report.exit == .tryLater)
        #expect(room.hub.reportAttempts == attempts)
    }
}
