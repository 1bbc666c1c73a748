import Feeds
import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Stories that several categories announce, through real passes.
@Suite struct SharedStoriesTests {
    private typealias Item = FakeSite.Item

    private static let headline = "Mayor resigns after row over the budget"

    /// Three categories, each with one feed that was read once and was empty.
    private struct Desk {
        let room: Newsroom
        let lists: FeedLists

        init(_ rules: [String: String] = [:]) async throws {
            let room = try Newsroom()
            self.room = room
            lists = try FeedLists.parse(
                ["World", "Europe", "Top"].map { category in
                    let rules = rules[category] ?? "corrections: correction\nretractions: retracted"
                    let feed = "  - url: \(room.site.url("/\(category)"))\n    local: true\n"
                    let text = "category: \(category)\nevery: 1m\n\(rules)\nfeeds:\n\(feed)"
                    return (file: "\(category).yaml", text: text)
                }
            )
            for category in ["World", "Europe", "Top"] { set(category, []) }
            try await room.pass(lists)
        }

        func set(_ category: String, _ items: [Item]) {
            room.site.set("/\(category)", FakeSite.Document(body: FakeSite.rss(items)))
        }

        func pass(after seconds: Double = 60) async throws {
            room.advance(seconds)
            try await room.pass(lists)
        }

        /// Category, status and the ordinal numbers of story and version, in the order of sending.
        func sent() throws -> [String] {
            var stories: [String] = []
            var versions: [String] = []
            func number(_ name: String?, in names: inout [String]) -> Int {
                guard let name else { return -1 }
                if !names.contains(name) { names.append(name) }
                return names.firstIndex(of: name) ?? -1
            }
            return try room.hub.messages.map { message in
                let found = try MessageProperties(json: message.body)
                let story = number(found["story"], in: &stories)
                let version = number(found["version"], in: &versions)
                return "\(found["category"] ?? "") \(found["status"] ?? "news") story \(story) version \(version)"
            }
        }
    }

    @Test func `a story of three sections has one name and one version`() async throws {
        let desk = try await Desk()
        let story = Item(Self.headline, id: "1", link: "https://news.example/1")
        for category in ["World", "Europe", "Top"] { desk.set(category, [story]) }
        try await desk.pass()
        #expect(
            try desk.sent().sorted() == [
                "Europe news story 0 version 0", "Top news story 0 version 0", "World news story 0 version 0",
            ]
        )
        try await desk.pass()
        #expect(desk.room.hub.messages.count == 3)
    }

    @Test func `agency text in three papers has one name, in passes of its own and after a restart`() async throws {
        let desk = try await Desk()
        desk.set("World", [Item(Self.headline, link: "https://a.example/1")])
        try await desk.pass()
        desk.set("Europe", [Item("Mayor resigns after row over budget", link: "https://b.example/1")])
        try await desk.pass(after: 3_600)
        desk.set("Top", [Item("MAYOR RESIGNS after a row over the budget", link: "https://c.example/1")])
        try await desk.pass(after: 3_600)
        #expect(
            try desk.sent() == [
                "World news story 0 version 0", "Europe news story 0 version 0", "Top news story 0 version 0",
            ]
        )
    }

    @Test func `the same title after the window, and another story under the same link, have names of their own`()
        async throws
    {
        let desk = try await Desk()
        desk.set("World", [Item(Self.headline, link: "https://a.example/1")])
        try await desk.pass()
        desk.set("Europe", [Item("Bridge closed for repairs until further notice", link: "https://a.example/1")])
        try await desk.pass()
        desk.set("Top", [Item(Self.headline, link: "https://c.example/1")])
        try await desk.pass(after: 13 * 3_600)
        #expect(
            try desk.sent() == [
                "World news story 0 version 0", "Europe news story 1 version 1", "Top news story 2 version 2",
            ]
        )
    }

    @Test func `the earliest name is taken, and none that the category uses already`() {
        let now = Date(timeIntervalSince1970: 1_780_000_000)
        let title = EntryKey(hashing: [1])
        func story(_ name: String, before seconds: Double, _ key: EntryKey, content: EntryKey? = nil) -> StoryElsewhere
        {
            StoryElsewhere(
                name: name,
                language: LanguageShare.main,
                keys: [key],
                announced: now - seconds,
                content: content,
                last: nil
            )
        }
        let shared = SharedStories(secret: "s", now: now) { "r" }
        let entry = SharedEntry(titles: [title], content: EntryKey(hashing: [2]))
        let stories = [story("a", before: 60, title), story("b", before: 120, title)]
        #expect(shared.name(of: entry, in: stories) { _ in false } == "b")
        #expect(shared.name(of: entry, in: stories) { $0 == "b" } == "a")
        #expect(shared.name(of: entry, in: stories) { _ in true } == nil)
        // A link alone says nothing, and contents that are not known are not equal.
        let link = EntryKey(hashing: [3])
        let linked = [story("a", before: 60, link), story("b", before: 60, link, content: entry.content)]
        #expect(shared.name(of: entry, in: linked) { _ in false } == "b")
        let unknown = SharedEntry(titles: [], content: nil)
        #expect(shared.name(of: unknown, in: linked) { _ in false } == nil)
        let alert = SharedEntry(titles: [], content: nil, isAlert: true)
        #expect(shared.name(of: alert, in: linked) { _ in false } == "a")
    }

    @Test func `corrections and withdrawals in several categories have one version each`() async throws {
        let desk = try await Desk()
        let link = "https://news.example/1"
        let all = ["World", "Europe", "Top"]
        for category in all { desk.set(category, [Item(Self.headline, id: "1", link: link)]) }
        try await desk.pass()
        for category in all { desk.set(category, [Item("Correction: mayor stays in office", id: "1", link: link)]) }
        try await desk.pass()
        // A second correction, which one category has before the others.
        let second = Item("Correction: mayor leaves in May after all", id: "1", link: link)
        desk.set("Top", [second])
        try await desk.pass(after: 3_700)
        for category in all { desk.set(category, [second]) }
        try await desk.pass(after: 3_700)
        for category in all { desk.set(category, [Item("Retracted: mayor story", id: "1", link: link)]) }
        try await desk.pass(after: 3_700)
        let sent = try desk.sent()
        #expect(sent.count == 12)
        #expect(Set(sent[0..<3].map { $0.split(separator: " ").dropFirst().joined(separator: " ") }).count == 1)
        #expect(sent[3..<6].allSatisfy { $0.hasSuffix("correction story 0 version 1") }, "\(sent)")
        #expect(sent[6..<9].allSatisfy { $0.hasSuffix("correction story 0 version 2") }, "\(sent)")
        #expect(sent[9..<12].allSatisfy { $0.hasSuffix("withdrawn story 0 version 3") }, "\(sent)")
    }

    @Test func `two corrections with one title in turn are two versions in each category`() async throws {
        let desk = try await Desk()
        let all = ["World", "Europe"]
        func set(_ category: String, _ text: String) {
            let body = FakeSite.rss([Item("Correction: mayor stays in office", id: "1", link: "https://a.example/1")])
            let described = body.replacing("</guid>", with: "</guid><description>\(text)</description>")
            desk.room.site.set("/\(category)", FakeSite.Document(body: described))
        }
        for category in all { desk.set(category, [Item(Self.headline, id: "1", link: "https://a.example/1")]) }
        try await desk.pass()
        for (category, text) in [("World", "one"), ("Europe", "one, in Europe"), ("Europe", "two"), ("World", "two!")] {
            set(category, text)
            try await desk.pass(after: 3_700)
        }
        let sent = try desk.sent()
        #expect(
            sent.dropFirst(2) == [
                "World correction story 0 version 1", "Europe correction story 0 version 1",
                "Europe correction story 0 version 2", "World correction story 0 version 2",
            ]
        )
    }

    @Test func `news that comes after another category's correction is the version that was corrected`() async throws {
        let desk = try await Desk()
        let link = "https://news.example/1"
        desk.set("World", [Item(Self.headline, id: "1", link: link)])
        try await desk.pass()
        desk.set("World", [Item("Correction: mayor stays in office", id: "1", link: link)])
        try await desk.pass()
        desk.set("Europe", [Item(Self.headline, id: "1", link: link)])
        try await desk.pass()
        #expect(
            try desk.sent() == [
                "World news story 0 version 0", "World correction story 0 version 1", "Europe news story 0 version 0",
            ]
        )
    }

    @Test func `news that waits for its hour has the name already`() async throws {
        let desk = try await Desk(["World": "notBefore: 23:59"])
        let story = Item(Self.headline, id: "1", link: "https://news.example/1")
        desk.set("World", [story])
        try await desk.pass()
        #expect(desk.room.hub.messages.isEmpty)
        desk.set("Europe", [story])
        try await desk.pass()
        #expect(try desk.sent() == ["Europe news story 0 version 0"])
        try await desk.pass(after: 4 * 3_600)
        #expect(try desk.sent().last == "World news story 0 version 0")
    }

    @Test func `versions cannot be computed by others`() async throws {
        let desk = try await Desk()
        desk.set("World", [Item(Self.headline, id: "1")])
        try await desk.pass()
        let found = try MessageProperties(json: try #require(desk.room.hub.messages.first).body)
        let story = try #require(found["story"])
        #expect(found["version"] != StoryName.of("news", story, ""))
        #expect(found["version"]?.count == StoryName.length)
        let secret = try #require(try desk.room.store().note(.versionSecret))
        #expect(found["version"] == StoryName.of("news", story, secret))
    }
}
