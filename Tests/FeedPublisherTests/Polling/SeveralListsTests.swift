import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// A feed that several lists have: fetched once, judged for each.
@Suite struct SeveralListsTests {
    private typealias Item = FakeSite.Item

    private let room: Newsroom

    init() throws { room = try Newsroom() }

    private func lists(_ rules: [(String, String)]) throws -> FeedLists {
        try FeedLists.parse(
            rules.map { category, rules in
                let feed = "  - url: \(room.site.url("/w"))\n    local: true\n"
                return (file: "\(category).yaml", text: "category: \(category)\n\(rules)\nfeeds:\n\(feed)")
            }
        )
    }

    private func set(_ items: [Item]) { room.site.set("/w", FakeSite.Document(body: FakeSite.rss(items))) }

    private func pass(_ lists: FeedLists, after seconds: Double = 60) async throws {
        room.advance(seconds)
        try await room.pass(lists)
    }

    /// Category and title of the messages since the last call.
    private func sent(after count: Int) throws -> [String] {
        try room.hub.messages.dropFirst(count).map { message in
            let found = try MessageProperties(json: message.body)
            return "\(found["category"] ?? ""): \(found["title"] ?? "")"
        }.sorted()
    }

    @Test func `it is fetched once, at the shortest interval, and each list has its filters`() async throws {
        let lists = try lists([("World", "every: 1h\nexclude: goal"), ("Sports", "every: 1m\ninclude: goal")])
        set([])
        try await pass(lists)
        set([Item("A goal in the last minute of the match"), Item("Mayor resigns after row over the budget")])
        try await pass(lists)
        #expect(room.site.requests("/w").count == 2)
        #expect(
            try sent(after: 0) == [
                "Sports: A goal in the last minute of the match", "World: Mayor resigns after row over the budget",
            ]
        )
        try await pass(lists)
        #expect(room.hub.messages.count == 2)
    }

    @Test func `an entry that both lists want is one story`() async throws {
        let lists = try lists([("World", "every: 1m"), ("Top", "every: 1m")])
        set([])
        try await pass(lists)
        set([Item("Short", id: "1")])
        try await pass(lists)
        let found = try room.hub.messages.map { try MessageProperties(json: $0.body) }
        #expect(Set(found.map { $0["category"] }) == ["World", "Top"])
        #expect(Set(found.map { $0["story"] }).count == 1)
        #expect(Set(found.map { $0["version"] }).count == 1)
    }

    @Test func `a list that gets a known feed announces what is new from then on, whichever list comes first`()
        async throws
    {
        set([Item("One", id: "1")])
        let alone = try lists([("World", "every: 1m")])
        try await pass(alone)
        set([Item("Two", id: "2"), Item("One", id: "1")])
        // The new list is before the other one.
        let both = try lists([("Art", "every: 1m"), ("World", "every: 1m")])
        try await pass(both)
        #expect(try sent(after: 0) == ["Art: Two", "World: Two"])
        // It goes, and the other one goes on with its own record.
        set([Item("Three", id: "3"), Item("Two", id: "2"), Item("One", id: "1")])
        try await pass(alone)
        #expect(try sent(after: 2) == ["World: Three"])
        set([Item("Four", id: "4"), Item("Three", id: "3"), Item("Two", id: "2")])
        try await pass(try lists([("World", "every: 1m"), ("Art", "every: 1m")]))
        #expect(try sent(after: 3).contains("World: Four"))
        #expect(try room.store().feeds().count == 2)
    }

    @Test func `a list that a new one precedes still updates its stories`() async throws {
        let rules = "every: 1m\nupdates: announce"
        let alone = try lists([("World", rules)])
        set([Item("One", id: "1")])
        try await pass(alone)
        set([Item("Two", id: "2"), Item("One", id: "1")])
        try await pass(alone)
        let both = try lists([("Art", "every: 1m"), ("World", rules)])
        set([Item("Two, edited", id: "2"), Item("One", id: "1")])
        try await pass(both)
        #expect(try sent(after: 0) == ["World: Two", "World: Two, edited"])
        let stories = try room.hub.messages.map { try MessageProperties(json: $0.body)["story"] }
        #expect(Set(stories).count == 1)
    }

    @Test(arguments: [false, true])
    func `one list holds an entry until its date, and the other one announces it`(isHoldLast: Bool) async throws {
        let both = [("World", "every: 1m\nfuture: hold"), ("Top", "every: 1m")]
        let lists = try lists(isHoldLast ? both.reversed() : both)
        set([])
        try await pass(lists)
        let date = (room.now + 3 * 86_400).formatted(.iso8601)
        set([Item("Embargo", id: "1", date: date)])
        try await pass(lists)
        #expect(try sent(after: 0) == ["Top: Embargo"])
        try await pass(lists, after: 4 * 86_400)
        #expect(try sent(after: 1) == ["World: Embargo"])
    }

    @Test func `a corrected address keeps what each list knows`() async throws {
        let lists = try lists([("World", "every: 1m"), ("Top", "every: 1m")])
        set([Item("One", id: "1")])
        try await pass(lists)
        let store = try room.store()
        defer { try? store.close() }
        let old = try #require(lists.feeds.first?.source.address)
        let new = try FeedAddress(
            parsing: old.text.replacing("http://", with: "https://"),
            allowsFile: false
        )
        let numbers = Set(try store.feeds().values.map(\.id))
        let renamed = try store.enroll([new])
        #expect(Set(renamed.values.map(\.id)) == numbers)
        #expect(renamed[FeedRecord.url(new.text, of: "top")] != nil)
    }

    @Test func `a dry run shows the decisions of each list`() async throws {
        let lists = try lists([("World", "every: 1m\nexclude: goal"), ("Sports", "every: 1m")])
        set([])
        try await pass(lists)
        set([Item("A goal in the last minute of the match")])
        room.advance(60)
        let preview = try await room.preview(lists)
        #expect(preview.feeds.map(\.category) == ["World", "Sports"])
        #expect(preview.messages.count == 1)
        guard case .silent = preview.feeds[0].entries.first?.fate, case .message = preview.feeds[1].entries.first?.fate
        else {
            Issue.record("\(preview.feeds.map(\.entries))")
            return
        }
    }
}
