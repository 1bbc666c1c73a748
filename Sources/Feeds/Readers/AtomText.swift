internal import FoundationEssentials
internal import Markup

/// Reads the text constructs and content of Atom 1.0 (RFC 4287 §3.1, §4.1.3) and 0.3.
enum AtomText {
    /// The text of a title or summary; `nil` when there is none.
    ///
    /// An unknown type is read as text: publishers write `plain`, `string` or the media type of the whole feed.
    static func text(_ element: XMLElement?, isOld: Bool) -> FeedText? {
        guard let element else { return nil }
        let text = content(element, isOld: isOld)
        return text ?? (isOld ? nil : characters(element, .plain))
    }

    /// The text of an entry's content; `nil` when there is none, or for other content such as a picture.
    static func content(_ element: XMLElement?, isOld: Bool) -> FeedText? {
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
        case ("text/plain", _): return element.hasChildElements ? inner(element) : characters(element, .plain)
        case let (type, _) where type.hasPrefix("text/"): return characters(element, .plain)
        case let (type, _) where type.hasSuffix("xml"): return inner(element)
        case let (type, _) where type.contains("/") && !element.hasChildElements: return decoded(element, .plain)
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

    /// Decodes base64; content that is not base64 is read as text, and the result is `nil` for data that is not text,
    /// such as a picture.
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
