internal import Markup

/// Gives elements and attributes of feeds one canonical lower-case name, for any prefix, namespace spelling or case.
///
/// Examples are `title` for RSS, `atom:title` and `media:content`.
enum FeedNames {
    static let vocabulary = XMLVocabulary(
        roots: ["rss", "feed", "rdf", "channel", "entry", "alert", "urlset"],
        containers: ["rss", "feed", "rdf", "channel", "items", "urlset"],
        records: ["item", "entry"],
        names: [RSSTag.names, AtomTag.names(isPrefixed: true), AtomTag.names(isPrefixed: false), others, alert]
            .flatMap(\.self),
        space: space,
        naming: canonical
    )

    /// Names outside entries that are read in every document; other names are found too, but more slowly.
    private static let others = [
        "rss", "channel", "items", "item", "language", "dc:language", "ttl", "skipdays", "skiphours",
        "sy:updatefrequency", "sy:updateperiod", "atom:entry", "entry", "name", "atom:name", "email", "atom:email",
        "xml:base", "xml:lang", "version", "href", "hreflang", "rel", "type", "mode", "length", "url", "src", "term",
        "label", "ispermalink", "medium", "width", "rdf:about", "rdf:resource", "media:group", "media:content",
        "media:thumbnail", "media:title", "media:description", "news:news", "image:image", "georss:where",
        "georss:point", "geo:point", "geo:lat", "geo:long", "geo:lon", "gml:point", "app:control", "app:draft",
        "at:deleted-entry", "ref",
    ]

    /// The elements of an alert that an entry may contain.
    static let alert = [
        "alert", "identifier", "sender", "sent", "status", "msgtype", "scope", "source", "note", "references", "info",
        "language", "category", "event", "urgency", "severity", "certainty", "effective", "onset", "expires",
        "sendername", "headline", "description", "instruction", "web", "area", "areadesc", "polygon", "geocode",
    ].map { "cap:\($0)" }

    /// Prefixes by namespace, in lower case without scheme, `www.` and trailing `/` or `#`.
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
        "w3.org/1999/xhtml": "xhtml", "georss.org/georss": "georss", "georss.org/georss/10": "georss",
        "opengis.net/gml": "gml", "w3.org/2003/01/geo/wgs84_pos": "geo", "purl.org/rss/1.0/modules/slash": "slash",
        "purl.org/syndication/thread/1.0": "thr", "urn:oasis:names:tc:emergency:cap:1.1": "cap",
        "urn:oasis:names:tc:emergency:cap:1.2": "cap", "incident.com/cap/1.0": "cap",
        "w3.org/2007/app": "app", "purl.org/atom/app": "app", "purl.org/atompub/tombstones/1.0": "at",
        "google.com/schemas/sitemap-news/0.9": "news", "google.com/schemas/sitemap-image/1.1": "image",
    ]

    /// Prefixes that are recognized even if the document does not declare them.
    private static let known: Set<String> = [
        "atom", "a10", "rdf", "xml", "dc", "dcterms", "content", "sy", "enc", "media", "itunes", "feedburner", "xhtml",
        "georss", "gml", "geo", "slash", "thr", "cap", "news",
    ]

    /// True if the bytes after a `<` begin like the root of a feed.
    static func isRoot(_ bytes: ArraySlice<UInt8>) -> Bool {
        ["rss", "feed", "rdf:rdf", "channel", "alert", "cap:alert", "urlset"].contains {
            FeedDiscovery.begins(bytes, $0)
        }
    }

    /// Namespaces spelled as in their specifications and in most documents.
    private static let exact: [String: String] = {
        var table: [String: String] = [:]
        for (key, prefix) in prefixes {
            for scheme in ["http://", "https://", "http://www.", "https://www."] {
                for ending in ["", "/", "#"] { table[scheme + key + ending] = prefix }
            }
        }
        table["http://www.w3.org/2005/Atom"] = "atom"
        return table
    }()

    @Sendable
    private static func space(_ namespace: String?, _ prefix: String?) -> String {
        guard let namespace else {
            guard let prefix = prefix?.lowercased() else { return "" }
            if prefix == "a10" { return "atom" }
            if known.contains(prefix) { return prefix }
            return ["rss", "feed"].contains(prefix) ? "" : "?\(prefix)"
        }
        if let prefix = exact[namespace] { return prefix }
        let key = comparable(namespace)
        if let prefix = prefixes[key] { return prefix }
        if key.hasPrefix("purl.org/atom/ns#") { return "atom" }
        // An unknown default namespace on a known root element.
        if prefix == nil, key.hasSuffix("rss") || key.contains("/rss") { return "" }
        return "?\(prefix ?? "")"
    }

    @Sendable
    private static func canonical(_ outer: String, _ name: String) -> String {
        let isLower = name.utf8.allSatisfy { !(0x41...0x5A ~= $0) && $0 < 0x80 }
        var local = isLower ? name : name.lowercased()
        var prefix = outer
        // libxml2 leaves an undeclared prefix in the name.
        if outer.isEmpty, let colon = local.utf8.firstIndex(of: 0x3A) {
            prefix = space(nil, String(local[..<colon]))
            local = String(local[local.utf8.index(after: colon)...])
        }
        return prefix.isEmpty ? local : prefix + ":" + local
    }

    private static func comparable(_ namespace: String) -> String {
        var text = namespace.utf8.filter { $0 > 0x20 }.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }[...]
        for start in ["http://", "https://"] where text.starts(with: start.utf8) {
            text = text.dropFirst(start.utf8.count)
        }
        if text.starts(with: "www.".utf8) { text = text.dropFirst(4) }
        while let last = text.last, last == 0x2F || last == 0x23 { text = text.dropLast() }
        return String(decoding: text, as: UTF8.self)
    }
}
