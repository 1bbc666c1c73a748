internal import Formats
internal import Markup

/// Reads a feed document of any format.
package enum FeedReader {
    /// The largest body that is read, in bytes, after decompression.
    ///
    /// Ordinary feeds have 10 KB to 2 MB, podcast archives up to 10 MB.
    package static let maximumBytes = 16 * 1_048_576
    /// The largest number of entries read of a document, the newest ones.
    package static let maximumEntries = 5_000

    /// The number of bytes at the beginning of a document that are searched for namespaces that no element uses.
    private static let headBytes = 2_048
    /// The largest number of hubs kept; one is enough to subscribe.
    private static let maximumHubs = 8

    /// Reads a document; only the content decides its format.
    ///
    /// - Parameters:
    ///   - bytes: The body; gzip that the transport did not announce is decompressed.
    ///   - url: The document's address after redirects.
    ///   - contentLocation: The HTTP header field, which replaces `url` as the base of relative addresses.
    ///   - contentType: The HTTP header field; only its `charset` is used.
    /// - Returns: The feed; a damaged one is read as far as possible, and ``Feed/malformed`` and ``Feed/isComplete``
    ///   report the damage.
    /// - Throws: ``FeedError`` when the document contains no feed.
    package static func read(
        _ bytes: [UInt8],
        url: String,
        contentLocation: String? = nil,
        contentType: String?
    ) throws(FeedError) -> Feed {
        let url = FeedContext.link(contentLocation, base: URLReference(url)) ?? url
        let (text, fault) = try text(of: bytes, contentType: contentType)
        guard let first = text.first(where: { $0 > 0x20 }) else { throw .empty }
        var feed = first == 0x7B || first == 0x5B ? try readJSON(text, url: url) : try readXML(text, url: url)
        if feed.malformed == nil { feed.malformed = fault }
        feed.hubs = Array(feed.hubs.prefix(maximumHubs))
        return feed
    }

    /// Returns a body without gzip, announced or not; bytes after its end are dropped.
    package static func decompressed(_ bytes: [UInt8]) throws(FeedError) -> [UInt8] {
        try Decompression.plain(bytes, limit: maximumBytes)
    }

    /// The document, decompressed and in UTF-8, and the reason why it could not be decoded cleanly.
    static func text(of bytes: [UInt8], contentType: String?) throws(FeedError) -> (text: [UInt8], fault: String?) {
        guard bytes.count <= maximumBytes else { throw .tooLarge(limit: maximumBytes) }
        let bytes = try Decompression.plain(bytes, limit: maximumBytes)
        return CharacterDecoding.utf8(bytes, charset: contentType.flatMap(charset))
    }

    private static func readJSON(_ text: [UInt8], url: String) throws(FeedError) -> Feed {
        let document = JSONReader.readLeniently(text)
        let fault = document.fault.map { describe($0, in: text) }
        guard let root = document.value else { throw .unreadable(reason: fault ?? "no JSON value") }
        guard JSONFeedReader.accepts(root) else { throw .notAFeed(root: "a JSON value without items") }
        var feed = JSONFeedReader(root: root, url: url).feed()
        feed.malformed = fault
        feed.isComplete = document.isComplete || feed.isTruncated
        return feed
    }

    private static func describe(_ fault: JSONSyntaxError, in text: [UInt8]) -> String {
        guard fault.offset < text.count else { return "the document ends early" }
        let line = 1 + text[..<fault.offset].count { $0 == 0x0A }
        return "line \(line): \(fault.reason)"
    }

    private static func readXML(_ text: [UInt8], url: String) throws(FeedError) -> Feed {
        guard !FeedDiscovery.isPage(text) else { throw .html(discovered: FeedDiscovery.feeds(in: text, url: url)) }
        let tree = XMLScanner.tree(of: text, vocabulary: FeedNames.vocabulary)
        guard let root = tree.root else {
            throw .unreadable(reason: tree.fault?.description ?? "the document has no element")
        }
        let context = FeedContext(url: url, tree: tree)
        var feed: Feed
        if RSSReader.accepts(root) {
            feed = RSSReader(root: root, context: context).feed()
        } else if AtomReader.accepts(root) {
            feed = AtomReader(root: root, context: context).feed()
        } else if AlertReader.accepts(root) {
            feed = AlertReader.feed(root: root, context: context)
        } else if SitemapReader.accepts(root, head: String(decoding: text.prefix(headBytes), as: UTF8.self)) {
            feed = SitemapReader.feed(root: root, context: context)
        } else {
            throw .notAFeed(root: FeedText.name(root.localName) ?? "")
        }
        feed.malformed = tree.fault?.description
        // A scanner limit that ends a truncated document does not affect the entries that are read.
        feed.isComplete = tree.isComplete || feed.isTruncated
        return feed
    }

    private static func charset(in contentType: String) -> String? {
        for parameter in contentType.split(separator: ";").dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, FeedText.trimmed(String(parts[0]))?.lowercased() == "charset" else { continue }
            return FeedText.trimmed(parts[1].filter { $0 != "\"" && $0 != "'" })
        }
        return nil
    }
}
