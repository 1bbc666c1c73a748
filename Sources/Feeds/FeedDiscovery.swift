internal import Markup

/// Finds the feeds that a web page names in its `link` elements, in document order.
enum FeedDiscovery {
    private static let types: Set<String> = [
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
    ]
    private static let limit = 50

    /// How far from its beginning a document's first tag is looked for, in bytes.
    private static let searchedBytes = 4_096
    private static let firstTags = ["html", "head", "body", "meta", "title", "script", "link rel"]

    /// Whether a document is a web page: by its first tag, whatever stands before it.
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

    /// Whether the bytes begin with a word, given in lower case, in any letter case.
    static func begins(_ bytes: ArraySlice<UInt8>, _ word: String) -> Bool {
        bytes.count >= word.utf8.count
            && zip(bytes, word.utf8).allSatisfy { $0 == $1 || (0x41...0x5A ~= $0 && $0 | 0x20 == $1) }
    }

    static func feeds(in text: [UInt8], url: String) -> [String] {
        var tokens = HTMLTokenizer(text[...])
        var base: URLReference?
        var links: [HTMLTokenizer.Tag] = []
        while links.count < limit, let token = tokens.next() {
            guard case .start(let tag) = token else { continue }
            switch tag.name {
            // The first counts, for what stands before it too (HTML §4.2.3).
            case "base" where base == nil:
                base = tag.attribute("href").flatMap { URLReference($0) }?.resolved(against: URLReference(url))
            case "link": if isFeed(tag) { links.append(tag) }
            case "script", "style", "noscript": tokens.skipContent(of: tag.name)
            default: continue
            }
        }
        let origin = base.flatMap { $0.isWeb ? $0 : nil } ?? URLReference(url)
        var found: [String] = []
        for link in links {
            guard let address = FeedContext.link(link.attribute("href"), base: origin), !found.contains(address) else {
                continue
            }
            found.append(address)
        }
        return found
    }

    private static func isFeed(_ tag: HTMLTokenizer.Tag) -> Bool {
        let relations = (tag.attribute("rel") ?? "").lowercased().split(whereSeparator: \.isWhitespace)
        guard relations.contains("alternate") || relations.contains("feed"),
            let type = FeedText.trimmed(tag.attribute("type"))?.lowercased().prefix(while: { $0 != ";" })
        else { return false }
        return types.contains(FeedText.trimmed(String(type)) ?? "")
    }
}
