package import Feeds

/// A filter of a feed's entries by words in their titles, summaries and categories.
///
/// There are no patterns, so that the time of a search is linear in the length of the text.
package struct KeywordFilter: Sendable, Hashable {
    /// The largest number of terms in one list.
    static let maximumTerms = 200
    /// The number of bytes of an entry's text that are searched.
    private static let maximumText = 65_536

    /// Terms of which at least one must occur, unless empty.
    package var include: [Keyword] = []
    /// Terms that must not occur.
    package var exclude: [Keyword] = []

    package var isEmpty: Bool { include.isEmpty && exclude.isEmpty }

    /// The text of an entry that filters search, folded once for all of them.
    package struct FilterText: Sendable {
        let bytes: [UInt8]

        package init(_ entry: Entry) {
            self.init([entry.title, entry.summary].compactMap(\.self) + entry.categories)
        }

        init(_ fields: [String]) {
            var bytes: [UInt8] = []
            for field in fields where bytes.count < maximumText {
                let text = String(decoding: field.utf8.prefix(maximumText), as: UTF8.self)
                // A phrase cannot extend from one field into the next.
                bytes += Array("| \(FoldedWords.of(text).joined(separator: " ")) |".utf8)
            }
            self.bytes = bytes
        }
    }
}

/// A word or phrase; with `*` at its end, the beginning of one.
package struct Keyword: Sendable, Hashable {
    private static let maximumBytes = 200

    /// The term as written in the list.
    package let text: String
    /// The folded words; the last of them may be a prefix.
    let words: [String]
    private let isOpenEnded: Bool
    private let needle: [UInt8]
    /// For each prefix of ``needle``, the length of its longest proper suffix that is also a prefix (Knuth, Morris,
    /// Pratt).
    private let overlaps: [Int]

    /// - Throws: ``KeywordError`` with the reason.
    package init(parsing text: String) throws(KeywordError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw KeywordError("is longer than \(Self.maximumBytes) bytes")
        }
        let isBeginning = text.hasSuffix("*")
        let plain = isBeginning ? text.dropLast() : text[...]
        guard !plain.contains("*") else { throw KeywordError("has a '*' before its end") }
        let words = FoldedWords.of(plain)
        guard let first = words.first?.unicodeScalars.first, let last = words.last?.unicodeScalars.last else {
            throw KeywordError("contains no letter or digit")
        }
        var needle = words.joined(separator: " ")
        if !FoldedWords.runsOn(first) { needle = " " + needle }
        if !isBeginning, !FoldedWords.runsOn(last) { needle += " " }
        self.text = text
        self.words = words
        isOpenEnded = isBeginning
        self.needle = Array(needle.utf8)
        var overlaps = [0]
        for position in self.needle.indices.dropFirst() {
            overlaps.append(Self.step(self.needle, overlaps, overlaps[position - 1], self.needle[position]))
        }
        self.overlaps = overlaps
    }

    package func isIn(_ text: KeywordFilter.FilterText) -> Bool {
        var matched = 0
        for byte in text.bytes {
            matched = Self.step(needle, overlaps, matched, byte)
            if matched == needle.count { return true }
        }
        return false
    }

    /// The remaining words of a text that begins or ends with the term; `nil` for other texts.
    package func rest(of others: [String]) -> [String]? {
        guard others.count >= words.count, let first = words.first, let last = words.last else { return nil }
        let (head, tail) = (others.prefix(words.count), others.suffix(words.count))
        // Words without spaces between them can be parts of longer runs.
        if last.unicodeScalars.last.map(FoldedWords.runsOn) ?? false, head.dropLast() == words.dropLast(),
            let found = head.last, found.hasPrefix(last)
        {
            return [String(found.dropFirst(last.count))].filter { !$0.isEmpty } + others.dropFirst(words.count)
        }
        if isEqual(head) { return Array(others.dropFirst(words.count)) }
        if first.unicodeScalars.first.map(FoldedWords.runsOn) ?? false, tail.dropFirst() == words.dropFirst(),
            let found = tail.first, found.hasSuffix(first)
        {
            return others.dropLast(words.count) + [String(found.dropLast(first.count))].filter { !$0.isEmpty }
        }
        return isEqual(tail) ? others.dropLast(words.count) : nil
    }

    /// True if the text has the same words and the same number of them.
    private func isEqual(_ others: ArraySlice<String>) -> Bool {
        guard others.dropLast() == words.dropLast(), let last = words.last, let found = others.last else {
            return false
        }
        return isOpenEnded ? found.hasPrefix(last) : found == last
    }

    private static func step(_ needle: [UInt8], _ overlaps: [Int], _ matched: Int, _ byte: UInt8) -> Int {
        var matched = matched
        while matched > 0, needle[matched] != byte { matched = overlaps[matched - 1] }
        return needle[matched] == byte ? matched + 1 : 0
    }
}

extension Keyword {
    package static func == (left: Keyword, right: Keyword) -> Bool { left.needle == right.needle }

    package func hash(into hasher: inout Hasher) { hasher.combine(needle) }
}

/// An error in a term, worded as the end of a sentence that begins with the term.
package struct KeywordError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
