/// The words of a search, all of which must be in some text; case is ignored.
package struct SearchWords: Sendable, Equatable {
    /// The largest number of words; others are ignored.
    private static let maximumCount = 8

    private let words: [String]

    package init(_ text: String) {
        words = text.lowercased().split(whereSeparator: \.isWhitespace).prefix(Self.maximumCount).map(String.init)
    }

    /// True if each word is in one of the texts; without words always.
    package func are(in texts: [String?]) -> Bool {
        guard !words.isEmpty else { return true }
        let texts = texts.compactMap { $0?.lowercased() }
        return words.allSatisfy { word in texts.contains { $0.contains(word) } }
    }
}
