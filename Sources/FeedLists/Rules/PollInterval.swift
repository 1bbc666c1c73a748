/// The polling interval of a feed, written as `30s`, `5m`, `2h` or `1d`.
package struct PollInterval: Hashable, Sendable, CustomStringConvertible {
    /// The interval of feeds without one: many sites dislike more frequent requests, and news cannot wait an hour
    /// (feeds.md §10).
    package static let standard = PollInterval(seconds: 15 * 60)
    /// The shortest interval; public servers may block more frequent requests.
    package static let minimum = PollInterval(seconds: 60)
    /// The shortest interval of the user's own feeds (`local: true`).
    package static let localMinimum = PollInterval(seconds: 1)
    package static let maximum = PollInterval(seconds: 7 * 86_400)

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    /// The largest number of digits; longer numbers are mistakes, and could overflow.
    private static let maximumDigits = 7

    package let seconds: Int64

    /// - Parameter text: Digits and one of the units `s`, `m`, `h`, `d`; the result is `nil` for other text.
    init?(parsing text: String) {
        guard let last = text.last, let unit = Self.units[last] else { return nil }
        let digits = text.dropLast()
        guard !digits.isEmpty, digits.count <= Self.maximumDigits,
            digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let count = Int64(digits)
        else { return nil }
        seconds = count * unit
    }

    private init(seconds: Int64) { self.seconds = seconds }

    package var duration: Duration { .seconds(seconds) }

    package var description: String {
        for (unit, length) in Self.units.sorted(by: { $0.value > $1.value }) where seconds % length == 0 {
            return "\(seconds / length)\(unit)"
        }
        return "\(seconds)s"
    }
}

extension PollInterval: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.seconds < right.seconds }
}
