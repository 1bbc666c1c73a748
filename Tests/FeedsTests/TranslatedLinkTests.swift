import Testing

@testable import Feeds

/// Addresses of one story in several languages.
@Suite struct TranslatedLinkTests {
    @Test(arguments: [
        ("https://a.example/en/story-1", "https://a.example/fr/story-1"),
        ("https://a.example/story-1", "http://www.a.example/fr/story-1/?utm_source=x#top"),
        ("https://a.example/news/pt-br/1", "https://a.example/news/zh_Hans/1"),
        ("https://en.a.example/story-1", "https://fr.a.example/story-1"),
        ("https://a.example/story-1", "https://fr.a.example/story-1"),
        ("https://a.example/story?id=1&lang=en", "https://a.example/story?hl=fr&id=1"),
        ("https://a.example/story-1?LANG=fr-CA", "https://a.example/story-1"),
        ("https://fr.a.example:8443/fr/1?locale=fr", "https://a.example:8443/1"),
        ("https://a.example/en/#/story/1", "https://a.example/fr/#/story/1"),
    ])
    func `addresses that differ by a mark of the language are one`(left: String, right: String) throws {
        let key = try #require(EntryKey(translatedLink: left))
        #expect(EntryKey(translatedLink: right) == key)
    }

    @Test(arguments: [
        ("https://a.example/en/story-1", "https://a.example/fr/story-2"),
        ("https://a.example/tv/story-1", "https://a.example/us/story-1"),
        ("https://a.example/en/fr/1", "https://a.example/1"),
        ("https://fr.example/1", "https://en.example/1"),
        ("https://a.example/1?lang=old", "https://a.example/1"),
        ("https://a.example/1?page=fr", "https://a.example/1"),
        ("https://a.example/french/1", "https://a.example/1"),
        ("https://a.example/fr-12/1", "https://a.example/1"),
        ("https://b.example/fr/1", "https://a.example/fr/1"),
    ])
    func `other differences make other addresses`(left: String, right: String) throws {
        let key = try #require(EntryKey(translatedLink: left))
        #expect(EntryKey(translatedLink: right) != key)
    }

    @Test(arguments: ["https://a.example/", "https://a.example/fr/", "https://fr.a.example/?lang=fr", "no address", ""])
    func `the front page of a language is not a story`(link: String) {
        #expect(EntryKey(translatedLink: link) == nil)
    }

    @Test func `a key is the same in any spelling of its language, and another in each language`() {
        let key = EntryKey(translatedID: "urn:1")
        #expect(EntryKey(key, in: "French") == EntryKey(key, in: "french"))
        #expect(Set([key, EntryKey(key, in: "French"), EntryKey(key, in: "German")]).count == 3)
    }

    @Test func `an Atom entry keeps its pages in other languages`() throws {
        let document = """
            <feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>t</title><entry><id>1</id><title>x</title>
            <link rel="alternate" hreflang="fr" href="https://a.example/maire"/>
            <link rel="alternate" hreflang="en-GB" href="https://a.example/mayor"/>
            <link rel="enclosure" hreflang="fr" href="https://a.example/son.mp3"/>
            <link hreflang="de" href="/meier"/></entry>
            <entry><id>2</id><title>y</title><link href="https://a.example/y"/></entry></feed>
            """
        let feed = try FeedReader.read(Array(document.utf8), url: "https://a.example/feed", contentType: nil)
        #expect(feed.entries.map(\.link) == ["https://a.example/mayor", "https://a.example/y"])
        #expect(feed.entries.map(\.translations) == [["https://a.example/maire", "https://a.example/meier"], []])
    }
}
