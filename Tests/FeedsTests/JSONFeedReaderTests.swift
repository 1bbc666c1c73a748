import Testing

@testable import Feeds

struct JSONFeedReaderTests {
    @Test func `a feed is read whole`() throws {
        let feed = try read(
            #"""
            {"version": "https://jsonfeed.org/version/1.1", "title": "A &amp; B", "home_page_url": "https://x.example/",
             "feed_url": "https://x.example/f", "language": "en", "authors": [{"name": "Ada"}],
             "hubs": [{"type": "WebSub", "url": "https://hub.example/"}, {"type": "rssCloud", "url": "https://no.example/"}],
             "items": [{"id": 17, "url": "/1", "title": "1 < 2 \ud83d\ude00", "content_html": "<p>a</p><img src='/p.jpg'>",
               "date_published": "2026-11-20T10:00:00Z", "tags": ["x", "X", "y"],
               "attachments": [{"url": "/a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5}]}]}
            """#
        )
        #expect(feed.format.description == "json-1.1")
        #expect(feed.title == "A & B")
        #expect(feed.hubs == ["https://hub.example/"])
        let entry = try #require(feed.entries.first)
        #expect(entry.id == "17")
        #expect(entry.link == "https://news.example/1")
        #expect(entry.title == "1 < 2 😀")
        #expect(entry.summary == "a")
        #expect(entry.image == "https://news.example/p.jpg")
        #expect(entry.author == "Ada")
        #expect(entry.categories == ["x", "y"])
        #expect(entry.enclosures == [Enclosure(url: "https://news.example/a.mp3", type: "audio/mpeg", length: 5)])
        #expect(feed.isComplete && feed.malformed == nil)
    }

    @Test func `fields of the wrong type are skipped and their item kept`() throws {
        let feed = try read(
            #"""
            {"version": 1, "title": false, "items": [{"id": null, "title": 5, "url": [], "tags": "one", "author": "Ada",
             "date_published": {}}, "no item", {"id": "2"}]}
            """#
        )
        #expect(feed.entries.count == 2)
        #expect(feed.entries.first?.categories == ["one"])
        #expect(feed.entries.map(\.id) == [nil, "2"])
    }

    @Test(arguments: [
        #"{"items": [{"id": "1"}, {"id": "2", "title": "ha"#, #"{"items": [{"id": "1"}, {"#,
        #"{"items": [{"id": "1"}, "#,
        #"{"items": [{"id": "1"}, {"id": "2""#, #"{"items": [{"id": "1"}"#, #"{"items": [{"id": "1"}]"#,
        #"{"items": [{"id": "1"}, {"id": "2", "title": "\u00"#,
    ])
    func `a cut document keeps its complete items`(text: String) throws {
        let feed = try read(text)
        #expect(!feed.isComplete && feed.malformed != nil)
        #expect(feed.entries.map(\.id) == ["1"])
    }

    @Test func `a comma too many and text behind the document do not matter`() throws {
        let feed = try read(#"{"items": [{"id": "1",},],} <!-- served in 3 ms -->"#)
        #expect(feed.isComplete && feed.malformed != nil)
        #expect(feed.entries.map(\.id) == ["1"])
    }

    @Test func `nesting is bounded`() throws {
        let feed = try read(#"{"items": [{"id": "1"}, "# + String(repeating: "[", count: 1_000_000))
        #expect(feed.entries.map(\.id) == ["1"] && !feed.isComplete)
    }

    @Test func `other JSON is not a feed`() {
        #expect(throws: FeedError.notAFeed(root: "a JSON value without items")) { try read(#"{"error": "no"}"#) }
        #expect(throws: FeedError.self) { try read("{") }
    }
}
