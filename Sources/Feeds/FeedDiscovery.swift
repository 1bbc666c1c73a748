internal import Markup

/// Finds the feeds that a web page names in its `link` elements, in document order.
enum FeedDiscovery {
    private static let types: Set<String> = [
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
    ]
    private static let limit = 50

    /// Whether a document is a web page: by its first tag, whatever stands before it.
    static func isPage(_ text: [UInt8]) -> Bool {
        let head = String(decoding: text.prefix(4_096), as: UTF8.self).lowercased()
        var rest = head[...]
        var saysHTML = false
        while let start = rest.firstIndex(of: "<") {
            rest = rest[rest.index(after: start)...]
            if rest.hasPrefix("!--"), let end = rest.firstRange(of: "-->") {
                rest = rest[end.upperBound...]
            } else if rest.hasPrefix("!doctype html") {
                saysHTML = true
            } else if !rest.hasPrefix("!") && !rest.hasPrefix("?") {
                return saysHTML && !FeedNames.isRoot(rest)
                    || ["html", "head", "body", "meta", "title", "script", "link rel"].contains { rest.hasPrefix($0) }
            }
        }
        return saysHTML
    }

    static func feeds(in text: [UInt8], url: String) -> [String] {
        var tokens = HTMLTokenizer(text)
        var base = WebAddress(url)
        var found: [String] = []
        while found.count < limit, let token = tokens.next() {
            guard case .start(let tag) = token else { continue }
            switch tag.name {
            case "base":
                if let address = tag.attribute("href").flatMap({ WebAddress($0) })?.resolved(against: base),
                    address.isWeb
                {
                    base = address
                }
            case "link":
                if let address = feed(of: tag, base: base), !found.contains(address) { found.append(address) }
            case "script", "style", "noscript": tokens.skipContent(of: tag.name)
            default: continue
            }
        }
        return found
    }

    private static func feed(of tag: HTMLTokenizer.Tag, base: WebAddress?) -> String? {
        let relations = (tag.attribute("rel") ?? "").lowercased().split(whereSeparator: \.isWhitespace)
        guard relations.contains("alternate") || relations.contains("feed"),
            let type = FeedText.trimmed(tag.attribute("type"))?.lowercased().prefix(while: { $0 != ";" }),
            types.contains(FeedText.trimmed(String(type)) ?? "")
        else { return nil }
        return FeedContext.link(tag.attribute("href"), base: base)
    }
}
