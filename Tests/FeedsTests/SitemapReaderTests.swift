import Testing

@testable import Feeds

struct SitemapReaderTests {
    private static let declarations = """
        xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" \
        xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
        """

    @Test func `a news sitemap is a feed`() throws {
        let feed = try read(
            """
            <?xml version="1.0"?><urlset \(Self.declarations)>
            <url><loc>https://news.example/1</loc><lastmod>2026-11-20T11:00:00Z</lastmod>
              <news:news><news:publication><news:name>The Example</news:name><news:language>en</news:language>
              </news:publication><news:publication_date>2026-11-20</news:publication_date>
              <news:title>Mayor &amp; council resign</news:title><news:keywords>politics, towns</news:keywords></news:news>
              <image:image><image:loc>/1.jpg</image:loc></image:image></url>
            <url><loc>https://news.example/about</loc></url></urlset>
            """
        )
        #expect(feed.format.description == "sitemap" && feed.title == "The Example" && feed.language == "en")
        #expect(feed.entries.count == 1)
        let entry = try #require(feed.entries.first)
        #expect(entry.link == "https://news.example/1" && entry.id == nil && entry.title == "Mayor & council resign")
        #expect(text(entry.published) == "2026-11-20T00:00:00Z" && text(entry.updated) == "2026-11-20T11:00:00Z")
        #expect(entry.categories == ["politics", "towns"] && entry.image == "https://news.example/1.jpg")
        #expect(feed.keys().count == 1)
    }

    @Test func `a quiet day is not an error`() throws {
        #expect(try read("<urlset \(Self.declarations)></urlset>").entries.isEmpty)
    }

    @Test func `a sitemap of pages is not a feed`() {
        let pages = """
            <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://x.example/</loc></url></urlset>
            """
        #expect(throws: FeedError.notAFeed(root: "urlset")) { try read(pages) }
    }
}
