import Foundation
import Testing

@testable import Feeds

/// Documents of every format, damaged at random in the ways of feeds.md §13.
///
/// `NEWSWIRE_LONG=1` reads two hundred times as many; `NEWSWIRE_SEED=N` begins with another seed.
struct FeedFuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["NEWSWIRE_SEED"].flatMap { UInt64($0) } ?? 1
    private static let rounds = environment["NEWSWIRE_LONG"] == nil ? 400 : 80_000
    /// Far above what a document of some kilobytes takes on a machine that is busy with other tests.
    private static let patience: Duration = .seconds(10)

    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        /// SplitMix64.
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }

    static let documents: [String] = [
        """
        <?xml version="1.0" encoding="utf-8"?><!DOCTYPE rss [<!ENTITY co "A &#38; B"><!ENTITY x SYSTEM "file:///etc/passwd">]>
        <rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/"
          xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:georss="http://www.georss.org/georss">
        <channel><title>T &co; &x;</title><link>https://x.example/</link><item><guid>1</guid><title><![CDATA[a <b>b</b>]]></title>
        <link>https://bücher.example/1?a=1&amp;b=2</link><description>&lt;p&gt;x &amp;amp; y&lt;img src="/i.png"&gt;</description>
        <content:encoded><![CDATA[<p>long</p><script>x</script>]]></content:encoded><dc:date>2026-11-20T10:00:00+01:00</dc:date>
        <media:group><media:content url="/m.jpg" medium="image" width="100"/></media:group><category>c</category>
        <georss:point>45.2 -71.9</georss:point><author>a@x.example (Ada)</author></item>
        <item><guid>2</guid><title>two</title><pubDate>Fri, 20 Nov 2026 10:00:00 GMT</pubDate>
        <enclosure url="e.mp3" type="audio/mpeg" length="12"/></item></channel></rss>
        """,
        """
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="c">
        <title>T</title></channel><item rdf:about="i"><title>a</title><link>http://x.example/a</link></item></rdf:RDF>
        """,
        """
        <feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://x.example/b/" xml:lang="en"><title type="html">T &amp;amp;</title>
        <link rel="self" href="f"/><link rel="hub" href="https://hub.example/"/><author><name>Ada</name></author>
        <entry xml:base="c/"><id>urn:1</id><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a<b>b</b></div></title>
        <link href="d" hreflang="en"/><link href="e" hreflang="fr"/><updated>2026-11-20T10:00:00Z</updated>
        <content type="text/plain">x &lt; y</content></entry></feed>
        """,
        #"""
        {"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": [{"id": 1, "title": "on\u00e9 \ud83d\ude00",
        "url": "/1", "content_html": "<p>x<img src='/i'>", "date_published": "2026-11-20T10:00:00Z", "tags": ["a", "b"],
        "authors": [{"name": "Ada"}], "attachments": [{"url": "/a", "mime_type": "a/b", "size_in_bytes": 5}]}]}
        """#,
        """
        <alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>1</identifier><sender>s</sender><sent>2026-11-20T10:00:00Z</sent>
        <status>Actual</status><info><event>Storm</event><expires>2026-11-20T20:00:00Z</expires><area><areaDesc>A</areaDesc></area>
        </info></alert>
        """,
        """
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
        <url><loc>https://x.example/1</loc><news:news><news:title>a</news:title></news:news></url></urlset>
        """,
        "<!DOCTYPE html><html><head><base href='/b/'><link rel=alternate type=application/rss+xml href=f></head></html>",
    ]

    private static let splices: [[UInt8]] =
        [
            "<item>", "</item>", "<entry>", "]]>", "<![CDATA[", "&", "&#", "&nbsp;", "&#x110000;", "<!DOCTYPE",
            "<!ENTITY a '", "<!--", "-->",
            "<?xml encoding='utf-16'?>", "\"", "'", "<", ">", "/>", "\0", "\u{FEFF}", " xml:base='//'", "xmlns:a='",
            "{", "[", "\\u", ",",
            "<a b=c>", "</", "type='base64'", "mode='escaped'", "99999999999999999999", "\u{202E}", "e\u{301}",
            "\u{1F}",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xE2, 0x82], [0x1F, 0x8B], [0xFE, 0xFF], [0x80, 0x93]]

    private static func damaged(_ document: [UInt8], _ generator: inout Generator) -> [UInt8] {
        var bytes = document
        for _ in 0..<Int.random(in: 1...6, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            let end = min(bytes.count, place + Int.random(in: 1...80, using: &generator))
            switch Int.random(in: 0..<7, using: &generator) {
            case 0: bytes[place] ^= UInt8.random(in: 1...255, using: &generator)
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &generator))
            case 3: bytes.removeSubrange(place...)
            case 4:
                let part = splices[Int.random(in: 0..<splices.count, using: &generator)]
                let count = Bool.random(using: &generator) ? 1 : Int.random(in: 1...500, using: &generator)
                bytes.insert(contentsOf: Array(repeating: part, count: count).joined(), at: place)
            case 5:
                let other = Array(documents[Int.random(in: 0..<documents.count, using: &generator)].utf8)
                bytes.replaceSubrange(place..., with: other[(place % other.count)...])
            default: bytes.insert(contentsOf: splices[Int.random(in: 0..<splices.count, using: &generator)], at: place)
            }
        }
        return bytes
    }

    /// Everything that the publisher asks of a document.
    private static func reading(_ bytes: [UInt8]) -> [String] {
        do {
            let types = [nil, "text/xml; charset=iso-8859-1", "application/xml; charset=shift_jis"]
            let feed = try FeedReader.read(bytes, url: "https://x.example/f", contentType: types[bytes.count % 3])
            let identity = feed.identity(startingAt: .id)
            let texts: [String] = feed.entries.flatMap {
                [$0.title, $0.summary, $0.author, $0.image, $0.summary(limit: 20)].compactMap(\.self)
            }
            let addresses: [String] = feed.entries.flatMap {
                [$0.link, $0.image].compactMap(\.self) + $0.enclosures.map(\.url)
            }
            #expect(addresses.allSatisfy { $0.hasPrefix("http://") || $0.hasPrefix("https://") })
            #expect(texts.allSatisfy { !$0.utf8.contains { $0 < 0x20 } })
            return ["\(feed)", "\(identity)", "\(feed.findings(now: Date(timeIntervalSince1970: 0)))"]
                + texts
        } catch {
            #expect(!error.description.isEmpty && !error.description.contains("\n"))
            return [error.description]
        }
    }

    @Test func `damaged documents are read the same each time, in time`() {
        var generator = Generator(state: Self.seed)
        for round in 0..<Self.rounds {
            let document = Array(Self.documents[round % Self.documents.count].utf8)
            let bytes = Self.damaged(document, &generator)
            let start = ContinuousClock.now
            let first = Self.reading(bytes)
            #expect(ContinuousClock.now - start < Self.patience, "seed \(Self.seed), round \(round)")
            #expect(first == Self.reading(bytes), "seed \(Self.seed), round \(round)")
        }
    }
}
