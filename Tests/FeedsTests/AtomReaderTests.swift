import Testing

@testable import Feeds

struct AtomReaderTests {
    private func entry(_ markup: String) throws -> Entry {
        let feed = try read("<feed xmlns='http://www.w3.org/2005/Atom'><entry>\(markup)</entry></feed>")
        return try #require(feed.entries.first)
    }

    @Test func `a feed of Atom 1_0 is read whole`() throws {
        let feed = try read(
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="https://news.example/a/">
              <title>Courier</title><id>tag:x</id><updated>2026-11-20T10:00:00Z</updated>
              <link href="."/><link rel="self" href="/feed"/><link rel="hub" href="https://hub.example/"/>
              <author><name>Feed Author</name></author>
              <entry xml:base="b/">
                <id> ./relative </id><title>x</title><updated>2026-11-20T11:00:00Z</updated>
                <published>2026-11-20T09:00:00+01:00</published>
                <link rel="enclosure" href="f.mp3" type="audio/mpeg" length="7"/>
                <link rel="alternate" type="application/json" href="x.json"/><link href="x.html"/>
                <category term="World" label="Welt"/><summary>short</summary><content>long</content>
              </entry>
            </feed>
            """
        )
        #expect(feed.format.description == "atom-1.0")
        #expect(feed.title == "Courier" && feed.language == "de")
        #expect(feed.link == "https://news.example/a/")
        #expect(feed.selfURL == "https://news.example/feed")
        #expect(feed.hubs == ["https://hub.example/"])
        let entry = try #require(feed.entries.first)
        #expect(entry.id == "./relative")
        #expect(entry.link == "https://news.example/a/b/x.html")
        #expect(entry.enclosures == [Enclosure(url: "https://news.example/a/b/f.mp3", type: "audio/mpeg", length: 7)])
        #expect(text(entry.published) == "2026-11-20T08:00:00Z")
        #expect(text(entry.updated) == "2026-11-20T11:00:00Z")
        #expect(entry.categories == ["World"])
        #expect(entry.summary == "short")
        #expect(entry.author == "Feed Author")
    }

    @Test(arguments: [
        ("<title>1 &lt; 2 &amp;amp; &lt;b&gt;</title>", "1 < 2 &amp; <b>"),
        ("<title type='text'>&lt;i&gt;</title>", "<i>"),
        ("<title type='html'>&lt;i&gt;a&lt;/i&gt; &amp;amp; b</title>", "a & b"),
        ("<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>a<br/>b <i>c</i>d</div></title>", "a b cd"),
        ("<title>a <b>b</b></title>", "a b"),
        ("<title type='string'>a &lt;b&gt; &amp;amp; c</title>", "a <b> &amp; c"),
        ("<title type='application/x-news'>Breaking</title>", "Breaking"),
        ("<title type='application/x-news'>Breaking: a</title>", "Breaking: a"),
        ("<title type='application/octet-stream'>aMOkIGI=</title>", "hä b"),
        ("<title type='application/atom+xml'>a<b>b</b></title>", "ab"),
    ])
    func `text constructs mean what their type says`(markup: String, expected: String) throws {
        #expect(try entry(markup).title == expected)
    }

    @Test(
        arguments: [
            ("<content type='news'>a &lt;b&gt;</content>", "a <b>"),
            ("<content type='text/x'>a &lt; b</content>", "a < b"),
            ("<content type='application/x-news'>Breaking: a</content>", "Breaking: a"),
            ("<content type='application/x-news'>aMOkIGI=</content>", "hä b"),
            ("<content type='image/png'>iVBORw0KGgo=</content>", nil),
        ] as [(String, String?)]
    )
    func `content of an unknown type is text`(markup: String, expected: String?) throws {
        #expect(try entry(markup).summary == expected)
    }

    @Test(
        arguments: [
            ("<content src='/v'/>", "https://news.example/v"),
            ("<link rel='self' href='/s'/>", "https://news.example/s"),
            ("<id>https://x.example/1</id>", "https://x.example/1"), ("<id>urn:x</id>", nil),
            ("<link rel='http://www.iana.org/assignments/relation/alternate' href='/i'/>", "https://news.example/i"),
            ("<link rel='replies' href='/r'/>", nil), ("<link href='data:x'/>", nil),
        ] as [(String, String?)]
    )
    func `without a plain link the next best is taken`(markup: String, expected: String?) throws {
        #expect(try entry(markup).link == expected)
    }

    @Test func `Atom 0_3 has other names and modes`() throws {
        let feed = try read(
            """
            <feed version="0.3" xmlns="http://purl.org/atom/ns#"><title mode="escaped" type="text/html">a &lt;b&gt;b&lt;/b&gt;</title>
            <entry><title>t</title><issued>2003-12-13T08:29:29-04:00</issued><modified>2003-12-13T18:30:02Z</modified>
            <summary mode="base64" type="text/html">PGI+aGk8L2I+</summary></entry></feed>
            """
        )
        #expect(feed.format.description == "atom-0.3")
        #expect(feed.title == "a b")
        let entry = try #require(feed.entries.first)
        #expect(text(entry.published) == "2003-12-13T12:29:29Z")
        #expect(text(entry.updated) == "2003-12-13T18:30:02Z")
        #expect(entry.summary == "hi")
    }

    @Test func `a bare entry is a document`() throws {
        let feed = try read("<entry xmlns='http://www.w3.org/2005/Atom'><id>1</id><title>x</title></entry>")
        #expect(feed.entries.map(\.id) == ["1"])
    }

    @Test func `prefixed and undeclared Atom are read`() throws {
        let prefixed = "<a:feed xmlns:a='http://www.w3.org/2005/Atom/'><a:entry><a:title>x</a:title></a:entry></a:feed>"
        #expect(try read(prefixed).entries.map(\.title) == ["x"])
        #expect(try read("<feed><entry><title>x</title></entry></feed>").entries.map(\.title) == ["x"])
    }

    @Test(arguments: [
        ("en", "https://x.example/en"), ("fr-CA", "https://x.example/fr"), ("de", "https://x.example/en"),
    ])
    func `of pages in several languages the text's own is taken`(language: String, expected: String) throws {
        let feed = try read(
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xml:lang="\(language)"><entry><id>1</id><title>a</title>
            <link href="https://x.example/en" hreflang="en"/><link href="https://x.example/fr" hreflang="fr"/></entry></feed>
            """
        )
        #expect(feed.entries.first?.link == expected)
    }

    @Test func `an entry's own values are distinguished from those of its feed`() throws {
        let feed = try read(
            """
            <feed xmlns="http://www.w3.org/2005/Atom"><author><name>Desk</name></author><entry><id>1</id><title>a</title>
            <content type="html">&lt;p>x&lt;img src="/i.png"></content></entry>
            <entry><id>2</id><author><email>ada@x.example</email></author></entry></feed>
            """
        )
        #expect(feed.entries.map(\.author) == ["Desk", "Desk"])
        #expect(feed.entries.map(\.byline) == [nil, Person(name: nil, mail: "ada@x.example")])
        #expect(feed.entries.first?.ownImage == nil)
        #expect(feed.entries.first?.image == "https://news.example/i.png")
    }
}
