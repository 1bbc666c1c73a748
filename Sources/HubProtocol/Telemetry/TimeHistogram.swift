/// Counts of times by size, which add up over minutes and nodes.
package struct TimeHistogram: Sendable, Equatable {
    /// The upper limits of the sizes in milliseconds; longer times are counted in one more.
    package static let limits = (0..<6).flatMap { power in [1, 2, 3, 5, 7].map { $0 * Self.powersOfTen[power] } }
    private static let powersOfTen = [1, 10, 100, 1_000, 10_000, 100_000]
    /// The value for all longer times, in milliseconds.
    private static let longest = 1_000_000

    /// The number of times of each size that occurred, by its position in ``limits``.
    private var counts: [Int: Int] = [:]

    package init() {}

    package var isEmpty: Bool { counts.isEmpty }
    package var count: Int { counts.values.saturatingSum() }

    package mutating func add(_ time: Duration) {
        counts[Self.rank(milliseconds: Int(clamping: time.milliseconds)), default: 0] += 1
    }

    /// The number of limits up to a time, by which it is counted, and by which a picture shows it.
    package static func rank(milliseconds: Int) -> Int { limits.firstIndex { milliseconds < $0 } ?? limits.count }

    package static func + (one: TimeHistogram, other: TimeHistogram) -> TimeHistogram {
        var sum = one
        sum.counts.merge(other.counts) { $0.saturatingAdd($1) }
        return sum
    }

    /// The number of milliseconds below which a share of all times is, rounded up to one of ``limits``; `nil` without
    /// times.
    package func quantile(_ share: Double) -> Int? {
        guard !isEmpty else { return nil }
        let wanted = max(1, Int((Double(count) * share).rounded(.up)))
        var found = 0
        for (size, number) in counts.sorted(by: { $0.key < $1.key }) {
            found = found.saturatingAdd(number)
            if found >= wanted { return Self.limits.indices.contains(size) ? Self.limits[size] : Self.longest }
        }
        return nil
    }
}

extension TimeHistogram: Codable {
    package init(from decoder: any Decoder) throws {
        counts = try decoder.singleValueContainer().decode([Int: Int].self).filter { $0.key >= 0 && $0.value > 0 }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(counts)
    }
}
