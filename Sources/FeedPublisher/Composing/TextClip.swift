/// Shortens texts for messages.
enum TextClip {
    private static let ellipsis: Character = "…"

    /// Returns the text if it is within both limits, else its beginning and an ellipsis.
    ///
    /// Limits count user-perceived characters and bytes of UTF-8; no character is split.
    static func clip(_ text: String, characters: Int, bytes: Int = .max) -> String {
        var count = 0
        var size = 0
        var end = text.startIndex
        var index = text.startIndex
        while index < text.endIndex {
            let next = text.index(after: index)
            size += text.utf8.distance(from: index, to: next)
            count += 1
            guard count <= characters, size <= bytes else {
                return String(text[..<end]).trimmed() + (characters > 0 && bytes > 3 ? String(ellipsis) : "")
            }
            // Leave room for the ellipsis, in case the text goes on.
            if count < characters, size + 3 <= bytes { end = next }
            index = next
        }
        return text
    }
}

extension TextClip {
    /// Returns the text if it is within the limit, else its first words and an ellipsis.
    static func clipWords(_ text: String, characters: Int) -> String {
        guard text.count > characters else { return text }
        let beginning = text.prefix(characters - 1)
        // A script without blanks has no word to cut at, and an address has no second one.
        guard let blank = beginning.lastIndex(where: \.isWhitespace),
            text.distance(from: text.startIndex, to: blank) > characters / 2
        else { return clip(text, characters: characters) }
        return String(text[..<blank]).trimmed() + String(ellipsis)
    }
}

extension String {
    /// Returns the text without white space at its end.
    fileprivate func trimmed() -> String {
        var text = self[...]
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
