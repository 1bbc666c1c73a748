internal import FoundationEssentials
internal import Markup

/// Reads Google News sitemaps, which list the articles of the last two days with titles, like a feed.
///
/// Source: developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap.
enum SitemapReader {
    /// True for a news sitemap, which may be empty; an ordinary sitemap lists pages, not news.
    static func accepts(_ root: XMLElement, head: String) -> Bool {
        root.localName.lowercased() == "urlset"
            && (root.children.contains { $0.first("news:news") != nil } || head.contains("sitemap-news"))
    }

    static func feed(root: XMLElement, context: FeedContext) -> Feed {
        var feed = Feed(format: FeedFormat(.sitemap, version: nil))
        let pages = root.children.lazy.filter { $0.isClosed && $0.localName == "url" }
        let articles = Array(pages.compactMap { url in url.first("news:news").map { (url: url, news: $0) } })
        feed.isTruncated = articles.count > FeedReader.maximumEntries
        if let publication = articles.lazy.compactMap({ $0.news.first("news:publication") }).first {
            feed.title = FeedText.title(publication.first("news:name")?.text, .undecided)
            feed.language = FeedText.trimmed(publication.first("news:language")?.text)
        }
        feed.entries = NewestEntries.read(articles) { entry($0.url, $0.news, context) }
        return feed
    }

    private static func entry(_ url: XMLElement, _ news: XMLElement, _ context: FeedContext) -> Entry {
        func part(_ name: String) -> XMLElement? { url.children.first { $0.localName == name } }
        var entry = Entry()
        entry.link = part("loc").flatMap { context.link($0.text, at: $0) }
        entry.titleTexts = [context.titleText(news.first("news:title"))].compactMap(\.self)
        entry.published = news.first("news:publication_date").flatMap { FeedDate.parse($0.text) }
        entry.updated = part("lastmod").flatMap { FeedDate.parse($0.text) }
        entry.categories = FeedText.distinct(
            (news.first("news:keywords")?.text ?? "").split(separator: ",").map { FeedText.name(String($0)) }
        )
        entry.ownImage =
            url.all("image:image").lazy.compactMap { $0.first("image:loc") }
            .compactMap { context.link($0.text, at: $0) }.first
        return entry
    }
}
