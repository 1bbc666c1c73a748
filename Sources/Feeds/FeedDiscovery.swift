internal import Markup

/// Finds the feeds that a web page names in its `link` and `a` elements.
///
/// Addresses with a feed's media type come first, then addresses that may be feeds, each in document order.
enum FeedDiscovery {
    private static let types: Set<String> = [
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
    ]
    /// Media types of feeds and of many other documents.
    private static let generalTypes: Set<String> = ["application/json", "text/xml", "application/xml"]
    /// Parts of addresses of WordPress's API, which its pages name as `application/json`.
    private static let interfaces = ["/wp-json/", "rest_route="]
    private static let limit = 50

    /// The number of bytes at the beginning of a document that are searched for its first tag.
    private static let searchedBytes = 4_096
    private static let firstTags = ["html", "head", "body", "meta", "title", "script", "link rel"]

    /// True if a document is a web page, judged by its first tag.
    static func isPage(_ text: [UInt8]) -> Bool {
        var rest = text.prefix(searchedBytes)
        var saysHTML = false
        while let start = rest.firstIndex(of: 0x3C) {
            rest = rest[(start + 1)...]
            if rest.starts(with: "!--".utf8) {
                guard let end = endOfComment(rest) else { continue }
                rest = rest[end...]
            } else if rest.first == 0x21 {
                saysHTML = saysHTML || begins(rest, "!doctype html")
            } else if rest.first != 0x3F {
                return saysHTML && !FeedNames.isRoot(rest) || firstTags.contains { begins(rest, $0) }
            }
        }
        return saysHTML
    }

    private static func endOfComment(_ text: ArraySlice<UInt8>) -> Int? {
        text.indices.dropFirst(2).first { text[$0] == 0x3E && text[$0 - 1] == 0x2D && text[$0 - 2] == 0x2D }.map {
            $0 + 1
        }
    }

    /// True if the bytes begin with `word`, which is in lower case, ignoring case.
    static func begins(_ bytes: ArraySlice<UInt8>, _ word: String) -> Bool {
        bytes.count >= word.utf8.count
            && zip(bytes, word.utf8).allSatisfy { $0 == $1 || (0x41...0x5A ~= $0 && $0 | 0x20 == $1) }
    }

    static func feeds(in text: [UInt8], url: String) -> [String] {
        var tokens = HTMLTokenizer(text[...])
        var base: URLReference?
        var links: [(tag: HTMLTokenizer.Tag, isCertain: Bool)] = []
        while links.count < limit, let token = tokens.next() {
            guard case .start(let tag) = token else { continue }
            switch tag.name {
            // Only the first `base` counts, and it applies to earlier elements too (HTML §4.2.3).
            case "base" where base == nil:
                base = tag.attribute("href").flatMap { URLReference($0) }?.resolved(against: URLReference(url))
            case "link", "a", "area": if let isCertain = namesFeed(tag) { links.append((tag, isCertain)) }
            case "script", "style", "noscript": tokens.skipContent(of: tag.name)
            default: continue
            }
        }
        let origin = base.flatMap { $0.isWeb ? $0 : nil } ?? URLReference(url)
        var found: [String] = []
        for link in links.filter(\.isCertain) + links.filter({ !$0.isCertain }) {
            guard let address = FeedContext.link(link.tag.attribute("href"), base: origin), !found.contains(address),
                link.isCertain || !interfaces.contains(where: { address.firstRange(of: $0) != nil })
            else { continue }
            found.append(address)
        }
        return found
    }

    /// True if the tag names a feed, false if it may name one, `nil` for all other tags.
    private static func namesFeed(_ tag: HTMLTokenizer.Tag) -> Bool? {
        guard let rel = tag.attribute("rel") else { return nil }
        let relations = rel.lowercased().split(whereSeparator: \.isWhitespace)
        guard relations.contains("alternate") || relations.contains("feed") else { return nil }
        guard let type = FeedText.trimmed(tag.attribute("type"))?.lowercased().prefix(while: { $0 != ";" }) else {
            // An `a` element rarely has a type; with `hreflang` it is a translation of the page.
            return tag.name != "link" && tag.attribute("hreflang") == nil ? false : nil
        }
        let name = FeedText.trimmed(String(type)) ?? ""
        return types.contains(name) ? true : generalTypes.contains(name) ? false : nil
    }
}
