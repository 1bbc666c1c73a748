internal import Markup

/// The texts of feeds made plain, each within its bound.
enum FeedText {
    /// Characters.
    ///
    /// No outlet writes headlines of this length; a title that is a whole article is cut here.
    private static let titleLimit = 1_000
    /// Characters: some paragraphs, several times what any message carries.
    private static let summaryLimit = 4_000
    private static let nameLimit = 300
    /// Entries hold some dozens of categories at most; more is a mistake or an attack.
    static let categories = 100

    enum Kind {
        case plain
        case html
        /// Of RSS titles: most publishers mean plain text, many mean HTML, and nothing says which.
        case undecided
    }

    static func title(_ text: String?, _ kind: Kind) -> String? { plain(text, kind, limit: titleLimit) }

    static func summary(_ text: String?, _ kind: Kind) -> String? { plain(text, kind, limit: summaryLimit) }

    static func name(_ text: String?, _ kind: Kind = .undecided) -> String? { plain(text, kind, limit: nameLimit) }

    /// The person without the mail address, which is nobody's business: from `mail (Name)`, `Name <mail>` or `Name`.
    ///
    /// `nil` when there is an address only.
    static func person(_ text: String?) -> String? {
        guard let text, let name = plain(text, .html, limit: nameLimit) else { return nil }
        let written = PlainText.clean(text, limit: nameLimit)
        guard written.contains("@") else { return name }
        if let open = written.firstIndex(of: "("), let close = written.lastIndex(of: ")"), open < close {
            let inside = written[written.index(after: open)..<close]
            if !inside.contains("@") { return nonEmpty(PlainText.clean(String(inside), limit: nameLimit)) }
        }
        let words = written.split(separator: " ").filter { !$0.contains("@") }
        return nonEmpty(PlainText.clean(words.joined(separator: " "), limit: nameLimit))
    }

    /// Trims, drops empty ones and repeats in any letter case, and keeps the order.
    static func distinct(_ names: [String?]) -> [String] {
        var seen: Set<String> = []
        var result: [String] = []
        for case let name? in names where result.count < categories && seen.insert(name.lowercased()).inserted {
            result.append(name)
        }
        return result
    }

    static func trimmed(_ text: String?) -> String? {
        guard let text else { return nil }
        let start = text.unicodeScalars.drop { $0.properties.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.properties.isWhitespace }) else { return nil }
        return String(start[...end])
    }

    private static func plain(_ text: String?, _ kind: Kind, limit: Int) -> String? {
        guard let text else { return nil }
        switch kind {
        case .plain: return nonEmpty(PlainText.clean(text, limit: limit))
        case .html: return nonEmpty(HTMLText.plain(text, limit: limit))
        case .undecided:
            return nonEmpty(
                HTMLText.isLikelyMarkup(text)
                    ? HTMLText.plain(text, limit: limit, style: .title) : PlainText.clean(text, limit: limit)
            )
        }
    }

    private static func nonEmpty(_ text: String) -> String? { text.isEmpty ? nil : text }
}
