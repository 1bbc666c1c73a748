/// Converts HTML into plain text on one line.
package enum HTMLText {
    package enum Style: Sendable {
        /// Every tag is markup.
        case markup
        /// Only tags of HTML are markup: `<antirez>` in a title is a name.
        case title
        /// No tag is markup, but references are decoded.
        case text
    }

    /// Turns HTML into plain text.
    ///
    /// Block elements separate words, inline elements do not. Scripts, styles and embedded objects are dropped with
    /// their content. References are decoded once.
    ///
    /// - Parameters:
    ///   - html: HTML, complete or partial, and possibly malformed.
    ///   - limit: The largest number of characters, as in ``PlainText/clean(_:limit:)``.
    ///   - style: The tags that count as markup.
    /// - Returns: One line, empty when nothing can be shown.
    package static func plain(_ html: String, limit: Int, style: Style = .markup) -> String {
        plain(Array(html.utf8)[...], limit: limit, style: style)
    }

    package static func plain(_ html: ArraySlice<UInt8>, limit: Int, style: Style = .markup) -> String {
        var writer = PlainTextWriter(limit: limit)
        var tokens = HTMLTokenizer(html)
        while !writer.isFull, let token = tokens.next() {
            switch token {
            case .text(let text): write(text, to: &writer)
            case .start(let tag):
                let kind = HTMLVocabulary.kind(of: tag.name)
                if style != .markup, style == .text || kind == nil {
                    write(tag.source, to: &writer)
                } else if kind == .hidden {
                    tokens.skipContent(of: tag.name)
                } else if kind == .block {
                    writer.appendSpace()
                }
            case .end(let name, let source):
                if style == .text {
                    write(source, to: &writer)
                } else if HTMLVocabulary.kind(of: name) == .block {
                    writer.appendSpace()
                }
            }
        }
        return writer.finish()
    }

    /// True if text that may be plain contains an HTML tag or a character reference.
    package static func isLikelyMarkup(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while let ampersand = rest.firstIndex(of: 0x26) {
            rest = rest[ampersand...]
            if HTMLEntities.reference(at: rest) != nil { return true }
            rest = rest.dropFirst()
        }
        guard bytes.contains(0x3C) else { return false }
        var tokens = HTMLTokenizer(bytes)
        while let token = tokens.next() {
            switch token {
            case .start(let tag) where HTMLVocabulary.kind(of: tag.name) != nil: return true
            case .end(let name, _) where HTMLVocabulary.kind(of: name) != nil: return true
            default: continue
            }
        }
        return false
    }

    private static func write(_ text: ArraySlice<UInt8>, to writer: inout PlainTextWriter) {
        var rest = text
        while !writer.isFull, let ampersand = rest.firstIndex(of: 0x26) {
            rest[..<ampersand].withUnsafeBufferPointer { writer.append($0) }
            rest = rest[ampersand...]
            guard let (text, length) = HTMLEntities.reference(at: rest) else {
                writer.append("&")
                rest = rest.dropFirst()
                continue
            }
            writer.append(text)
            rest = rest.dropFirst(length)
        }
        rest.withUnsafeBufferPointer { writer.append($0) }
    }
}
