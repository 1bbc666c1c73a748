internal import FeedLists

/// Small changes that editors make to a title.
enum TitleRevision {
    /// Minimum number of words that both titles must have in common.
    private static let fewestWords = 3
    /// Maximum number of letters that a corrected word may differ by, and the minimum length of such a word.
    private static let typingError = (letters: 2, shortest: 5)

    /// True if one title contains all words of the other in the same order.
    static func isExtended(_ former: String, _ title: String) -> Bool {
        let (one, other) = (FoldedWords.of(former), FoldedWords.of(title))
        let (short, long) = one.count <= other.count ? (one, other) : (other, one)
        guard short.count >= fewestWords else { return false }
        var rest = long[...]
        return short.allSatisfy { word in
            guard let position = rest.firstIndex(of: word) else { return false }
            rest = rest[(position + 1)...]
            return true
        }
    }

    /// True if the titles differ by typing errors in at most two words.
    static func isCorrected(_ former: String, _ title: String) -> Bool {
        let (one, other) = (FoldedWords.of(former), FoldedWords.of(title))
        guard one.count == other.count, one.count >= fewestWords else { return false }
        let changed = zip(one, other).filter { $0 != $1 }
        return changed.count <= 2
            && changed.allSatisfy { left, right in
                min(left.count, right.count) >= typingError.shortest
                    && distance(Array(left.unicodeScalars), Array(right.unicodeScalars)) <= typingError.letters
            }
    }

    /// Returns the number of letters to insert, delete, replace or swap with a neighbour (Damerau–Levenshtein), for
    /// words of bounded length.
    private static func distance(_ one: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Int {
        guard max(one.count, other.count) <= 64 else { return .max }
        var rows = [Array(0...other.count)]
        for i in 1...one.count {
            var row = [i]
            for j in 1...other.count {
                let cost = one[i - 1] == other[j - 1] ? 0 : 1
                var best = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + cost)
                if i > 1, j > 1, one[i - 1] == other[j - 2], one[i - 2] == other[j - 1] {
                    best = min(best, rows[i - 2][j - 2] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[one.count][other.count]
    }
}
