import Foundation
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// What operators ask of a publisher.
struct RequestTests {
    private func document(_ titles: [String]) -> FakeSite.Document {
        FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) }))
    }

    /// Makes a pass as `newswire publish` does.
    @discardableResult
    private func pass(_ room: Newsroom, _ lists: FeedLists, _ options: PublishOptions = PublishOptions()) async throws
        -> PublishReport
    {
        let store = try room.store()
        defer { try? store.close() }
        let pass = room.prepared(lists, store: store, options)
        await pass.handleRequests()
        let report = try await pass.run()
        await pass.reportHealth(after: report)
        return report
    }

    @Test func `a paused feed is left out until it is resumed, and nothing is lost`() async throws {
        let room = try Newsroom()
        let (one, other) = (room.site.url("/a"), room.site.url("/b"))
        room.site.set("/a", document(["a1"]))
        room.site.set("/b", document(["b1"]))
        let lists = try room.lists(["World": ["/a", "/b"]])
        try await pass(room, lists)
        room.hub.ask(.pause, one)
        room.hub.ask(.pause, "https://none.example/")
        room.site.set("/a", document(["a2", "a1"]))
        room.site.set("/b", document(["b2", "b1"]))
        room.advance(65)
        #expect(try await pass(room, lists).polled == 1)
        #expect(room.hub.titles == ["b2"])
        #expect(room.hub.outcomes == ["paused", "not done: no list has the feed"])
        let paused = try #require(room.hub.reports.last)
        #expect(paused.feeds.map(\.state) == ["paused", "well"] && paused.feeds[0].nextPoll == nil)
        #expect(paused.handled?.map(\.number) == [1, 2] && paused.takes(.pause) && !paused.takes(.add))
        // Asked for again, also with --force, and while paused.
        room.hub.ask(.poll, one)
        room.advance(65)
        var force = PublishOptions()
        force.force = true
        #expect(try await pass(room, lists, force).polled == 1)
        #expect(room.hub.outcomes.last == "not done: the feed is paused")
        room.hub.ask(.resume, one)
        room.advance(65)
        #expect(try await pass(room, lists).polled == 2)
        #expect(room.hub.titles == ["b2", "a2"])
        #expect(room.hub.outcomes.last == "resumed")
        let polls = try #require(room.hub.reports.last)
        #expect(polls.feeds[0].polls == "r0r3" && polls.feeds[1].polls == "r0r1u1u1")
        let hours = try #require(polls.pollHours)
        #expect(hours.isValid && hours.read.reduce(0, +) == 4 && hours.unchanged.reduce(0, +) == 2)
        #expect(hours.failed.reduce(0, +) == 0)
        _ = other
    }

    @Test func `a feed is polled at once, though it failed or is gone`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/a"]])
        room.site.set("/a", document(["a1"]))
        try await pass(room, lists)
        room.site.set("/a", FakeSite.Document(status: 410))
        room.advance(65)
        try await pass(room, lists)
        #expect(room.hub.reports.last?.feeds[0].state == "gone")
        room.site.set("/a", document(["a2", "a1"]))
        room.hub.ask(.poll, room.site.url("/a"))
        room.advance(1)
        #expect(try await pass(room, lists).polled == 1)
        #expect(room.hub.outcomes == ["polled at once"] && room.hub.titles == ["a2"])
        #expect(room.hub.reports.last?.feeds[0].polls == "r0f1r0")
    }

    @Test func `a request is carried out once, and reported until the hub knows`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/a"]])
        room.site.set("/a", document(["a1"]))
        try await pass(room, lists)
        room.hub.answerReports(0)
        room.hub.ask(.poll, room.site.url("/a"))
        room.advance(1)
        #expect(try await pass(room, lists).polled == 1)
        #expect(try await pass(room, lists).polled == 0, "not again")
        #expect(room.hub.outcomes == [nil])
        room.hub.answerReports(200)
        try await pass(room, lists)
        #expect(room.hub.outcomes == ["polled at once"])
        let count = room.hub.reports.count
        try await pass(room, lists)
        #expect(room.hub.reports.count == count, "nothing is left to report")
    }

    @Test func `a hub that hangs up delays nothing, and is asked at the next pass`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/a"]])
        room.site.set("/a", document(["a1"]))
        room.hub.hangUpOnRequests(true)
        #expect(try await pass(room, lists).polled == 1)
        room.hub.ask(.poll, room.site.url("/a"))
        room.hub.hangUpOnRequests(false)
        #expect(try await pass(room, lists).polled == 1)
        #expect(room.hub.outcomes == ["polled at once"])
    }

    @Test func `a hub without requests is asked once a day`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/a"]])
        room.site.set("/a", document(["a1"]))
        room.hub.dropRequests()
        for _ in 1...3 {
            try await pass(room, lists)
            room.advance(600)
        }
        #expect(room.hub.requestReads == 1)
        room.advance(86_400)
        try await pass(room, lists)
        #expect(room.hub.requestReads == 2)
    }

    @Test func `feeds are added after a check, and removed, if the publisher allows it`() async throws {
        let room = try Newsroom(isProxied: true)
        let folder = room.folder.file("lists")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let world = folder + "/world.yaml"
        let text = """
            category: World
            # ours
            feeds:
              - url: http://a.example/feed   # first
                every: 1h
              # of the town
              - url: http://b.example/feed

            """
        try text.write(toFile: world, atomically: true, encoding: .utf8)
        for host in ["a", "b", "c"] { room.site.set("http://\(host).example/feed", document(["\(host)1"])) }
        room.site.set("http://page.example/", FakeSite.Document(body: "<title>No feed</title>"))
        let lists = try FeedLists.load(directory: folder)
        room.hub.ask(.add, "http://c.example/feed", category: "World")
        try await pass(room, lists)
        #expect(room.hub.outcomes.last??.contains("'list-edits'") == true)
        var options = PublishOptions()
        (options.editableLists, options.addedFeeds) = (folder, .any)
        for (address, category) in [
            ("http://c.example/feed", "World"), ("http://c.example/feed", "World"), ("http://page.example/", "World"),
            ("http://none.example/feed", "World"), ("http://c.example/feed", "a b"), ("http://127.0.0.1:1/", "World"),
        ] {
            room.hub.ask(.add, address, category: category)
        }
        try await pass(room, try FeedLists.load(directory: folder), options)
        let outcomes = room.hub.outcomes.dropFirst().map { $0 ?? "waits" }
        #expect(outcomes[0].hasPrefix("added: ") && outcomes[1].hasPrefix("already in "), "\(outcomes)")
        #expect(outcomes[2...].allSatisfy { $0.hasPrefix("not added: ") }, "\(outcomes)")
        #expect(try String(contentsOfFile: world, encoding: .utf8).contains("http://c.example/feed"))
        #expect(room.hub.reports.last?.takes(.remove) == true)
        room.hub.ask(.remove, "http://a.example/feed", category: "World")
        room.hub.ask(.remove, "http://a.example/feed", category: "World")
        room.hub.ask(.remove, "http://b.example/feed", category: "Sports")
        try await pass(room, try FeedLists.load(directory: folder), options)
        #expect(
            room.hub.outcomes.suffix(3) == [
                "removed", "not done: the list does not have the feed", "not done: the list does not have the feed",
            ]
        )
        let left = try String(contentsOfFile: world, encoding: .utf8)
        #expect(left.hasPrefix("category: World\n# ours\nfeeds:\n  # of the town\n  - url: http://b.example/feed\n"))
        #expect(!left.contains("a.example") && left.contains("c.example"))
        // A list in a style that cannot be changed by lines, and an action of a later version.
        try "category: Sports\nfeeds: [{url: http://a.example/feed}]\n"
            .write(toFile: folder + "/sports.yaml", atomically: true, encoding: .utf8)
        room.hub.ask(.remove, "http://a.example/feed", category: "Sports")
        room.hub.ask(action: "praise", "http://b.example/feed")
        try await pass(room, try FeedLists.load(directory: folder), options)
        let last = room.hub.outcomes.suffix(2).map { $0 ?? "waits" }
        #expect(last[0].hasPrefix("not removed: cannot change ") && last[1].hasPrefix("not done: this version"))
    }

    @Test func `polls are counted by hour, and old counts are dropped`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/a"]])
        room.site.set("/a", document(["a1"]))
        try await pass(room, lists)
        room.advance(100 * 3_600)
        try await pass(room, lists)
        let hours = try #require(room.hub.reports.last?.pollHours)
        #expect(hours.unchanged == [1] && hours.read == [0] && hours.failed == [0])
        room.advance(3 * 3_600)
        room.site.set("/a", FakeSite.Document(status: 500))
        try await pass(room, lists)
        #expect(room.hub.reports.last?.pollHours?.failed == [0, 0, 0, 1])
    }
}
