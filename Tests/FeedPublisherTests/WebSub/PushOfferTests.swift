import Feeds
import Testing

@testable import FeedPublisher

@Suite struct PushOfferTests {
    private static let url = "https://news.example/feeds/world.rss"

    private static func links(_ text: String) -> [String] {
        LinkField.links([text], base: url).flatMap { link in link.relations.map { "\($0) \(link.target)" } }
    }

    @Test(arguments: [
        ("<https://hub.example/>; rel=\"hub\"", ["hub https://hub.example/"]),
        (
            "<https://h.example/>;rel=hub, </self>; rel=self",
            ["hub https://h.example/", "self https://news.example/self"]
        ),
        (
            "<world>; title=\"a, b; c\"; rel=\"SELF alternate\"",
            ["self https://news.example/feeds/world", "alternate https://news.example/feeds/world"]
        ),
        ("<a>; rel=x; rel=hub", ["x https://news.example/feeds/a"]), ("<a>", []), ("no link", []), ("<cut", []),
        ("<a>; rel=\"hub", ["hub https://news.example/feeds/a"]),
        ("<a,b>; rel=hub", ["hub https://news.example/feeds/a,b"]),
    ])
    func `a Link field is read link by link`(field: String, expected: [String]) {
        #expect(Self.links(field) == expected)
    }

    private static func feed(hubs: [String] = [], selfURL: String? = nil) -> Feed {
        var feed = Feed(format: FeedFormat(.rss, version: "2.0"))
        feed.hubs = hubs
        feed.selfURL = selfURL
        return feed
    }

    @Test func `what the header says counts before what the document says`() {
        let feed = Self.feed(hubs: ["https://old.example/"], selfURL: "https://news.example/self")
        let header = ["<https://new.example/>; rel=hub", "<https://news.example/topic>; rel=self"]
        #expect(
            PushOffer(fields: header, url: Self.url, feed: feed)
                == PushOffer(hub: "https://new.example/", topic: "https://news.example/topic")
        )
        #expect(
            PushOffer(fields: [], url: Self.url, feed: feed)
                == PushOffer(hub: "https://old.example/", topic: "https://news.example/self")
        )
    }

    @Test func `of several hubs the first over TLS is taken, else the first`() {
        let hubs = ["ftp://a.example/", "http://b.example/", "https://c.example/"]
        let named = Self.feed(hubs: hubs, selfURL: Self.url)
        #expect(PushOffer(fields: [], url: Self.url, feed: named)?.hub == "https://c.example/")
        let plain = Self.feed(hubs: Array(hubs.prefix(2)), selfURL: Self.url)
        #expect(PushOffer(fields: [], url: Self.url, feed: plain)?.hub == "http://b.example/")
    }

    @Test func `a feed that does not name itself, or no hub, offers nothing`() {
        #expect(PushOffer(fields: [], url: Self.url, feed: Self.feed(hubs: ["https://c.example/"])) == nil)
        #expect(PushOffer(fields: [], url: Self.url, feed: Self.feed(selfURL: Self.url)) == nil)
        #expect(PushOffer(fields: ["<https://h.example/>; rel=hub"], url: Self.url, feed: nil) == nil)
    }
}
