/// The properties of HTML elements that decide how they become text.
enum HTMLVocabulary {
    /// Elements that have no end tag (HTML §13.1.2).
    private static let void: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    ]

    /// Elements whose content is not meant for readers, or not for plain text.
    private static let hidden: Set<String> = [
        "script", "style", "noscript", "iframe", "object", "applet", "template", "head",
    ]

    /// Elements in which tags are text (HTML §13.2.6.4); references are decoded in `textarea` and `title` only.
    private static let raw: Set<String> = ["iframe", "noscript", "script", "style", "textarea", "title"]

    /// Elements that separate the words before and after their tags.
    private static let block: Set<String> = [
        "address", "article", "aside", "blockquote", "br", "dd", "details", "dialog", "div", "dl", "dt", "fieldset",
        "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main",
        "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
        "ul",
    ]

    private static let inline: Set<String> = [
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "center", "cite", "code", "del", "dfn", "em", "font", "i",
        "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var",
        "audio", "button", "canvas", "label", "map", "picture", "svg", "video", "body", "html", "title",
    ]

    enum Kind { case block, inline, hidden, void }

    private static let kinds: [String: Kind] = {
        var kinds: [String: Kind] = [:]
        for (names, kind) in [(inline, Kind.inline), (void, .void), (hidden, .hidden), (block, .block)] {
            for name in names { kinds[name] = kind }
        }
        return kinds
    }()

    static func isVoid(_ name: String) -> Bool { void.contains(name) }

    /// True if the content of an element, given in lower case, ends only at its end tag.
    static func holdsRawText(_ name: String) -> Bool { raw.contains(name) }

    /// The kind of an element, given in lower case; `nil` when HTML has no such element.
    static func kind(of name: String) -> Kind? { kinds[name] }
}
