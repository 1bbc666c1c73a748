import Formats
package import HubProtocol
import Mustache

/// Numbers over time as stacked bars, with the same numbers in a table.
package struct Chart: Sendable {
    /// The height and the width of the drawing, without its labels.
    private static let height = 100
    private static let width = 720
    private static let labelWidth = 80
    /// The largest number of series that have colours of their own; others are added up.
    private static let maximumSeries = 5

    struct Bar: Sendable {
        let x: Int
        let y: Int
        let width: Int
        let height: Int
        /// The number of the series, from 1.
        let series: Int
        /// Time, name and value.
        let label: String
    }

    /// The values as a table, newest first.
    struct Numbers: Sendable {
        let caption: String
        let headers: [String]
        /// The texts of each row's cells.
        let rows: [[String]]
    }

    struct Key: Sendable {
        let series: Int
        let name: String
    }

    struct Day: Sendable {
        let x: Int
        let label: String
        /// True if there is no room for the label after the line.
        let isLate: Bool
    }

    let title: String
    let summary: String
    let bars: [Bar]
    let days: [Day]
    let keys: [Key]
    /// True if colours must be explained.
    let hasKeys: Bool
    let table: Numbers
    /// True if there is nothing to draw.
    package let isEmpty: Bool

    /// Draws the values of each hour.
    ///
    /// - Parameters:
    ///   - title: What is counted.
    ///   - start: The beginning of the first hour.
    ///   - hours: The values by series, of each hour.
    ///   - isSum: True for events, of which the summary has the sum; false for a state, of which it has the last value.
    package init(_ title: String, from start: Timestamp, hours: [[String: Int]], isSum: Bool) {
        var totals: [String: Int] = [:]
        for hour in hours { totals.merge(hour.filter { $0.value > 0 }, uniquingKeysWith: +) }
        let names = totals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
        let own = names.count > Self.maximumSeries ? Array(names.prefix(Self.maximumSeries - 1)) : names
        let others = Set(names.dropFirst(own.count))
        func values(_ hour: [String: Int]) -> [Int] {
            let values = own.map { hour[$0] ?? 0 }
            return others.isEmpty ? values : values + [hour.reduce(0) { others.contains($1.key) ? $0 + $1.value : $0 }]
        }
        let labels = own + (others.isEmpty ? [] : ["others"])
        let rows = hours.map(values)
        let sums = rows.map { $0.reduce(0, +) }
        let highest = sums.max() ?? 0
        let summary =
            isSum
            ? "\(sums.reduce(0, +).grouped) in all, at most \(highest.grouped) in an hour"
            : "\((sums.last ?? 0).grouped) now, at most \(highest.grouped)"
        let top = Double(max(highest, 1))
        self.init(
            title,
            summary: summary,
            from: start,
            keys: labels,
            hours: rows.map { $0.map { Double(max(0, $0)) / top } },
            labels: rows.map { $0.map { "\($0)" } },
            isEmpty: names.isEmpty
        )
    }

    /// Draws bars.
    ///
    /// - Parameters:
    ///   - title: What is drawn.
    ///   - summary: One line about all values.
    ///   - start: The beginning of the first hour.
    ///   - keys: The names of the series.
    ///   - hours: The heights of each hour's bars, one above the other, as parts of the drawing's height.
    ///   - labels: The values of each hour as text.
    ///   - isEmpty: True if there is nothing to draw.
    init(
        _ title: String,
        summary: String,
        from start: Timestamp,
        keys: [String],
        hours: [[Double]],
        labels: [[String]],
        isEmpty: Bool
    ) {
        (self.title, self.summary, self.isEmpty) = (title, summary, isEmpty)
        self.keys = keys.enumerated().map { Key(series: $0 + 1, name: $1) }
        hasKeys = keys.count > 1
        var (bars, days): ([Bar], [Day]) = ([], [])
        var cells: [[String]] = []
        for (index, row) in hours.enumerated() {
            let at = Timestamp(milliseconds: start.milliseconds + Int64(index) * 3_600_000)
            let time = at.wholeSecond
            let (left, right) = (index * Self.width / hours.count, (index + 1) * Self.width / hours.count)
            if time.dropFirst(11).hasPrefix("00") {
                days.append(Day(x: left, label: String(time.prefix(10)), isLate: left > Self.width - Self.labelWidth))
            }
            let hour = "\(time.prefix(10)) \(time.dropFirst(11).prefix(5)) UTC"
            var sum = 0.0
            for (series, value) in row.enumerated() where value > 0 {
                let low = Int(sum * Double(Self.height))
                sum += value
                let high = Int((sum * Double(Self.height)).rounded())
                // A small number is still seen.
                let height = max(high - low, 1)
                bars.append(
                    Bar(
                        x: left,
                        y: Self.height - max(high, low + 1),
                        width: max(right - left - 1, 1),
                        height: height,
                        series: series + 1,
                        label: "\(hour): \(keys.count > 1 ? "\(keys[series]) " : "")\(labels[index][series])"
                    )
                )
            }
            if sum > 0 { cells.append([hour] + labels[index]) }
        }
        (self.bars, self.days) = (bars, days)
        table = Numbers(caption: title, headers: ["Hour"] + keys, rows: cells.reversed())
    }
}

// A chart has hundreds of them: reflection would take most of a page's time.
extension Chart.Bar: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "x": x
        case "y": y
        case "width": width
        case "height": height
        case "series": series
        case "label": label
        default: nil
        }
    }
}

extension Int {
    /// The number with commas between groups of three digits.
    var grouped: String {
        var digits = Array("\(magnitude)")
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return (self < 0 ? "-" : "") + String(digits)
    }
}
