import Foundation
import HubClient
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct PublishPreviewTests {
    private typealias Item = FakeSite.Item

    private func document(_ items: [Item]) -> FakeSite.Document {
        FakeSite.Document(body: FakeSite.rss(items))
    }

    private func fates(_ preview: PublishPreview, _ path: String) -> [String: String] {
        let feed = preview.feeds.first { $0.address.text.hasSuffix(path) }
        return Dictionary(
            (feed?.entries ?? []).map { entry in
                switch entry.fate {
                case .message(let index): (entry.title, "message \(preview.messages[index].title)")
                case .digest(let reason, let index): (entry.title, "\(reason.name) \(preview.messages[index].title)")
                case .silent(let reason, let story): (entry.title, reason.name + (story.map { " \($0)" } ?? ""))
                case .held: (entry.title, "held")
                case .waiting: (entry.title, "waiting")
                }
            }
        ) { first, _ in first }
    }

    @Test func `each entry of a first reading says why it is not sent, or what is`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document([Item("c"), Item("b"), Item("a")]))
        var preview = try await room.preview(lists)
        #expect(fates(preview, "/w") == ["a": "firstReading", "b": "firstReading", "c": "firstReading"])
        #expect(preview.messages.isEmpty)
        preview = try await room.preview(lists) { ($0.announceExisting, $0.cap) = (.newest(2), 1) }
        #expect(
            fates(preview, "/w") == ["a": "firstReading", "b": "overCap 1 more World story", "c": "message c"]
        )
        #expect(!FileManager.default.fileExists(atPath: room.storePath))
    }

    @Test func `entries that were seen, appear twice or are known from another feed are distinguished`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/other", "/w"]])
        let old = ["x", "y", "z", "q"].map { Item($0, link: "https://news.example/\($0)") }
        room.site.set("/w", document(old + [Item("v", link: "https://news.example/v")]))
        room.site.set("/other", document([Item("o")]))
        try await room.pass(lists)
        let link = "https://news.example/story"
        room.site.set("/other", document([Item("the story", id: "1", link: link), Item("o")]))
        room.advance(60)
        try await room.pass(lists)
        #expect(room.hub.titles == ["the story"])
        room.site.set(
            "/w",
            document(
                [
                    Item("again", id: "2", link: link), Item("fresh", id: "https://news.example/f"),
                    Item("fresh too", id: "http://www.news.example/f"),
                    Item("v", id: "other", link: "https://news.example/v"),
                ] + old
            )
        )
        room.advance(60)
        let preview = try await room.preview(lists)
        #expect(
            fates(preview, "/w") == [
                "again": "sameStory the story", "fresh": "message fresh", "fresh too": "repeated",
                "v": "seenBefore",
                "x": "seenBefore", "y": "seenBefore", "z": "seenBefore", "q": "seenBefore",
            ]
        )
        #expect(preview.messages.map(\.text) == ["Breaking World News : fresh"])
        #expect(room.hub.titles == ["the story"])
    }

    @Test func `a dry run looks at an unchanged document again, and the next pass does not`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([Item("a")]), etag: "\"1\""))
        try await room.pass(lists)
        let preview = try await room.preview(lists) { $0.force = true }
        #expect(fates(preview, "/w") == ["a": "seenBefore"])
        room.advance(60)
        #expect(try await room.pass(lists).unchanged == 1)
    }

    @Test func `feeds that are left alone or cannot be read say so`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w", "/gone", "/bad"]])
        room.site.set("/w", document([Item("a")]))
        room.site.set("/gone", FakeSite.Document(status: 410))
        room.site.set("/bad", FakeSite.Document(status: 404))
        try await room.pass(lists)
        let states = try await room.preview(lists).feeds.map(\.state)
        #expect(states.count == 3)
        for state in states {
            guard case .notAsked = state else { Issue.record("\(state)"); continue }
        }
        if case .notAsked(.gone) = states[1] {} else { Issue.record("\(states[1])") }
        if case .failed(let line) = try await room.preview(lists, { $0.force = true }).feeds[2].state {
            #expect(line.text.contains("answered 404"))
        } else {
            Issue.record("a 404 is a failure")
        }
    }

    @Test func `messages that wait too long for the hub are shown in their digest`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document([]))
        try await room.pass(lists)
        room.site.set("/w", document([Item("b"), Item("a")]))
        room.hub.answer { _ in 503 }
        room.advance(60)
        try await room.pass(lists)
        room.advance(7 * 3_600)
        let preview = try await room.preview(lists)
        #expect(preview.messages.map(\.title).contains("1 more World story"))
    }

    @Test(arguments: [
        ("Sat, 01 Jan 2028 00:00:00 GMT", DateProblem.future), ("Wed, 01 Jan 2569 00:00:00 GMT", .calendar),
        ("Wed, 01 Jan 1986 00:00:00 GMT", .ancient),
        ("Fri, 29 May 2026 01:00:00 GMT", .ahead), ("Mon, 25 May 2026 00:00:00 GMT", nil),
    ])
    func `a date that cannot be right is named`(date: String, problem: DateProblem?) async throws {
        let room = try Newsroom()
        room.site.set("/w", document([Item("a", date: date)]))
        let preview = try await room.preview(try room.lists(["World": ["/w"]]))
        #expect(preview.feeds.first?.entries.first?.dateProblem == problem)
    }

    @Test func `feeds are chosen by category and address, and a new one can be tried`() throws {
        let lists = try FeedLists.parse([
            (
                file: "w.yaml",
                text: "category: World\nfeeds:\n  - url: https://a.example/1\n  - url: https://a.example/2\n"
            ),
            (file: "s.yaml", text: "category: Sports\nfeeds:\n  - url: https://b.example/\n"),
        ])
        func urls(_ urls: [String], _ category: String? = nil, isLocal: Bool = false) throws -> [String] {
            try lists.chosen(category: category)
                .chosen(urls: urls, isLocal: isLocal, hasCategory: category != nil)
                .lists.flatMap { list in list.feeds.map { "\(list.category) \($0.address.text)" } }
        }
        #expect(try urls([], "sports") == ["Sports https://b.example/"])
        #expect(try urls(["https://A.example/2"]) == ["World https://a.example/2"])
        #expect(try urls(["https://new.example/"]) == ["Trial https://new.example/"])
        #expect(try urls(["https://new.example/", "https://new.example/"], "World") == ["World https://new.example/"])
        #expect(try urls(["file:///f"], isLocal: true) == ["Trial file:///f"])
        for (wrong, category) in [("file:///f", nil), ("nonsense", nil), ("https://b.example/", "Sprots")] {
            #expect(throws: FeedChoiceError.self) { try urls([wrong], category) }
        }
    }

    @Test func `the health of each feed reports last success, next poll and failure`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w", "/gone", "/bad"]])
        #expect(try lists.health(storePath: room.storePath).map(\.state) == [.new, .new, .new])
        #expect(!FileManager.default.fileExists(atPath: room.storePath))
        room.site.set("/w", document([Item("a")]))
        room.site.set("/gone", FakeSite.Document(status: 410))
        room.site.set("/bad", FakeSite.Document(status: 404))
        try await room.pass(lists)
        let now = Date(timeIntervalSince1970: 1_780_000_000)
        let health = try lists.health(storePath: room.storePath, now: now)
        #expect(health.map(\.state) == [.well, .gone, .failing])
        #expect(health.map(\.failures) == [0, 1, 1])
        #expect(health[0].lastSuccess == now)
        #expect(try #require(health[0].nextDue) > now)
        #expect(health[1].nextDue == nil)
        #expect(health[2].problem?.contains("answered 404") == true)
        #expect(health[0].problem == nil)
    }
}
