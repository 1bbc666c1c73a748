import Feeds
import Foundation
import HubProtocol
import Testing

@testable import WebPages

struct FeedDocumentTests {
    private static let origin = "https://hub.example:8787"

    private static let stories: [[MessageProperty: String]] = [
        [
            "title": "Fire at the harbour", "summary": "Ships & cranes <burn>; \"all\" 'safe'.", "category": "World",
            "link": "https://a.example/1?a=1&b=2", "author": "Ann & Bob", "published": "2030-03-17T17:46:40Z",
            "image": "https://a.example/1.jpg?w=1&h=2", "story": "s1",
        ],
        ["messageParam": "Nothing but a text", "category": "World"],
        ["title": "Zürich – 東京 👩‍👩‍👧 می‌خواهم", "messageParam": "e\u{301}t\u{E9}", "feed": "Outlet", "category": "Weather"],
        [
            "title": "Use <script>alert(1)</script> & <b>bold</b> &amp; 5 < 6 ]]>",
            "messageParam": "<img src=x onerror=y> &lt; ]]>",
        ],
        ["title": "AT&T, 1 < 2, a&b;", "link": "http://[2001:db8::1]/x"],
    ]

    private static func feed() throws -> FeedDocument {
        try document(NewsTimeline(stories.enumerated().map { try storyVersion(Int64($0) + 1, $1) }))
    }

    private static func read(_ document: FeedDocument, _ type: FeedFileType) throws -> Feed {
        let text = document.rendered(as: type).text(origin: origin)
        return try FeedReader.read(
            Array(text.utf8),
            url: origin + document.place.feed(type),
            contentType: type.mediaType
        )
    }

    @Test(arguments: FeedFileType.allCases)
    func `our own reader reads a feed back without loss`(type: FeedFileType) throws {
        let document = try Self.feed()
        let feed = try Self.read(document, type)
        #expect(feed.format.description == ["rss": "rss-2.0", "atom": "atom-1.0", "json": "json-1.1"][type.rawValue])
        #expect(feed.malformed == nil && feed.isComplete)
        #expect(feed.title == "World")
        #expect(feed.link == "\(Self.origin)/-/news/")
        #expect(feed.selfURL == "\(Self.origin)/-/news/feeds/World.\(type)")
        #expect(feed.hubs.isEmpty)
        #expect(feed.entries.count == document.entries.count)
        for (read, entry) in zip(feed.entries, document.entries) {
            #expect(read.id == entry.id)
            // Titles of JSON Feed are plain text, but so many have references that ours are read like them.
            #expect(read.title == (type == .json ? entry.title.replacing("&amp;", with: "&") : entry.title))
            #expect(
                read.summary
                    == (entry.text ?? (type == .json || type == .atom && entry.link == nil ? entry.title : nil))
            )
            #expect(read.link == entry.link)
            #expect(read.image == entry.image)
            #expect(read.byline?.name == entry.author)
            #expect(read.categories == [entry.category])
            #expect(read.published == entry.published.date)
            #expect(read.updated == entry.updated.date)
        }
        #expect(Set(feed.keys().map(\.key)).count == document.entries.count)
    }

    @Test func `markup in texts stays text`() throws {
        let document = try Self.feed()
        for type in FeedFileType.allCases where type != .json {
            let text = document.rendered(as: type).text(origin: Self.origin)
            #expect(!text.contains("<script") && !text.contains("<img") && !text.contains("<b>"))
        }
    }

    @Test(arguments: FeedFileType.allCases)
    func `a correction keeps the entry's id and has a later date; a withdrawal takes it away`(type: FeedFileType) throws
    {
        var timeline = NewsTimeline([try storyVersion(1, "fire", of: "s"), try storyVersion(2, "other", of: "t")])
        let before = try Self.read(document(timeline), type).entries
        timeline.add(newer: [try storyVersion(60, "fire, put right", of: "s", .correction)])
        let corrected = try Self.read(document(timeline), type).entries
        #expect(corrected.map(\.title) == ["fire, put right", "other"])
        #expect(corrected[0].id == before[1].id)
        #expect(corrected[0].published == before[1].published)
        #expect(corrected[0].updated == second(60).date)
        timeline.add(newer: [try storyVersion(61, "Withdrawn: fire", of: "s", .withdrawn)])
        #expect(try Self.read(document(timeline), type).entries.map(\.title) == ["other"])
        #expect(try document(timeline).updated == second(61))
    }

    @Test func `an Atom feed tells which entry was withdrawn`() throws {
        let timeline = NewsTimeline([
            try storyVersion(1, "fire", of: "s"), try storyVersion(2, "", of: "s", .withdrawn),
        ])
        let id = try storyVersion(1, "fire", of: "s").id.urn
        let text = try document(timeline).rendered(as: .atom).text(origin: Self.origin)
        #expect(text.contains(#"<at:deleted-entry ref="\#(id)" when="2030-03-17T17:46:42Z"/>"#))
    }

    @Test(arguments: FeedFileType.allCases)
    func `a feed names the operator's WebSub hub`(type: FeedFileType) throws {
        let document = try document(NewsTimeline(), webSubHub: "https://push.example/?a=1&b=2")
        #expect(try Self.read(document, type).hubs == ["https://push.example/?a=1&b=2"])
    }

    @Test(arguments: FeedFileType.allCases)
    func `a feed without entries is a feed`(type: FeedFileType) throws {
        let feed = try Self.read(document(NewsTimeline()), type)
        #expect(feed.entries.isEmpty && feed.title == "World" && feed.malformed == nil)
    }

    @Test func `ids are those of the story in every feed and at every start, and of no other hub`() throws {
        let id = try storyVersion(1, "a", of: "s").id
        #expect(id == (try storyVersion(9, "b", of: "s").id))
        #expect(
            id.urn.wholeMatch(of: /urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil
        )
        #expect(id.urn == "urn:uuid:b0b93b4d-89a6-8f54-9cc5-20d60e85e054")
        #expect(id != StoryID(.story, "s", scope: "elsewhere"))
        #expect(StoryID(.story, "m1", scope: "here") != StoryID(.message, "m1", scope: "here"))
    }

    @Test func `a tag with odd characters has an address`() throws {
        let place = FeedDocument.Place(hub: "news", tag: "a#b:c@d_é")
        #expect(place.feed(.rss) == "/-/news/feeds/a%23b%3Ac%40d_%C3%A9.rss")
    }
}
