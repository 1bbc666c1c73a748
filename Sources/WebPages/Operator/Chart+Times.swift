package import HubProtocol

extension Chart {
    /// The values of a picture of times, each with its name.
    private static let quantiles = [("p50", 0.5), ("p99", 0.99)]

    /// Draws the median of each hour's times, and the time that one in a hundred exceeds, by the rank of their sizes: as on a
    /// logarithmic scale.
    package init(_ title: String, from start: Timestamp, times: [TimeHistogram], _ words: ReportWords) {
        let values = times.map { hour in Self.quantiles.map { hour.quantile($1) ?? 0 } }
        let all = times.reduce(TimeHistogram(), +)
        let shares = Self.quantiles.compactMap { name, share in
            all.quantile(share).map { "\(name) under \(words.span(milliseconds: $0))" }
        }
        let ranks = values.map { $0.map { $0 == 0 ? 0 : TimeHistogram.rank(milliseconds: $0) } }
        let top = Double(max(1, ranks.joined().max() ?? 1))
        self.init(
            title,
            summary: shares.joined(separator: ", "),
            from: start,
            keys: Self.quantiles.map { $0.0 },
            // The bars are drawn one above the other.
            hours: ranks.map { hour in
                zip(hour, [0] + hour).map { Double($0 - $1) / top }
            },
            labels: values.map { $0.map { words.span(milliseconds: $0) } },
            isEmpty: all.isEmpty
        )
    }
}
