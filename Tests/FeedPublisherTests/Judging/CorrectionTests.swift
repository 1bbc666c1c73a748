import Feeds
import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Entries that a list knows as corrections and retractions, through real passes.
@Suite struct CorrectionTests {
    private typealias Item = FakeSite.Item

    private static let rules = """
        corrections: ["correction:", corrected, Berichtigung, 訂正]
        retractions: [retracted, withdrawn]
        """
    private static let headline = "Mayor resigns after row over the budget"

    private struct Desk {
        let room: Newsroom
        let lists: FeedLists

        init(_ paths: [String] = ["/w"], rules: String = CorrectionTests.rules) async throws {
            room = try Newsroom()
            var text = "category: World\nevery: 1m\n\(rules)\nfeeds:\n"
            for path in paths { text += "  - url: \(room.site.url(path))\n    local: true\n" }
            lists = try FeedLists.parse([(file: "w.yaml", text: text)])
            for path in paths { try await bring([], to: path) }
        }

        func bring(_ items: [Item], to path: String = "/w", after seconds: Double = 60) async throws {
            room.site.set(path, FakeSite.Document(body: FakeSite.rss(items)))
            room.advance(seconds)
            try await room.pass(lists)
        }

        /// Title and status of what went out, and whether it takes the place of the first message.
        func sent() throws -> [String] {
            let all = try room.hub.messages.map { try MessageProperties(json: $0.body) }
            return all.map { found in
                let isOfFirst = found["story"] == all[0]["story"]
                let replaces = found["replaces"].map { $0 == all[0]["story"] ? " for the first" : " for \($0)" } ?? ""
                return "\(found["title"] ?? "") [\(found["status"] ?? (isOfFirst ? "" : "other"))]\(replaces)"
            }
        }
    }

    struct Marked: CustomTestStringConvertible {
        let label: String
        let item: FakeSite.Item
        let expected: String

        var testDescription: String { label }
    }

    private static let link = "https://news.example/1"

    static let marked: [Marked] = [
        Marked(
            label: "the same entry",
            item: Item("Correction: mayor stays", id: "1", link: link),
            expected: "Correction: mayor stays [correction] for the first"
        ),
        Marked(
            label: "a new entry with the same link",
            item: Item("Mayor stays (corrected)", id: "2", link: link + "?utm_source=x"),
            expected: "Mayor stays (corrected) [correction] for the first"
        ),
        Marked(
            label: "a new entry with nearly the same title",
            item: Item("BERICHTIGUNG: Mayor resigns after row over budget", id: "2"),
            expected: "BERICHTIGUNG: Mayor resigns after row over budget [correction] for the first"
        ),
        Marked(
            label: "the mark at the end",
            item: Item("Mayor resigns after row over the budget — retracted", id: "2"),
            expected: "Mayor resigns after row over the budget — retracted [withdrawn] for the first"
        ),
        Marked(
            label: "the same entry is retracted",
            item: Item("Withdrawn: Mayor resigns", id: "1"),
            expected: "Withdrawn: Mayor resigns [withdrawn] for the first"
        ),
        Marked(
            label: "a correction of nothing known",
            item: Item("Correction: another matter altogether", id: "2", link: "https://news.example/2"),
            expected: "Correction: another matter altogether [other]"
        ),
        Marked(
            label: "a retraction of nothing known",
            item: Item("Retracted: another matter altogether", id: "2", link: "https://news.example/2"),
            expected: "Retracted: another matter altogether [other]"
        ),
    ]

    @Test(arguments: marked, [false, true])
    func `a marked entry replaces its story`(marked: Marked, isAlone: Bool) async throws {
        let desk = try await Desk()
        let first = Item(Self.headline, id: "1", link: Self.link)
        try await desk.bring([first])
        let items = isAlone || marked.item.id == first.id ? [marked.item] : [marked.item, first]
        for _ in 1...3 { try await desk.bring(items) }
        #expect(try desk.sent() == ["\(Self.headline) []", marked.expected])
    }

    @Test func `a mark among the categories is said in the title`() async throws {
        let desk = try await Desk()
        func publish(_ title: String, _ category: String) {
            desk.room.site.set(
                "/w",
                FakeSite.Document(
                    body: """
                        <rss version="2.0"><channel><title>Example</title><item><guid>1</guid><title>\(title)</title>
                        <category>\(category)</category></item></channel></rss>
                        """
                )
            )
            desk.room.advance(60)
        }
        publish("Mayor resigns", "Town")
        try await desk.room.pass(desk.lists)
        publish("Mayor stays", "Corrected")
        try await desk.room.pass(desk.lists)
        publish("Mayor stays on", "Retracted")
        try await desk.room.pass(desk.lists)
        #expect(
            try desk.sent() == [
                "Mayor resigns []", "Correction: Mayor stays [correction] for the first",
                "Withdrawn: Correction: Mayor stays [withdrawn] for the first",
            ]
        )
    }

    @Test(arguments: [
        ("Troops withdrawn from border", [], nil), ("Retracted licences are back", [], MessageStatus.withdrawn),
        ("Mayor stays (corrected)", [], .correction), ("The mayor stays on (corrected) - The Example", [], .correction),
        ("Mayor stays — retracted", [], .withdrawn), ("市長は留任 訂正", [], .correction), ("訂正市長は留任", [], .correction),
        ("市長の訂正は無い", [], nil), ("Mayor stays", ["Corrected"], .correction),
        ("Mayor stays", ["Withdrawn troops", "Town"], nil),
    ])
    func `marks count at the ends of titles and as whole categories`(
        title: String,
        categories: [String],
        expected: MessageStatus?
    ) throws {
        let text = "category: World\n\(Self.rules)\nfeeds:\n  - url: https://news.example/feed"
        let marks = try #require(FeedLists.parse([(file: "w.yaml", text: text)]).lists.first?.feeds.first?.rules.marks)
        var entry = Entry()
        entry.title = title
        entry.categories = categories
        #expect(marks.mark(of: entry)?.status == expected)
    }

    @Test func `a second feed's correction corrects, and a third's is not news`() async throws {
        let desk = try await Desk(["/a", "/b", "/c"])
        let link = desk.room.site.url("/1")
        try await desk.bring([Item(Self.headline, id: "1", link: link)], to: "/a")
        try await desk.bring([Item("Correction: mayor stays", id: "b", link: link)], to: "/b")
        try await desk.bring([Item("Corrected: the mayor stays", id: "c", link: link)], to: "/c")
        #expect(try desk.sent().count == 2)
        try await desk.bring([Item("Retracted: the mayor stays", id: "d", link: link)], to: "/c")
        #expect(try desk.sent().last == "Retracted: the mayor stays [withdrawn] for the first")
        // Told once more by whoever has not heard.
        try await desk.bring([Item(Self.headline, id: "e", link: link)], to: "/b")
        #expect(try desk.sent().count == 3)
    }

    @Test func `a feed of another site corrects nothing, by link or by title`() async throws {
        let desk = try await Desk(["/a", "/b"])
        try await desk.bring([Item(Self.headline, id: "1", link: Self.link)], to: "/a")
        try await desk.bring([Item("Retracted: mayor stays", id: "b", link: Self.link)], to: "/b")
        try await desk.bring([Item("Retracted: \(Self.headline)", id: "c")], to: "/b")
        // Its own entry of that page does not help.
        let own = Item("Mayor at home", id: "d", link: Self.link)
        try await desk.bring([Item("Retracted: Mayor at home", id: "e", link: Self.link), own], to: "/b")
        #expect(try desk.sent().filter { $0.contains(" for ") } == [])
        try await desk.bring([Item("Correction: mayor stays", id: "2", link: Self.link)], to: "/a")
        #expect(try desk.sent().last == "Correction: mayor stays [correction] for the first")
    }

    @Test func `after three days a new entry is news of its own, and the same one corrects`() async throws {
        let desk = try await Desk()
        try await desk.bring([Item(Self.headline, id: "1", link: Self.link)])
        try await desk.bring([Item("Correction: mayor stays", id: "2", link: Self.link)], after: 73 * 3_600)
        #expect(try desk.sent() == ["\(Self.headline) []", "Correction: mayor stays [other]"])
        try await desk.bring([Item("Correction: mayor does stay", id: "1", link: Self.link)])
        #expect(try desk.sent().last == "Correction: mayor does stay [correction] for the first")
    }

    @Test func `a first reading corrects only what was said before its entry was written`() async throws {
        let desk = try await Desk(["/a"])
        let (old, new) = (desk.room.site.url("/1"), desk.room.site.url("/2"))
        try await desk.bring(
            [Item(Self.headline, id: "1", link: old), Item("Council votes on a new bridge", id: "2", link: new)],
            to: "/a"
        )
        let found = [
            Item("Correction: mayor stays", id: "c", link: old, date: "Thu, 28 May 2026 10:00:00 GMT"),
            Item("Correction: no bridge", id: "d", link: new, date: "Thu, 28 May 2026 20:30:00 GMT"),
        ]
        desk.room.site.set("/n", FakeSite.Document(body: FakeSite.rss(found)))
        let feeds = ["/a", "/n"].map { "  - url: \(desk.room.site.url($0))\n    local: true\n" }.joined()
        let more = try FeedLists.parse([
            (file: "w.yaml", text: "category: World\nevery: 1m\n\(Self.rules)\nfeeds:\n\(feeds)")
        ])
        desk.room.advance(3_600)
        try await desk.room.pass(more)
        #expect(desk.room.hub.titles.dropFirst(2) == ["Correction: no bridge"])
    }

    @Test func `a story is corrected once an hour, with the last wording, and a retraction does not wait`() async throws
    {
        let desk = try await Desk()
        try await desk.bring([Item(Self.headline, id: "1")])
        for number in 1...4 { try await desk.bring([Item("Correction: \(number)", id: "1")]) }
        #expect(try desk.sent().map { $0.prefix(13) } == ["Mayor resigns", "Correction: 1"])
        // Out of the feed, and still owed.
        try await desk.bring([], after: 3_600)
        #expect(try desk.sent().map { $0.prefix(13) } == ["Mayor resigns", "Correction: 1", "Correction: 4"])
        try await desk.bring([Item("Correction: 5", id: "1")])
        try await desk.bring([Item("Retracted: 6", id: "1")])
        try await desk.bring([Item("Correction: 7", id: "1")], after: 7_200)
        #expect(try desk.sent().dropFirst(3) == ["Retracted: 6 [withdrawn] for the first"])
    }

    @Test func `an entry about a withdrawn story under another id is not news`() async throws {
        let desk = try await Desk()
        try await desk.bring([Item(Self.headline, id: "1")])
        try await desk.bring([Item("Retracted: \(Self.headline)", id: "2")])
        try await desk.bring([Item("Correction: \(Self.headline)", id: "3")])
        #expect(try desk.sent().count == 2)
    }

    @Test func `what was not sent yet is corrected in its place, or not sent at all`() async throws {
        let desk = try await Desk()
        desk.room.hub.answer { _ in 503 }
        try await desk.bring([Item("attempted")])
        try await desk.bring([Item("a", id: "a"), Item("b", id: "b")])
        try await desk.bring([Item("Correction: a", id: "a"), Item("Retracted: b", id: "b")])
        desk.room.hub.answer { _ in 201 }
        try await desk.bring([])
        #expect(try desk.sent() == ["attempted []", "Correction: a [other]"])
    }

    @Test func `in one document the marked entry counts`() async throws {
        let desk = try await Desk()
        let other = Item("Council votes on a new bridge", id: "3", link: Self.link + "0")
        try await desk.bring([
            Item("Correction: Mayor stays", id: "2", link: Self.link), Item(Self.headline, id: "1", link: Self.link),
            Item("Retracted: Council votes on a new bridge", id: "4"), other,
        ])
        #expect(try desk.sent() == ["Correction: Mayor stays []"])
    }

    @Test func `a page that many entries link to identifies no story`() async throws {
        let desk = try await Desk()
        let page = "https://status.example/incidents"
        try await desk.bring([Item("Resolved", id: "0", link: page)])
        try await desk.bring([
            Item("Correction: mail is fast again", id: "3", link: page), Item("Search is down", id: "2", link: page),
            Item("Mail is slow", id: "1", link: page), Item("Resolved", id: "0", link: page),
        ])
        #expect(
            try desk.sent() == [
                "Resolved []", "Mail is slow [other]", "Search is down [other]",
                "Correction: mail is fast again [other]",
            ]
        )
    }

    @Test func `an update that the list asks for replaces the story, too`() async throws {
        let desk = try await Desk(rules: "updates: announce")
        try await desk.bring([Item("Mayor resigns", id: "1")])
        try await desk.bring([Item("Mayor resigns after row", id: "1")])
        #expect(try desk.sent() == ["Mayor resigns []", "Mayor resigns after row [update] for the first"])
    }

    @Test func `a withdrawn story is not announced again as an update in the same pass`() async throws {
        let desk = try await Desk(rules: Self.rules + "\nupdates: announce")
        try await desk.bring([Item("Mayor resigns", id: "1", link: Self.link)])
        let edited = Item("Mayor resigns after row", id: "1", link: Self.link)
        for _ in 1...2 {
            try await desk.bring([Item("Retracted: mayor stays", id: "2", link: Self.link), edited], after: 4_000)
        }
        #expect(try desk.sent() == ["Mayor resigns []", "Retracted: mayor stays [withdrawn] for the first"])
    }

    @Test func `a corrected entry of a first reading is not news, and filters stop no correction`() async throws {
        let desk = try await Desk(rules: Self.rules + "\ninclude: mayor")
        let old = Item("Old mayor", id: "old")
        let feed = "  - url: \(desk.room.site.url("/n"))\n    local: true"
        let text = "category: World\n\(Self.rules)\ninclude: mayor\nfeeds:\n\(feed)"
        let fresh = try FeedLists.parse([(file: "w.yaml", text: text)])
        desk.room.site.set("/n", FakeSite.Document(body: FakeSite.rss([old])))
        try await desk.room.pass(fresh)
        desk.room.site.set("/n", FakeSite.Document(body: FakeSite.rss([Item("Correction: old mayor", id: "old")])))
        desk.room.advance(3_600)
        try await desk.room.pass(fresh)
        #expect(desk.room.hub.messages.isEmpty)
        try await desk.bring([Item("Mayor resigns", id: "1")])
        try await desk.bring([Item("Correction: nobody resigns", id: "1")])
        #expect(try desk.sent().last == "Correction: nobody resigns [correction] for the first")
    }

    @Test func `terms are checked`() {
        let text = "category: World\ncorrections: \"***\"\nretractions: [\"!\"]\nfeeds: []"
        let problems = #expect(throws: FeedListsError.self) { try FeedLists.parse([(file: "w.yaml", text: text)]) }
        #expect("\(problems.map { "\($0)" } ?? "")".contains("'corrections'"))
    }
}
