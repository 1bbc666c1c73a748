/// Names what somebody who mistyped most likely meant.
package enum NearestName {
    /// Longer names are not compared: they are no slips of the finger.
    private static let maximumLength = 64

    /// The known name with the fewest changed letters, whatever their case; `nil` when nothing is known.
    package static func of(_ name: String, among known: [String]) -> String? {
        known.min { distance(name, $0) < distance(name, $1) }
    }

    private static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.lowercased().prefix(maximumLength))
        let right = Array(right.lowercased().prefix(maximumLength))
        var row = Array(0...right.count)
        for (i, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let substituted = diagonal + (letter == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}
