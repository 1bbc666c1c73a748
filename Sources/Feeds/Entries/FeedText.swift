internal import Markup

/// A text as its publisher wrote it, converted to plain text on demand.
struct FeedText: Sendable, Equatable {
    enum Kind: Sendable {
        case plain
        case html
        /// An RSS title: most publishers write plain text and many write HTML, and no attribute tells which.
        case undecided
        /// Plain text in which references are escaped once more than XML requires.
        case references
    }

    /// The longest title, in characters.
    ///
    /// No outlet writes headlines of this length; a title that contains a whole article is cut here.
    static let titleLimit = 1_000
    /// The longest summary, in characters: several paragraphs, and several times the size of a message.
    static let summaryLimit = 4_000
    private static let nameLimit = 300
    /// The number of bytes kept, including markup: sixteen for each character of the longest summary.
    static let maximumBytes = 65_536

    let kind: Kind
    /// The source text, usually a slice of the document that is not copied.
    private let source: ArraySlice<UInt8>

    init(_ source: ArraySlice<UInt8>, _ kind: Kind) {
        self.source = source.prefix(Self.maximumBytes)
        self.kind = kind
    }

    init(_ source: String, _ kind: Kind) {
        self.init(Array(source.utf8)[...], kind)
    }

    /// One line of plain text; `nil` when nothing is left.
    func plain(limit: Int) -> String? {
        let text =
            switch kind {
            case .plain: PlainText.clean(source, limit: limit)
            case .html: HTMLText.plain(source, limit: limit)
            case .references: HTMLText.plain(source, limit: limit, style: .text)
            case .undecided:
                HTMLText.isLikelyMarkup(source)
                    ? HTMLText.plain(source, limit: limit, style: .title) : PlainText.clean(source, limit: limit)
            }
        return text.isEmpty ? nil : text
    }

    /// The text, if it is HTML that contains a tag.
    var markup: ArraySlice<UInt8>? { kind == .html && source.contains(0x3C) ? source : nil }

    // MARK: Short texts

    static func name(_ text: String?, _ kind: Kind = .undecided) -> String? {
        text.flatMap { FeedText($0, kind).plain(limit: nameLimit) }
    }

    static func name(_ text: ArraySlice<UInt8>, _ kind: Kind) -> String? {
        FeedText(text, kind).plain(limit: nameLimit)
    }

    static func title(_ text: String?, _ kind: Kind) -> String? {
        text.flatMap { FeedText($0, kind).plain(limit: titleLimit) }
    }

    /// Drops empty names and case-insensitive repeats, and keeps the order.
    static func distinct(_ names: [String?]) -> [String] {
        guard names.count > 1 else { return names.compactMap(\.self) }
        var seen: Set<String> = []
        var result: [String] = []
        for case let name? in names where result.count < maximumCategories {
            if seen.insert(name.lowercased()).inserted { result.append(name) }
        }
        return result
    }

    /// The largest number of categories of an entry; more are a mistake or an attack.
    static let maximumCategories = 100

    static func trimmed(_ text: String?) -> String? {
        guard var text else { return nil }
        let isClean = text.withUTF8 { bytes in
            guard let first = bytes.first, let last = bytes.last else { return false }
            return 0x21...0x7E ~= first && 0x21...0x7E ~= last
        }
        if isClean { return text }
        let start = text.unicodeScalars.drop { $0.properties.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.properties.isWhitespace }) else { return nil }
        return String(start[...end])
    }
}
