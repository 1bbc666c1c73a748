import Testing

@testable import Feeds

struct FeedReaderTests {
    private static let page = """
        <!DOCTYPE html><html><head><title>x</title><!-- <link rel="alternate" type="application/rss+xml" href="/no"> -->
        <base href="https://news.example/b/"><LINK REL='home alternate' TYPE=application/rss+xml HREF=feed.xml>
        <link rel="alternate" type="application/json+oembed" href="/no"><link rel=stylesheet href=x>
        <link href="/atom" rel="alternate" type="application/atom+xml; charset=utf-8"></head><body></body></html>
        """

    @Test(arguments: [
        ("nothing", "", FeedError.empty), ("white space", " \r\n\t", .empty),
        ("a byte order mark", "\u{FEFF}\n", .empty),
        ("a page", page, .html(discovered: ["https://news.example/b/feed.xml", "https://news.example/atom"])),
        ("a page without feeds", "<html><body>Maintenance", .html(discovered: [])),
        ("an outline", "<opml version='1.0'/>", .notAFeed(root: "opml")),
        ("a sitemap", "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>", .notAFeed(root: "urlset")),
        ("an error document", "<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>", .notAFeed(root: "Error")),
    ])
    func `what is no feed says what it is`(label: String, text: String, error: FeedError) {
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
        ("<rss><channel>", "<item>", ""), ("<rss><channel>", "<a>", ""), ("<rss><channel>", "<", ""),
        ("<rss><channel><title>", "&", ""), ("<rss><channel ", "a=\"", ""), ("<rss><channel>", "<!--", ""),
        ("<rss><channel>", "</a>", ""), ("<!DOCTYPE rss [", "<!ENTITY a 'b'>", "]><rss><channel>"), ("", "<?", ""),
        ("{\"items\":", "[", ""), ("{\"items\":[", "{\"a\":", ""), ("[", "\"\\u", ""),
    ])
    func `hostile documents end in time and are known to be cut`(start: String, part: String, end: String) {
        let feed = try? read(start + String(repeating: part, count: 100_000) + end)
        #expect(feed?.isComplete != true)
    }

    @Test func `a guid of a megabyte and many entries are bounded`() throws {
        let guid = String(repeating: "g", count: 2_000_000)
        let items = String(repeating: "<item><title>x</title></item>", count: 20_000)
        let feed = try read("<rss><channel><item><guid>\(guid)</guid></item>\(items)</channel></rss>")
        #expect(feed.entries.count == FeedReader.maximumEntries)
        #expect(feed.entries.first?.id?.utf8.count ?? .max <= 1_048_576)
    }
}
