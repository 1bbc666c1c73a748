internal import FoundationEssentials
internal import Markup

/// Reads the text constructs and content of Atom 1.0 (RFC 4287 §3.1, §4.1.3) and 0.3.
enum AtomText {
    /// The text of a title or summary; `nil` when there is none.
    ///
    /// What has an unknown type is text: publishers write `plain`, `string` or the media type of the whole feed.
    static func text(_ element: XMLElement?, isOld: Bool) -> FeedText? {
        element.flatMap { text($0, type(of: $0), isOld: isOld) }
    }

    /// The text of an entry's content; `nil` when there is none, or it is a picture, say.
    static func content(_ element: XMLElement?, isOld: Bool) -> FeedText? {
        guard let element else { return nil }
        let type = type(of: element)
        let isText = !type.contains("/") || type.hasPrefix("text/") || type.hasSuffix("xml")
        return isText || isOld && element.attribute("mode") != nil
            ? text(element, type, isOld: isOld) : decoded(element, .plain)
    }

    private static func type(of element: XMLElement) -> String {
        FeedText.trimmed(element.attribute("type"))?.lowercased() ?? "text"
    }

    private static func text(_ element: XMLElement, _ type: String, isOld: Bool) -> FeedText? {
        let mode = isOld ? element.attribute("mode")?.lowercased() : nil
        switch (type, mode) {
        case (_, "base64"): return decoded(element, kind(of: type))
        case (_, "escaped"): return characters(element, type == "text/plain" || type == "text" ? .undecided : .html)
        case ("html", _), ("text/html", _):
            return element.hasChildElements ? inner(element) : characters(element, .html)
        case ("text", _) where isOld && element.attribute("mode") == nil && !element.hasChildElements:
            return characters(element, .undecided)
        case let (type, _) where type == "xhtml" || type.hasSuffix("xml") && !type.hasPrefix("text/"):
            return inner(element)
        default: return element.hasChildElements ? inner(element) : characters(element, .plain)
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
        let isBase64 = text.utf8.allSatisfy { byte in
            0x2F...0x39 ~= byte || 0x61...0x7A ~= byte | 0x20 || [0x2B, 0x3D, 0x20, 0x09, 0x0A, 0x0D].contains(byte)
        }
        guard isBase64, let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
            return FeedText(text, kind)
        }
        return String(validating: data, as: UTF8.self).map { FeedText($0, kind) }
    }
}
