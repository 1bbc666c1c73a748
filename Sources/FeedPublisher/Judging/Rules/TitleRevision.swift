internal import FeedLists
internal import HostSystem

/// Small changes that editors make to a title.
enum TitleRevision {
    /// Minimum number of words that both titles must have in common.
    private static let fewestWords = 3
    /// Maximum number of letters that a corrected word may differ by, and the minimum length of such a word.
    private static let typingError = (letters: 2, shortest: 5)
    /// Maximum number of letters of words that are compared.
    private static let longestWord = 64

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
                let (old, new) = (Array(left.unicodeScalars), Array(right.unicodeScalars))
                return min(left.count, right.count) >= typingError.shortest && max(old.count, new.count) <= longestWord
                    && NearestName.distance(old, new) <= typingError.letters
            }
    }
}
