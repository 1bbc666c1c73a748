internal import Markup

/// Gives elements and attributes of feeds one name each, whatever prefix, namespace spelling or letter case a
/// publisher chose: `title` for RSS, `atom:title`, `media:content`, all lower case.
enum FeedNames {
    static let vocabulary = XMLVocabulary(
        roots: ["rss", "feed", "rdf", "channel", "entry"],
        containers: ["rss", "feed", "rdf", "channel", "items"],
        records: ["item", "entry"],
        naming: canonical
    )

    /// Namespaces without scheme, `www.` and trailing `/` or `#`, lower case.
    ///
    /// RSS itself has the empty prefix.
    private static let prefixes: [String: String] = [
        "purl.org/rss/1.0": "", "purl.org/net/rss1.1": "", "my.netscape.com/rdf/simple/0.9": "",
        "channel.netscape.com/rdf/simple/0.9": "", "my.netscape.com/publish/formats/rss-0.91.dtd": "",
        "backend.userland.com/rss": "", "backend.userland.com/rss2": "", "backend.userland.com/rss091": "",
        "blogs.law.harvard.edu/tech/rss": "", "cyber.law.harvard.edu/rss": "", "purl.org/net/rss2": "",
        "w3.org/2005/atom": "atom", "purl.org/atom/ns": "atom", "purl.org/atom": "atom",
        "w3.org/1999/02/22-rdf-syntax-ns": "rdf", "w3.org/xml/1998/namespace": "xml",
        "purl.org/dc/elements/1.1": "dc", "purl.org/dc/elements/1.0": "dc", "purl.org/dc/terms": "dcterms",
        "purl.org/rss/1.0/modules/content": "content", "purl.org/rss/1.0/modules/syndication": "sy",
        "purl.oclc.org/net/rss_2.0/enc": "enc", "search.yahoo.com/mrss": "media",
        "tools.search.yahoo.com/mrss": "media", "video.search.yahoo.com/mrss": "media",
        "itunes.com/dtds/podcast-1.0.dtd": "itunes", "itunes.com/dtds/podcast-1.0": "itunes",
        "example.com/dtds/podcast-1.0.dtd": "itunes", "rssnamespace.org/feedburner/ext/1.0": "feedburner",
        "w3.org/1999/xhtml": "xhtml",
    ]

    /// Prefixes read as if declared where a document forgot to.
    private static let known: Set<String> = [
        "atom", "a10", "rdf", "xml", "dc", "dcterms", "content", "sy", "enc", "media", "itunes", "feedburner", "xhtml",
    ]

    /// Whether text behind a `<`, in lower case, begins like the root of a feed.
    static func isRoot(_ text: some StringProtocol) -> Bool {
        ["rss", "feed", "rdf:rdf", "channel"].contains { text.hasPrefix($0) }
    }

    @Sendable
    private static func canonical(_ name: XMLName) -> String {
        let local = name.local.lowercased()
        guard let namespace = name.namespace else {
            let qualified = name.prefix.map { "\($0.lowercased()):\(local)" } ?? local
            guard let colon = qualified.firstIndex(of: ":") else { return qualified }
            let prefix = String(qualified[..<colon])
            let rest = qualified[qualified.index(after: colon)...]
            if prefix == "a10" { return "atom:\(rest)" }
            if known.contains(prefix) { return qualified }
            return ["rss", "feed"].contains(prefix) ? String(rest) : "?\(qualified)"
        }
        let key = comparable(namespace)
        if let prefix = prefixes[key] { return prefix.isEmpty ? local : "\(prefix):\(local)" }
        if key.hasPrefix("purl.org/atom/ns#") { return "atom:\(local)" }
        // A default namespace that nobody knows, on a root that everybody does.
        if name.prefix == nil, key.hasSuffix("rss") || key.contains("/rss") { return local }
        return "?\(name.prefix ?? ""):\(local)"
    }

    private static func comparable(_ namespace: String) -> String {
        var text = namespace.lowercased().filter { !$0.isWhitespace }[...]
        if let scheme = text.firstRange(of: "://") { text = text[scheme.upperBound...] }
        if text.hasPrefix("www.") { text = text.dropFirst(4) }
        while let last = text.last, last == "/" || last == "#" { text = text.dropLast() }
        return String(text)
    }
}
