import Testing

@testable import Feeds

struct RSSReaderTests {
    private let document = """
        <?xml version="1.0"?>
        <rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"
             xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">
          <channel>
            <title>The &amp;amp; Courier</title><link>https://news.example/</link><language>en-GB</language><ttl>15</ttl>
            <atom:link rel="self" href="https://news.example/feed"/><atom:link rel="hub" href="https://hub.example/"/>
            <image><title>Logo</title><link>https://wrong.example/</link></image>
            <item>
              <media:title>not this</media:title>
              <title><![CDATA[Quake &amp; flood: <b>hundreds</b> flee]]></title>
              <link>
                /stories/1?a=1&amp;b=2
              </link>
              <guid isPermaLink="false"> 1 </guid>
              <description>&lt;p&gt;One&lt;/p&gt;&lt;p&gt;two&lt;/p&gt;</description>
              <content:encoded><![CDATA[<img src="/dot.gif" width="1"><img src="/photo.jpg">]]></content:encoded>
              <pubDate>Fri, 20 Nov 2026 10:00:00 GMT</pubDate>
              <atom:updated>2026-11-20T11:00:00Z</atom:updated>
              <category domain="x">World</category><category>world</category><dc:subject>Quakes</dc:subject>
              <enclosure url="https://cdn.example/a.mp3" type="audio/mpeg" length="123"/>
              <enclosure url="https://cdn.example/a.mp3" length="0"/>
              <author>ada@news.example (Ada Sample)</author>
            </item>
            <item><title>Bare</title></item>
          </channel>
        </rss>
        """

    @Test func `a feed of RSS 2_0 is read whole`() throws {
        let feed = try read(document)
        #expect(feed.format.description == "rss-2.0")
        #expect(feed.title == "The & Courier")
        #expect(feed.link == "https://news.example/")
        #expect(feed.language == "en-GB")
        #expect(feed.selfURL == "https://news.example/feed")
        #expect(feed.hubs == ["https://hub.example/"])
        #expect(feed.ttl == 15)
        #expect(feed.isComplete && feed.malformed == nil)
        #expect(feed.entries.count == 2)
        let entry = try #require(feed.entries.first)
        #expect(entry.id == "1")
        #expect(entry.title == "Quake & flood: hundreds flee")
        #expect(entry.link == "https://news.example/stories/1?a=1&b=2")
        #expect(entry.summary == "One two")
        #expect(text(entry.published) == "2026-11-20T10:00:00Z")
        #expect(text(entry.updated) == "2026-11-20T11:00:00Z")
        #expect(entry.categories == ["World", "Quakes"])
        #expect(entry.enclosures == [Enclosure(url: "https://cdn.example/a.mp3", type: "audio/mpeg", length: 123)])
        #expect(entry.author == "Ada Sample")
        #expect(entry.image == "https://news.example/photo.jpg")
    }

    @Test(arguments: [
        ("<atom:content type='html'>&lt;p>a&lt;/p>&lt;p>b</atom:content>", "a b"),
        ("<atom:content>a &lt; b</atom:content>", "a < b"), ("<a:content>a</a:content>", "a"),
        ("<atom:summary>s</atom:summary><atom:content>c</atom:content>", "s"),
        ("<description>d</description><atom:content>c</atom:content>", "d"),
    ])
    func `the content of Atom in an item is its summary`(markup: String, summary: String) throws {
        let spaces = "xmlns:atom='http://www.w3.org/2005/Atom' xmlns:a='http://www.w3.org/2005/Atom'"
        let feed = try read("<rss version='2.0' \(spaces)><channel><item>\(markup)</item></channel></rss>")
        #expect(feed.entries.first?.summary == summary)
    }

    @Test(arguments: [
        ("<RSS><channel><item><title>x</title></item></channel></RSS>", "rss"),
        ("<rss version='0.91'><channel><item><title>x</title></item></channel></rss>", "rss-0.91"),
        (
            "<rss version='2.00' xmlns='http://backend.userland.com/rss2'><channel><item><title>x</title></item></channel></rss>",
            "rss-2.0"
        ),
        (
            "<r:rss xmlns:r='http://backend.userland.com/rss2' version='2.0'><r:channel><r:item><r:title>x</r:title></r:item>"
                + "</r:channel></r:rss>", "rss-2.0"
        ),
        ("<rss version='2.0'><channel/><item><title>x</title></item></rss>", "rss-2.0"),
        (
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
                + "<channel rdf:about='a'/><item rdf:about='b'><title>x</title></item></rdf:RDF>", "rss-1.0"
        ),
        (
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://my.netscape.com/rdf/simple/0.9/'>"
                + "<channel/><item><title>x</title></item></rdf:RDF>", "rss-0.90"
        ),
    ])
    func `every version of RSS is known`(document: String, format: String) throws {
        let feed = try read(document)
        #expect(feed.format.description == format)
        #expect(feed.entries.map(\.title) == ["x"])
    }

    @Test(arguments: [
        ("AT&amp;amp;T", "AT&T"), ("5 &lt; 6", "5 < 6"), ("&lt;antirez&gt; writes", "<antirez> writes"),
        ("&lt;b&gt;News&lt;/b&gt;", "News"), ("<![CDATA[a &amp; b]]>", "a & b"), ("a <i>b</i> c", "a b c"),
        ("&amp;#8217;s", "’s"), ("&amp;amp;amp;", "&amp;"), ("a\u{202E}b", "ab"),
    ])
    func `titles are text or HTML as they look`(written: String, expected: String) throws {
        let feed = try read("<rss><channel><item><title>\(written)</title></item></channel></rss>")
        #expect(feed.entries.first?.title == expected)
    }

    @Test(
        arguments: [
            ("<guid>https://x.example/1</guid>", "https://x.example/1"),
            ("<guid isPermaLink='false'>https://x.example/1</guid>", nil), ("<guid>17</guid>", nil),
            ("<guid isPermaLink='FALSE'>https://x.example/1</guid><link>/a</link>", "https://news.example/a"),
            ("<link href='/b'/>", "https://news.example/b"),
            ("<link/><guid>https://x.example/2</guid>", "https://x.example/2"),
            ("<link>javascript:alert(1)</link>", nil),
            ("<link xml:base='https://y.example/z/'>1</link>", "https://y.example/z/1"),
        ] as [(String, String?)]
    )
    func `the link is found where it stands`(markup: String, expected: String?) throws {
        #expect(try read("<rss><channel><item>\(markup)</item></channel></rss>").entries.first?.link == expected)
    }

    @Test(
        arguments: [
            ("a@b.example (Ada)", "Ada"), ("Ada &lt;a@b.example&gt;", "Ada"), ("Ada Sample", "Ada Sample"),
            ("Ada (a@b.example)", "Ada"), ("a@b.example (a@b.example)", nil),
            ("a@b.example", nil), ("", nil),
        ] as [(String, String?)]
    )
    func `mail addresses are not passed on`(written: String, expected: String?) throws {
        let feed = try read("<rss><channel><item><author>\(written)</author></item></channel></rss>")
        #expect(feed.entries.first?.author == expected)
    }

    @Test func `prefixes that nobody declared are read as if declared`() throws {
        let feed = try read(
            "<rss><channel><item><dc:date>2026-11-20</dc:date><itunes:image href='/i.png'/></item></channel></rss>"
        )
        #expect(text(feed.entries.first?.published) == "2026-11-20T00:00:00Z")
        #expect(feed.entries.first?.image == "https://news.example/i.png")
        #expect(feed.malformed != nil && feed.isComplete)
    }

    @Test(arguments: [
        ("<georss:point>45.25 -71.5</georss:point>", 45.25, -71.5),
        ("<georss:point> 45.25,  -71.5 </georss:point>", 45.25, -71.5),
        ("<georss:where><gml:Point><gml:pos>1.5 2</gml:pos></gml:Point></georss:where>", 1.5, 2),
        ("<geo:lat>-1</geo:lat><geo:long>2</geo:long>", -1, 2),
        ("<geo:Point><geo:lat>-1</geo:lat><geo:lon>2</geo:lon></geo:Point>", -1, 2),
    ])
    func `places are read in every vocabulary`(written: String, latitude: Double, longitude: Double) throws {
        let point = try read("<rss><channel><item><guid>1</guid>\(written)</item></channel></rss>").entries.first?.point
        #expect(point?.latitude == latitude && point?.longitude == longitude)
    }

    @Test(arguments: ["91 0", "0 0", "x y", "1", ""])
    func `an invalid place is ignored`(written: String) throws {
        let item = "<item><guid>1</guid><georss:point>\(written)</georss:point></item>"
        #expect(try read("<rss><channel>\(item)</channel></rss>").entries.first?.point == nil)
    }

    @Test func `an extension's title is used where there is no other`() throws {
        let feed = try read(
            """
            <rss><channel><item><guid>1</guid><media:title>m</media:title></item><item><guid>2</guid><media:title>m</media:title>
            <title>t</title></item></channel></rss>
            """
        )
        #expect(feed.entries.map(\.title) == ["m", "t"])
    }

    /// Where the feed is, its Content-Location, its page and the `xml:base` of an item (feeds.md §6).
    @Test(
        arguments: [
            ("https://proxy.example/f/1", nil, "https://news.example/world/", "", "https://news.example/1"),
            ("https://news.example/f", nil, "http://www.news.example/world/", "", "https://news.example/1"),
            ("https://proxy.example/f", nil, "/world/", "", "https://proxy.example/1"),
            ("https://proxy.example/f", nil, "tag:x", "", "https://proxy.example/1"),
            ("https://proxy.example/f", nil, "https://news.example/", "//base.example/", "https://base.example/1"),
            ("file:///srv/own.xml", nil, "https://news.example/world/", "", "https://news.example/1"),
            ("https://proxy.example/f", "http://origin.example/f", "", "", "http://origin.example/1"),
            ("https://news.example/a/f", "f.en.rss", "", "", "https://news.example/1"),
            ("https://news.example/f", "file:///srv/f", "", "", "https://news.example/1"),
        ] as [(String, String?, String, String, String)]
    )
    func `relative links start from the feed's own site`(
        url: String,
        location: String?,
        page: String,
        base: String,
        expected: String
    ) throws {
        let base = base.isEmpty ? "" : " xml:base='\(base)'"
        let text = """
            <rss><channel><link>\(page)</link><item\(base)><guid>1</guid><link>/1</link><enclosure url="/1"/>
            <description>&lt;img src="/1"></description></item></channel></rss>
            """
        let feed = try FeedReader.read(Array(text.utf8), url: url, contentLocation: location, contentType: nil)
        let entry = try #require(feed.entries.first)
        #expect(entry.link == expected && entry.image == expected)
        #expect(entry.enclosures.map(\.url) == [expected])
    }

    @Test func `a link without a path is relative to the feed's folder, whatever its page`() throws {
        let text = "<rss><channel><link>https://news.example/</link><item><link>1</link></item></channel></rss>"
        #expect(try read(text, url: "https://proxy.example/a/f").entries.first?.link == "https://proxy.example/a/1")
    }
}
