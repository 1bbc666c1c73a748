internal import Markup

/// What the readers of XML formats share: where the document came from, and how its elements become values.
struct FeedContext {
    /// Files kept of one entry.
    private static let maximumEnclosures = 100

    let address: WebAddress?
    /// Most documents have no `xml:base`, and need no search for one at every link.
    private let usesBase: Bool

    init(url: String, tree: XMLTree) {
        address = WebAddress(url)
        usesBase = tree.uses("xml:base")
    }

    /// The nearest `xml:base`, each resolved against the outer one, else the document's address (RFC 3986 §5.1).
    func base(of element: XMLElement) -> WebAddress? {
        guard usesBase else { return address }
        let outer = element.parent.flatMap { base(of: $0) } ?? address
        guard let text = FeedText.trimmed(element.attribute("xml:base")), let inner = WebAddress(text) else {
            return outer
        }
        let resolved = inner.resolved(against: outer)
        return resolved.isWeb ? resolved : outer
    }

    /// An absolute `http` or `https` URL; `nil` for anything else.
    func link(_ text: String?, at element: XMLElement) -> String? {
        Self.link(text, base: base(of: element))
    }

    static func link(_ text: String?, base: WebAddress?) -> String? {
        guard let text = FeedText.trimmed(text), let address = WebAddress(text)?.resolved(against: base),
            address.isWeb
        else { return nil }
        return address.text
    }

    /// HTML: the characters of an element, or its markup where somebody forgot to escape it.
    func html(_ element: XMLElement?) -> String? {
        guard let element else { return nil }
        return element.hasChildElements ? element.innerMarkup : element.text
    }

    func title(_ element: XMLElement?) -> String? {
        guard let element else { return nil }
        return element.hasChildElements
            ? FeedText.title(element.innerMarkup, .html) : FeedText.title(element.text, .undecided)
    }

    /// Each address once.
    static func distinct(_ enclosures: [Enclosure]) -> [Enclosure] {
        var seen: Set<String> = []
        return enclosures.filter { seen.count < maximumEnclosures && seen.insert($0.url).inserted }
    }

    /// Bytes; `nil` for what is no number, and for zero, which publishers write for "unknown".
    static func length(_ text: String?) -> Int? {
        FeedText.trimmed(text).flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    }
}
