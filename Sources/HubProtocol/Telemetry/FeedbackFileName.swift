import Formats
import FoundationEssentials

/// The name of a file in a feedback container: the day of its rows in UTC, as the service writes it, and its number if
/// the day has several.
///
/// `03172030` is the first file of 17 March 2030, `03172030-2` the second.
package struct FeedbackFileName: Sendable, Hashable, CustomStringConvertible {
    /// Days since 1970.
    package let day: Int64
    /// From 1 on.
    package let number: Int

    package init(day: Int64, number: Int) {
        self.day = day
        self.number = number
    }

    /// `nil` for a text that is not the name of such a file.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].utf8.count == 8, parts[0].isDigits, let digits = Int(parts[0]) else { return nil }
        let date = CivilTime(year: digits % 10_000, month: digits / 1_000_000, day: digits / 10_000 % 100).date
        guard let date else { return nil }
        let number = parts.count == 1 ? 1 : Int(parts[1]) ?? 0
        self.init(day: Int64(date.timeIntervalSince1970) / Int64(CivilTime.secondsPerDay), number: number)
        // One file has one name.
        guard number >= 1, description == text else { return nil }
    }

    package var description: String {
        let civil = CivilTime(start.date)
        let (month, day) = (CivilTime.padded(civil.month, 2), CivilTime.padded(civil.day, 2))
        return "\(month)\(day)\(CivilTime.padded(civil.year, 4))\(number == 1 ? "" : "-\(number)")"
    }

    /// The first instant of the day.
    package var start: Timestamp { Timestamp(milliseconds: day * Int64(CivilTime.secondsPerDay) * 1_000) }
    /// The first instant of the next day.
    package var end: Timestamp { start + .seconds(CivilTime.secondsPerDay) }
}
