/// HTML as people would read it aloud: text only, on one line.
package enum HTMLText {
    package enum Style: Sendable {
        /// Every tag is markup.
        case markup
        /// Only tags that HTML has are markup: `<antirez>` in a title is somebody's name.
        case title
    }

    /// Turns HTML into plain text.
    ///
    /// Block elements part words, inline ones do not; scripts, styles and embedded objects go with their content;
    /// references are decoded once.
    ///
    /// - Parameters:
    ///   - html: HTML, whole or in part, however broken.
    ///   - limit: Characters kept, as in ``PlainText/clean(_:limit:)``.
    ///   - style: Which tags are markup.
    /// - Returns: One line, empty when nothing can be shown.
    package static func plain(_ html: String, limit: Int, style: Style = .markup) -> String {
        guard html.utf8.contains(where: { $0 == 0x3C || $0 == 0x26 }) else {
            return PlainText.clean(html, limit: limit)
        }
        var writer = PlainTextWriter(limit: limit)
        var tokens = HTMLTokenizer(html)
        while !writer.isFull, let token = tokens.next() {
            switch token {
            case .text(let text): write(text, to: &writer)
            case .start(let tag):
                if style == .title, !HTMLVocabulary.isKnown(tag.name) {
                    write(tag.source, to: &writer)
                } else if HTMLVocabulary.isHidden(tag.name) {
                    tokens.skipContent(of: tag.name)
                } else if HTMLVocabulary.isBlock(tag.name) {
                    writer.appendSpace()
                }
            case .end(let name):
                if HTMLVocabulary.isBlock(name) { writer.appendSpace() }
            }
        }
        return writer.finish()
    }

    /// Whether text that may be plain holds a tag that HTML has, or a character reference.
    package static func isLikelyMarkup(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        for index in bytes.indices where bytes[index] == 0x26 {
            if HTMLEntities.reference(at: bytes[index...]) != nil { return true }
        }
        guard bytes.contains(0x3C) else { return false }
        var tokens = HTMLTokenizer(bytes)
        while let token = tokens.next() {
            switch token {
            case .start(let tag) where HTMLVocabulary.isKnown(tag.name): return true
            case .end(let name) where HTMLVocabulary.isKnown(name): return true
            default: continue
            }
        }
        return false
    }

    private static func write(_ text: ArraySlice<UInt8>, to writer: inout PlainTextWriter) {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        HTMLEntities.appendDecoded(text, to: &decoded)
        for scalar in String(decoding: decoded, as: UTF8.self).unicodeScalars { writer.append(scalar) }
    }
}
