import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// One story, once: over feeds, edits and dates, through real passes.
@Suite struct OneStoryTests {
    private typealias Item = FakeSite.Item

    private func document(_ items: [Item], title: String = "Example") -> FakeSite.Document {
        FakeSite.Document(
            body: FakeSite.rss(items).replacing("<title>Example</title>", with: "<title>\(title)</title>")
        )
    }

    private func document(_ titles: String...) -> FakeSite.Document { document(titles.map { Item($0) }) }

    /// A room whose one feed has these rules, and its list; the feed was read once and was empty.
    private func room(rules: String, _ items: [Item] = []) async throws -> (Newsroom, FeedLists) {
        let room = try Newsroom()
        let list = """
            category: World
            every: 1m
            feeds:
              - url: \(room.site.url("/w"))
                local: true
                \(rules)
            """
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        room.site.set("/w", document(items))
        try await room.pass(lists)
        return (room, lists)
    }

    private func properties(_ message: FakeHub.Message) throws -> MessageProperties {
        try MessageProperties(json: message.body)
    }

    // MARK: Several feeds

    @Test func `a story of several feeds is announced once and names the others`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(
            ["World": ["/a", "/b", "/c", "/d"]],
            template: "$(title) ($(feed), $(alsoFrom))"
        )
        for path in ["/a", "/b", "/c", "/d"] { room.site.set(path, document()) }
        try await room.pass(lists)
        let link = "https://wire.example/1"
        room.site.set("/a", document([Item("Mayor resigns after row over budget", link: link)], title: "The A"))
        room.site.set("/b", document([Item("Another headline", link: link + "?utm_source=b")], title: "The B"))
        room.site.set(
            "/c",
            document(
                [
                    Item("Mayor resigns after a row over the budget!", link: "https://c.example/1"),
                    Item("Twice from here", id: "again", link: link),
                ],
                title: "The C"
            )
        )
        room.site.set("/d", document([Item("Something else happens in town", link: "https://d.example/1")]))
        room.advance(60)
        let preview = try await room.preview(lists)
        #expect(preview.messages.count == 2)
        try await room.pass(lists)
        #expect(room.hub.titles == ["Mayor resigns after row over budget", "Something else happens in town"])
        let found = try properties(try #require(room.hub.messages.first))
        #expect(found["feed"] == "The A")
        #expect(found["alsoFrom"] == "The B; The C")
        #expect(found["messageParam"] == "Mayor resigns after row over budget (The A, The B; The C)")
        #expect(room.hub.conflicts == 0)
    }

    @Test func `a message that may have left is not changed`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/a", "/b"]])
        for path in ["/a", "/b"] { room.site.set(path, document()) }
        try await room.pass(lists)
        let link = "https://wire.example/1"
        room.site.set("/a", document([Item("Mayor resigns after row", link: link)]))
        room.hub.loseAnswers(true)
        room.advance(60)
        try await room.pass(lists)
        room.hub.loseAnswers(false)
        room.site.set("/b", document([Item("Mayor goes", link: link)], title: "The B"))
        room.advance(60)
        try await room.pass(lists)
        #expect(room.hub.titles == ["Mayor resigns after row"])
        #expect(room.hub.conflicts == 0)
    }

    @Test(arguments: [(11.0, 1), (13, 2)])
    func `nearly equal titles are one story within twelve hours`(hours: Double, messages: Int) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/a", "/b"]])
        for path in ["/a", "/b"] { room.site.set(path, document()) }
        try await room.pass(lists)
        room.site.set("/a", document("Stock markets close higher on Wall Street"))
        room.advance(60)
        try await room.pass(lists)
        room.site.set("/b", document("Stock markets close higher on Wall Street!"))
        room.advance(hours * 3_600)
        try await room.pass(lists)
        #expect(room.hub.messages.count == messages)
    }

    @Test(arguments: [(86_400.0, 2), (3_600, 1)])
    func `one feed may use a title twice, but not within twelve hours`(wait: Double, messages: Int) async throws {
        let others = [Item("x"), Item("y"), Item("z")]
        let (room, lists) = try await room(rules: "", others)
        for day in ["1", "2"] {
            let warning = Item("Weather warning for the north east coast", id: day)
            room.site.set("/w", document([warning] + others))
            room.advance(wait)
            try await room.pass(lists)
        }
        #expect(room.hub.messages.count == messages)
    }

    // MARK: Updates

    @Test func `an edit is announced where the list asks for it, at most once an hour`() async throws {
        let (room, lists) = try await room(rules: "updates: announce", [Item("a"), Item("b")])
        func publish(_ a: String, _ b: String) async throws {
            room.site.set("/w", document([Item(a, id: "id-a"), Item(b, id: "id-b")]))
            room.advance(60)
            try await room.pass(lists)
        }
        try await publish("a, corrected", "b")
        #expect(room.hub.titles == ["a, corrected"])
        #expect(try properties(room.hub.messages[0])["status"] == "update")
        try await publish("a, corrected again", "b, corrected")
        #expect(room.hub.titles.count == 1)
        room.advance(3_600)
        try await publish("a, corrected again", "b, corrected twice")
        #expect(room.hub.titles == ["a, corrected", "b, corrected twice", "a, corrected again"])
        room.advance(3_600)
        try await publish("a, corrected again", "b, corrected twice")
        #expect(room.hub.titles.count == 3)
    }

    @Test func `another date alone is not an update`() async throws {
        let (room, lists) = try await room(rules: "updates: announce")
        for date in ["Thu, 28 May 2026 20:27:00 GMT", "Thu, 28 May 2026 20:28:00 GMT"] {
            room.site.set("/w", document([Item("a", date: date)]))
            room.advance(60)
            try await room.pass(lists)
        }
        #expect(room.hub.titles == ["a"])
    }

    @Test func `an edit is named where updates are not asked for`() async throws {
        let (room, lists) = try await room(rules: "", [Item("a")])
        room.site.set("/w", document([Item("a, corrected", id: "id-a")]))
        room.advance(60)
        let fate = try await room.preview(lists).feeds.first?.entries.first?.fate
        #expect(fate == .silent(.edited, story: nil))
        try await room.pass(lists)
        #expect(room.hub.messages.isEmpty)
    }

    @Test func `asking for updates later brings none of what was edited before`() async throws {
        let (room, lists) = try await room(rules: "", [Item("a")])
        room.site.set("/w", document([Item("a, corrected", id: "id-a")]))
        room.advance(60)
        try await room.pass(lists)
        let text = "category: World\nupdates: announce\nfeeds:\n  - url: \(room.site.url("/w"))\n    local: true"
        room.site.set("/w", document([Item("new"), Item("a, corrected", id: "id-a")]))
        room.advance(3_600)
        try await room.pass(try FeedLists.parse([(file: "w.yaml", text: text)]))
        #expect(room.hub.titles == ["new"])
    }

    // MARK: Filters

    @Test func `filters of list and feed leave entries out and name the reason, also in a first reading`() async throws
    {
        let room = try Newsroom()
        let list = """
            category: World
            exclude: [sponsored, "live blog"]
            feeds:
              - url: \(room.site.url("/w"))
                local: true
                include: quake*
            """
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        room.site.set("/w", document("Quakes in town", "Quake: LIVE BLOG", "Election", "Sponsored: quake kits"))
        let preview = try await room.preview(lists)
        let fates = (preview.feeds.first?.entries ?? []).map(\.fate)
        #expect(
            fates == [
                .silent(.firstReading, story: nil), .silent(.excluded("live blog"), story: nil),
                .silent(.notIncluded, story: nil), .silent(.excluded("sponsored"), story: nil),
            ]
        )
        try await room.pass(lists) { $0.announceExisting = .newest(3) }
        #expect(room.hub.titles == ["Quakes in town"])
        room.site.set("/w", document("Election", "Another quake", "Quakes in town"))
        room.advance(86_400)
        try await room.pass(lists)
        #expect(room.hub.titles == ["Quakes in town", "Another quake"])
    }

    @Test func `a reset is seen behind a filter`() async throws {
        func items(_ prefix: String) -> [Item] {
            (0..<8).map { number in
                let date = "Mon, \(10 + number) May 2026 00:00:00 GMT"
                return Item(
                    "\(number == 0 ? "quake" : "story") \(prefix)\(number)",
                    id: "\(prefix)\(number)",
                    date: date
                )
            }
        }
        let (room, lists) = try await room(rules: "include: quake", items("old"))
        room.site.set("/w", document(items("new")))
        room.advance(60)
        try await room.pass(lists)
        #expect(room.hub.titles == [])
    }

    // MARK: Dates in the future

    /// The clock of these tests begins on Thursday 28 May 2026 at 20:26:40 GMT.
    private static let nextWeek = "Thu, 04 Jun 2026 20:00:00 GMT"

    @Test func `an entry far ahead is announced without its date where nothing is said`() async throws {
        let (room, lists) = try await room(rules: "")
        room.site.set("/w", document([Item("event", date: Self.nextWeek)]))
        room.advance(60)
        try await room.pass(lists)
        #expect(room.hub.titles == ["event"])
        #expect(try properties(room.hub.messages[0])["published"] == nil)
    }
}
