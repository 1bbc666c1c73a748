internal import FoundationEssentials
internal import Markup

/// A text construct or content of Atom 1.0 (RFC 4287 §3.1, §4.1.3) or 0.3.
struct AtomText {
    let kind: FeedText.Kind
    /// Text or HTML as `kind` says; `nil` when there is none, or none that is text.
    let source: String?

    init(_ element: XMLElement?, isOld: Bool) {
        guard let element else {
            self.init(.plain, nil)
            return
        }
        let type = FeedText.trimmed(element.attribute("type"))?.lowercased() ?? "text"
        let mode = isOld ? element.attribute("mode")?.lowercased() : nil
        switch (type, mode) {
        case (_, "base64"): self.init(Self.kind(of: type), Self.decoded(element.text))
        case (_, "escaped"): self.init(type == "text/plain" || type == "text" ? .undecided : .html, element.text)
        case ("xhtml", _), ("application/xhtml+xml", _): self.init(.html, element.innerMarkup)
        case ("html", _), ("text/html", _): self.init(.html, Self.markup(element))
        case ("text", _) where isOld && element.attribute("mode") == nil && !element.hasChildElements:
            self.init(.undecided, element.text)
        case ("text", _), ("text/plain", _), ("plain", _):
            self.init(element.hasChildElements ? .html : .plain, Self.markup(element))
        case let (type, _) where type.hasPrefix("text/"): self.init(.plain, element.text)
        case let (type, _) where type.hasSuffix("xml"): self.init(.html, element.innerMarkup)
        case let (type, _) where type.contains("/"): self.init(.plain, Self.decoded(element.text))
        default: self.init(element.hasChildElements ? .html : .undecided, Self.markup(element))
        }
    }

    private init(_ kind: FeedText.Kind, _ source: String?) {
        self.kind = kind
        self.source = source
    }

    var title: String? { FeedText.title(source, kind) }
    var summary: String? { FeedText.summary(source, kind) }

    private static func markup(_ element: XMLElement) -> String {
        element.hasChildElements ? element.innerMarkup : element.text
    }

    private static func kind(of type: String) -> FeedText.Kind {
        type == "text" || type == "text/plain" ? .plain : .html
    }

    /// `nil` for what is no base64, or no text but a picture, say.
    private static func decoded(_ text: String) -> String? {
        Data(base64Encoded: text, options: .ignoreUnknownCharacters).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
