internal import Formats
internal import Markup

/// The document's address, and the conversion of elements to values, which the readers of XML formats share.
struct FeedContext {
    /// The largest number of files kept of one entry.
    private static let maximumEnclosures = 100

    let tree: XMLTree
    /// The document's address; `nil` when it is not known.
    private let addressText: String?
    /// The page of a feed that is on another host than the feed.
    private var pageText: String?
    /// True if the document uses `xml:base`; in most documents links need no search for it.
    private let usesBase: Bool

    // Most documents use none of these vocabularies, so their entries need not be searched.
    let hasAlerts: Bool
    let hasMedia: Bool
    let hasPlaces: Bool
    let hasDrafts: Bool

    init(url: String, tree: XMLTree) {
        self.tree = tree
        addressText = URLReference.isPlainWeb(url) ? url : URLReference(url)?.text
        usesBase = tree.uses("xml:base")
        hasAlerts = tree.uses(AlertReader.names)
        hasMedia = tree.uses(MediaRSS.names)
        hasPlaces = tree.uses(GeoRSS.names)
        hasDrafts = tree.uses("app:draft")
    }

    /// Makes a channel's page the base of references without `xml:base` if the feed is on another host, as with a feed
    /// proxy.
    mutating func takePage(_ link: String?) {
        guard let link = Self.link(link, base: nil) else { return }
        if let addressText, URLReference.sharesHost(addressText, link) { return }
        pageText = link
    }

    /// The parsed address, needed only for relative addresses; most documents have none.
    private var address: URLReference? { addressText.flatMap(URLReference.init) }

    /// The last base that was found, which the links of an entry share.
    private final class LastBase {
        var owner: XMLElement?
        var base: URLReference?
    }

    private let last = LastBase()

    /// The nearest `xml:base`, resolved against the outer bases and the document's address (RFC 3986 §5.1).
    private func xmlBase(of element: XMLElement) -> URLReference? {
        guard usesBase else { return nil }
        var owner: XMLElement? = element
        while let candidate = owner, candidate.attribute("xml:base") == nil { owner = candidate.parent }
        guard let owner else { return nil }
        if last.owner?.isSame(as: owner) == true { return last.base }
        let outer = owner.parent.flatMap(xmlBase) ?? address
        var found = outer
        if let text = FeedText.trimmed(owner.attribute("xml:base")),
            let inner = URLReference(text)?.resolved(against: outer), inner.isWeb
        {
            found = inner
        }
        last.owner = owner
        last.base = found
        return found
    }

    /// The base of a relative reference.
    ///
    /// A channel's page gives the host for a path that begins with `/`, but not the folder for a relative name.
    private func base(of element: XMLElement, for reference: String) -> URLReference? {
        let isPath = reference.hasPrefix("/") && !reference.hasPrefix("//")
        return xmlBase(of: element) ?? (isPath ? pageText.flatMap(URLReference.init) : nil) ?? address
    }

    /// The base of addresses in an element's text.
    func baseText(of element: XMLElement) -> String? {
        xmlBase(of: element)?.text ?? pageText ?? addressText
    }

    /// An absolute `http` or `https` URL; `nil` for anything else.
    func link(_ text: String?, at element: XMLElement) -> String? {
        guard let text = FeedText.trimmed(text) else { return nil }
        return URLReference.isPlainWeb(text) ? text : Self.link(text, base: base(of: element, for: text))
    }

    static func link(_ text: String?, base: URLReference?) -> String? {
        guard let text = FeedText.trimmed(text) else { return nil }
        if URLReference.isPlainWeb(text) { return text }
        guard let address = URLReference(FeedScheme.webAddress(text))?.resolved(against: base), address.isWeb else {
            return nil
        }
        return address.text
    }

    /// The element's content as HTML: its text, or its markup if the publisher did not escape it.
    func html(_ element: XMLElement?) -> FeedText? {
        guard let element else { return nil }
        return FeedText(
            element.hasChildElements ? element.innerMarkup(limit: FeedText.maximumBytes)[...] : element.bytes,
            .html
        )
    }

    func titleText(_ element: XMLElement?) -> FeedText? {
        guard let element else { return nil }
        if element.hasChildElements { return html(element) }
        return FeedText(element.bytes, .undecided)
    }

    func title(_ element: XMLElement?) -> String? {
        titleText(element)?.plain(limit: FeedText.titleLimit)
    }

    /// The nearest `xml:lang`.
    func language(of element: XMLElement) -> String? {
        FeedText.trimmed(element.attribute("xml:lang")) ?? element.parent.flatMap { language(of: $0) }
    }

    /// Drops enclosures with repeated addresses, and those above the limit.
    static func distinct(_ enclosures: [Enclosure]) -> [Enclosure] {
        guard enclosures.count > 1 else { return enclosures }
        var seen: Set<String> = []
        return enclosures.filter { seen.count < maximumEnclosures && seen.insert($0.url).inserted }
    }

    /// Makes an enclosure, `nil` without an address.
    ///
    /// Publishers use a size of zero for "unknown".
    static func enclosure(_ url: String?, type: String?, length: String?) -> Enclosure? {
        let bytes = FeedText.trimmed(length).flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        return url.map { Enclosure(url: $0, type: FeedText.trimmed(type), length: bytes) }
    }
}
