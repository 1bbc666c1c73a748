internal import FoundationEssentials
internal import Markup

/// Reads the text constructs and content of Atom 1.0 (RFC 4287 §3.1, §4.1.3) and 0.3.
enum AtomText {
    /// `nil` when there is no text, or none that is text.
    static func text(_ element: XMLElement?, isOld: Bool) -> FeedText? {
        guard let element else { return nil }
        let type = FeedText.trimmed(element.attribute("type"))?.lowercased() ?? "text"
        let mode = isOld ? element.attribute("mode")?.lowercased() : nil
        switch (type, mode) {
        case (_, "base64"): return decoded(element, kind(of: type))
        case (_, "escaped"): return characters(element, type == "text/plain" || type == "text" ? .undecided : .html)
        case ("xhtml", _), ("application/xhtml+xml", _): return inner(element)
        case ("html", _), ("text/html", _):
            return element.hasChildElements ? inner(element) : characters(element, .html)
        case ("text", _) where isOld && element.attribute("mode") == nil && !element.hasChildElements:
            return characters(element, .undecided)
        case ("text", _), ("text/plain", _), ("plain", _):
            return element.hasChildElements ? inner(element) : characters(element, .plain)
        case let (type, _) where type.hasPrefix("text/"): return characters(element, .plain)
        case let (type, _) where type.hasSuffix("xml"): return inner(element)
        case let (type, _) where type.contains("/"): return decoded(element, .plain)
        default: return element.hasChildElements ? inner(element) : characters(element, .undecided)
        }
    }

    private static func characters(_ element: XMLElement, _ kind: FeedText.Kind) -> FeedText {
        FeedText(element.bytes, kind)
    }

    private static func inner(_ element: XMLElement) -> FeedText {
        FeedText(element.innerMarkup(limit: FeedText.maximumBytes)[...], .html)
    }

    private static func kind(of type: String) -> FeedText.Kind {
        type == "text" || type == "text/plain" ? .plain : .html
    }

    /// `nil` for a picture, say; what is no base64 at all was meant as text.
    private static func decoded(_ element: XMLElement, _ kind: FeedText.Kind) -> FeedText? {
        let text = element.text
        guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
            return FeedText(text, kind)
        }
        return String(validating: data, as: UTF8.self).map { FeedText($0, kind) }
    }
}
