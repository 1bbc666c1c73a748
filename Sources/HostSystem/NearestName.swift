/// Finds the name that a mistyped word most likely means.
package enum NearestName {
    /// Maximum length of compared names: longer ones are not typing errors.
    private static let maximumLength = 64

    /// Returns the known name with the fewest changes of letters, ignoring case.
    ///
    /// - Returns: `nil` if even that needs more than two changes and more than a third of the longer name: such a guess
    ///   would mislead.
    package static func of(_ name: String, among known: [String]) -> String? {
        let name = folded(name)
        let candidates = known.map { known in
            let letters = folded(known)
            return (name: known, length: max(name.count, letters.count), distance: distance(name, letters))
        }
        guard let best = candidates.min(by: { $0.distance < $1.distance }), best.distance <= max(2, best.length / 3)
        else { return nil }
        return best.name
    }

    private static func folded(_ name: String) -> [Character] { Array(name.lowercased().prefix(maximumLength)) }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
    package static func distance<Letter: Equatable>(_ left: [Letter], _ right: [Letter]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for i in 0..<left.count {
            var row = [i + 1]
            for j in 0..<right.count {
                var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    least = min(least, beforeLast[j - 1] + 1)
                }
                row.append(least)
            }
            beforeLast = last
            last = row
        }
        return last[right.count]
    }
}
