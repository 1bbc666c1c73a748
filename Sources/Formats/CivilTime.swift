package import FoundationEssentials

/// A point in time in calendar form, in UTC and the proleptic Gregorian calendar.
///
/// It uses arithmetic instead of a formatter, so that no locale and no time zone data can change what is transmitted.
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
package struct CivilTime: Equatable {
    package var year: Int
    package var month: Int
    package var day: Int
    package var hour: Int
    package var minute: Int
    package var second: Int
    /// In units of 100 ns, 0 ..< 10,000,000: the precision that .NET writes.
    package var fraction: Int

    package static let secondsPerDay = 86_400
    private static let unitsPerSecond = 10_000_000
    /// The first second of year 1 and of year 10000, in seconds since 1970.
    private static let range = -62_135_596_800..<253_402_300_800

    package init(
        year: Int,
        month: Int,
        day: Int,
        hour: Int = 0,
        minute: Int = 0,
        second: Int = 0,
        fraction: Int = 0
    ) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
        self.fraction = fraction
    }

    /// Dates outside the years 1 to 9999 are moved to the nearest second within; an invalid date becomes 1970.
    package init(_ date: Date) {
        let given = date.timeIntervalSince1970
        let instant =
            given.isNaN ? 0 : min(max(given, Double(Self.range.lowerBound)), Double(Self.range.upperBound - 1))
        let floor = instant.rounded(.down)
        fraction = min(Int((instant - floor) * Double(Self.unitsPerSecond)), Self.unitsPerSecond - 1)
        let seconds = Int(floor) - Self.range.lowerBound
        let days = seconds / Self.secondsPerDay
        let rest = seconds % Self.secondsPerDay
        (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60)

        // Day 0 is 0000-03-01 here.
        let shifted = days + 306
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The date; `nil` for a day that does not exist.
    ///
    /// A leap second counts as the next second.
    package var date: Date? {
        guard (1...9_999).contains(year), (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let seconds = Self.days(year, month, day) * Self.secondsPerDay + hour * 3_600 + minute * 60 + second
        return Date(timeIntervalSince1970: Double(seconds) + Double(fraction) / Double(Self.unitsPerSecond))
    }

    /// Days from 1970-01-01 to a day of year 1 or later; a day after the end of its month counts on in the next month.
    package static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Years begin in March, so that the leap day is the last one.
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }

    package static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The weekday of a day since 1970-01-01, which was a Thursday; 0 for Monday.
    package static func weekday(_ days: Int) -> Int { ((days + 3) % 7 + 7) % 7 }

    /// `yyyy-MM-dd`.
    package var dayText: String { "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))" }

    /// `HH:mm:ss`.
    package var clockText: String { "\(Self.padded(hour, 2)):\(Self.padded(minute, 2)):\(Self.padded(second, 2))" }

    /// Returns `value` with leading zeros.
    package static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
