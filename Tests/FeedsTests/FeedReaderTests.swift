import FoundationEssentials
import Testing

@testable import Feeds

struct FeedReaderTests {
    private static let page = """
        <!DOCTYPE html><html><head><title>x</title><!-- <link rel="alternate" type="application/rss+xml" href="/no"> -->
        <base href="https://news.example/b/"><LINK REL='home alternate' TYPE=application/rss+xml HREF=feed.xml>
        <link rel="alternate" type="application/json+oembed" href="/no"><link rel=stylesheet href=x>
        <link href="/atom" rel="alternate" type="application/atom+xml; charset=utf-8"></head><body></body></html>
        """

    /// What follows `<html>`, and the paths of the feeds found.
    @Test(arguments: [
        ("<link rel=alternate type=application/json href=/feed.json>", ["/feed.json"]),
        ("<link rel=alternate type='text/xml; charset=utf-8' href=/rss>", ["/rss"]),
        ("<link rel=alternate type=application/xml href=/rss>", ["/rss"]),
        ("<link rel=alternate type=application/json href=/wp-json/wp/v2/pages/2>", []),
        ("<link rel=alternate type=application/json href='/index.php?rest_route=/wp/v2/pages/2'>", []),
        ("<link rel=alternate type=text/xml+oembed href=/oembed><link rel=alternate href=/en hreflang=en>", []),
        ("<body><a rel=alternate type=application/rss+xml href=/rss>RSS</a>", ["/rss"]),
        ("<body><a class=x rel='nofollow alternate' href=/atom>Feed</a><a href=/x>x</a>", ["/atom"]),
        ("<body><a rel=alternate hreflang=de href=/de>Deutsch</a><a rel=alternate type=text/html href=/m>m</a>", []),
        (
            "<link rel=alternate type=text/xml href=/1><link rel=alternate type=application/rss+xml href=/2>",
            ["/2", "/1"]
        ),
        ("<script>for(i=0;i<n;i++){}</script><link rel=alternate type=application/rss+xml href=/rss>", ["/rss"]),
        ("<script>x='<!--'</script><link rel=alternate type=application/rss+xml href=/rss>", ["/rss"]),
        ("<title>a <!-- b</title><link rel=alternate type=application/rss+xml href=/rss>", ["/rss"]),
        ("<style>a{}/*<!--*/</style><link rel=alternate type=application/rss+xml href=/rss>", ["/rss"]),
        ("<textarea><link rel=alternate type=application/rss+xml href=/no></textarea>", []),
        ("<noscript><!--</noscript><link rel=alternate type=application/rss+xml href=/rss>", ["/rss"]),
    ])
    func `a page's feeds are found`(markup: String, paths: [String]) {
        let addresses = paths.map { "https://news.example\($0)" }
        #expect(throws: FeedError.html(discovered: addresses)) { try read("<!DOCTYPE html><html>\(markup)") }
    }

    @Test(arguments: [
        ("nothing", "", FeedError.empty), ("white space", " \r\n\t", .empty),
        ("a byte order mark", "\u{FEFF}\n", .empty),
        ("a page", page, .html(discovered: ["https://news.example/b/feed.xml", "https://news.example/atom"])),
        ("a page without feeds", "<html><body>Maintenance", .html(discovered: [])),
        ("an outline", "<opml version='1.0'/>", .notAFeed(root: "opml")),
        ("a sitemap", "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>", .notAFeed(root: "urlset")),
        ("an error document", "<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>", .notAFeed(root: "Error")),
    ])
    func `a document that is not a feed says what it is`(label: String, text: String, error: FeedError) {
        #expect(throws: error, "\(label)") { try read(text) }
        #expect(!error.description.contains("\n"))
    }

    @Test func `plain text is unreadable`() {
        #expect { try read("Service unavailable") } throws: { error in
            if case FeedError.unreadable = error { true } else { false }
        }
    }

    @Test func `a document over the limit is refused unread`() {
        let bytes = [UInt8](repeating: 0x20, count: FeedReader.maximumBytes + 1)
        #expect(throws: FeedError.tooLarge(limit: FeedReader.maximumBytes)) {
            try FeedReader.read(bytes, url: "https://x.example/", contentType: nil)
        }
    }

    /// libxml2 was stopped in the middle of what it read, and went on in freed memory.
    @Test(arguments: [
        ("<rss version='2.0'><channel>", "item", "</channel></rss>"),
        ("<feed xmlns='http://www.w3.org/2005/Atom'>", "entry", "</feed>"),
    ])
    func `a fault costs none of the entries of a large document`(head: String, name: String, end: String) throws {
        let entries = (1...1_700).map { "<\(name)><id>\($0)</id><title>\($0)</title></\(name)>" }.joined()
        for fault in ["A ]]> B", "A & B", "A < B", "A\u{1}B", "A&nbsp;B"] {
            let feed = try read("\(head)<\(name)><title>\(fault)</title></\(name)>\(entries)\(end)")
            #expect(feed.entries.count == 1_701 && feed.isComplete && feed.malformed != nil, "\(fault)")
        }
    }

    @Test func `an empty feed is a feed`() throws {
        let feed = try read("<rss version='2.0'><channel><title>x</title></channel></rss>")
        #expect(feed.entries.isEmpty && feed.isComplete)
    }

    @Test func `the charset of the response counts`() throws {
        let document =
            Array("<rss><channel><title>".utf8) + [0xEF, 0xF0, 0xE8] + Array("</title></channel></rss>".utf8)
        let type = "text/xml; charset=\"windows-1251\""
        #expect(try FeedReader.read(document, url: "", contentType: type).title == "при")
    }

    /// Every cut of a document yields a prefix of its entries, each whole, and is known to be cut.
    @Test(arguments: [
        """
        <?xml version="1.0"?><rss version="2.0"><channel><title>T</title><item><guid>1</guid><title><![CDATA[one]]></title>
        <link>https://x.example/1</link></item><!-- c --><item><guid>2</guid><title>two &amp; a</title><link>https://x.example/2</link>
        </item><item><title>three</title><guid>3</guid></item></channel></rss>
        """,
        """
        <feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>1</id><title type="xhtml"><div>o<b>ne</b></div></title>
        <link href="https://x.example/1"/></entry><entry><id>2</id><title>two</title></entry></feed>
        """,
        #"{"title": "T", "items": [{"id": "1", "title": "on\u00e9"}, {"id": "2", "tags": ["a"]}, {"id": 3}]}"#,
    ])
    func `a cut document never shows half an entry`(document: String) throws {
        let whole = try read(document)
        let bytes = Array(document.utf8)
        #expect(whole.isComplete && whole.entries.count >= 2)
        for end in 1..<bytes.count {
            guard
                let feed = try? FeedReader.read(
                    Array(bytes[..<end]),
                    url: "https://news.example/feed",
                    contentType: nil
                )
            else { continue }
            #expect(!feed.isComplete, "cut at \(end)")
            #expect(feed.entries == Array(whole.entries.prefix(feed.entries.count)), "cut at \(end)")
        }
    }

    @Test func `damage anywhere is survived, and the same each time`() {
        let document = Array(
            """
            <?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "b">]><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">
            <channel><title>T &a;</title><item><guid>1</guid><title><![CDATA[one]]></title><dc:date>2026-11-20</dc:date>
            <description>&lt;img src="x"&gt;</description></item></channel></rss>
            """.utf8
        )
        let splices: [[UInt8]] = [
            "<item>", "]]>", "&", "<!DOCTYPE", "\"", "<", "</item>", "<![CDATA[", "\u{0}", "<!--",
        ].map {
            Array($0.utf8)
        }
        for position in stride(from: 0, to: document.count, by: 3) {
            var flipped = document
            flipped[position] ^= 0x15
            for damaged in [flipped] + splices.map({ document[..<position] + $0 + document[position...] }) {
                let once = try? FeedReader.read(damaged, url: "https://x.example/", contentType: nil)
                let twice = try? FeedReader.read(damaged, url: "https://x.example/", contentType: nil)
                #expect(once == twice)
            }
        }
    }

    /// Beginning, repeated part and end: whole, they would fill the log.
    @Test(arguments: [
        ("<rss><channel>", "<item>", "", true), ("<rss><channel>", "<a>", "", true), ("<rss><channel>", "<", "", true),
        ("<rss><channel><title>", "&", "", true), ("<rss><channel ", "a=\"", "", true),
        ("<rss><channel>", "<!--", "", true), ("<rss><channel>", "</a>", "", true),
        ("<!DOCTYPE rss [", "<!ENTITY a 'b'>", "]><rss><channel>", true), ("", "<?", "", false),
        ("<rss><channel>", "<?a?>", "", true),
        ("{\"items\":", "[", "", true), ("{\"items\":[", "{\"a\":", "", true), ("[", "\"\\u", "", false),
    ])
    func `hostile documents end in time and are known to be cut`(start: String, part: String, end: String, isFeed: Bool)
    {
        let document = start + String(repeating: part, count: 100_000) + end
        var outcome: Result<Feed, any Error>?
        #expect(processorTime { outcome = Result { try read(document) } } < .seconds(20))
        switch outcome {
        case .success(let feed): #expect(isFeed && !feed.isComplete)
        case .failure(let error): #expect(!isFeed && error is FeedError, "\(error)")
        case nil: Issue.record("not read")
        }
    }

    @Test func `a guid of a megabyte and many entries are bounded`() throws {
        let guid = String(repeating: "g", count: 2_000_000)
        let items = String(repeating: "<item><title>x</title></item>", count: 20_000)
        let feed = try read("<rss><channel><item><guid>\(guid)</guid></item>\(items)</channel></rss>")
        #expect(feed.entries.count == FeedReader.maximumEntries)
        #expect(feed.entries.first?.id?.utf8.count ?? .max <= 1_048_576)
    }

    /// Beginning, entry, separator and end.
    @Test(arguments: [
        ["RSS", "<rss><channel>", "<item><guid>N</guid></item>", "", "</channel></rss>"],
        ["RDF", "<rdf:RDF><channel/>", "<item><guid>N</guid></item>", "", "</rdf:RDF>"],
        ["Atom", "<feed xmlns='http://www.w3.org/2005/Atom'>", "<entry><id>N</id></entry>", "", "</feed>"],
        ["JSON", "{\"items\": [", "{\"id\": \"N\"}", ",", "]}"],
        [
            "a news sitemap", "<urlset xmlns:news='http://www.google.com/schemas/sitemap-news/0.9'>",
            "<url><news:news/><loc>https://x.example/N</loc></url>", "", "</urlset>",
        ],
    ])
    func `a document with more entries than are read is truncated`(_ parts: [String]) throws {
        for count in [FeedReader.maximumEntries, FeedReader.maximumEntries + 1] {
            let entries = (1...count).map { parts[2].replacing("N", with: "\($0)") }.joined(separator: parts[3])
            let feed = try read(parts[1] + entries + parts[4])
            #expect(feed.entries.count == FeedReader.maximumEntries, "\(parts[0])")
            #expect(feed.isTruncated == (count > FeedReader.maximumEntries), "\(parts[0])")
            #expect(feed.isComplete, "\(parts[0]): its validators are kept")
            #expect(feed.findings(now: .now).contains(.truncated) == feed.isTruncated)
        }
    }

    @Test func `a limit behind the entries that are read costs none of them`() throws {
        let small = String(repeating: "<item><guid>x</guid></item>", count: FeedReader.maximumEntries + 1)
        let item = "<item>\(String(repeating: "<a/>", count: 100))</item>"
        let large = String(repeating: item, count: FeedReader.maximumEntries)
        let cut = try read("<rss><channel>\(large)</channel></rss>")
        #expect(!cut.isComplete && !cut.isTruncated, "these entries are too many for the scanner")
        let truncated = try read("<rss><channel>\(small)\(large)</channel></rss>")
        #expect(truncated.isComplete && truncated.isTruncated)
    }

    /// What libxml2 alone loses or displaces (feeds.md §8), as far as it shows in a feed: two entries, and why it is damaged.
    @Test(arguments: [
        ("blank lines before the declaration", "\n\n<?xml version='1.0' encoding='windows-1252'?>A1A2Z", true),
        ("text before the root", "Warning: x in y.php\n<?xml version='1.0'?>A1A2Z", true),
        ("a second byte order mark", "\u{FEFF}\u{FEFF}A1A2Z", false),
        ("a second document behind the first", "A1A2Z<rss><channel><item><guid>3</guid></item></channel></rss>", true),
        ("a NUL", "A1A2Z".replacing("guid>2", with: "gu\0id>2"), false),
        ("a prefix that was never declared", "A1A2<media:thumbnail url='/i.png'/>Z", true),
        ("a surplus end tag", "A1</item>A2Z", true), ("surplus end of the channel", "A1</channel>A2Z", true),
        ("an item left open", "A<item><guid>1</guid>A2Z", true),
        ("a tag left open in a text", "A<item><guid>1</guid><title>a<br>b</title></item>A2Z", true),
        ("an item inside another", "A<item><guid>1</guid><item><guid>2</guid></item></item>Z", false),
        ("a bare bracket", "A<item><guid>1</guid><title>5 < 6</title></item>A2Z", true),
        ("a reference that XML does not know", "A<item><guid>1</guid><title>a&nbsp;b</title></item>A2Z", true),
        ("a control character", "A<item><guid>1</guid><title>a\u{2}b</title></item>A2Z", true),
        ("an attribute twice", "A<item a='1' a='2'><guid>1</guid></item>A2Z", true),
        ("an attribute without quotes", "A<item a=1><guid>1</guid></item>A2Z", true),
    ])
    func `a trap of libxml2 costs no entry`(label: String, template: String, isMalformed: Bool) throws {
        var document = template.replacing("A1", with: "A<item><guid>1</guid></item>")
        document.replace("A2", with: "<item><guid>2</guid></item>")
        document.replace("Z", with: "</channel></rss>")
        let hasRoot = document.contains("A<item>")
        if hasRoot { document.replace("A<item>", with: "<rss version='2.0'><channel><title>é</title><item>") }
        document.replace("A<item ", with: "<rss version='2.0'><channel><title>é</title><item ")
        let feed = try read(document)
        #expect(feed.entries.prefix(2).map(\.id) == ["1", "2"], "\(label)")
        #expect(feed.title == "é", "\(label)")
        #expect((feed.malformed != nil) == isMalformed, "\(label): \(feed.malformed ?? "well-formed")")
    }

    @Test func `bytes that are not UTF-8 cost their own characters only`() throws {
        let bytes =
            Array("<rss><channel><title>é é é x".utf8) + [0xFF]
            + Array("</title><item><guid>1</guid></item></channel></rss>".utf8)
        let feed = try FeedReader.read(bytes, url: "", contentType: nil)
        #expect(feed.title == "é é é x\u{FFFD}" && feed.entries.count == 1 && feed.malformed != nil)
    }

    @Test func `entities cannot be made into a bomb`() throws {
        let levels = (1...20).map { "<!ENTITY e\($0) '\(String(repeating: "&e\($0 - 1);", count: 10))'>" }.joined()
        let bomb = "<!DOCTYPE rss [<!ENTITY e0 'x'>\(levels)]><rss><channel><title>&e20;</title></channel></rss>"
        #expect(try read(bomb).title?.utf8.count ?? 0 < 1_000)
        let square =
            "<!DOCTYPE rss [<!ENTITY e '\(String(repeating: "x", count: 100_000))'>]><rss><channel><title>"
            + String(repeating: "&e;", count: 100_000) + "</title></channel></rss>"
        #expect(try read(square).title?.utf8.count ?? 0 < 10_000)
    }
}
