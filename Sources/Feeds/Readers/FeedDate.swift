internal import Formats
// Only Foundation, not FoundationEssentials, has the zone database on Linux.
internal import Foundation

/// Reads the dates of feeds: RFC 3339 and W3CDTF, RFC 822, and other forms that publishers use.
///
/// It scans bytes, because general formatters depend on the locale, differ between platforms and are slow.
enum FeedDate {
    /// The longest text that is read, in bytes.
    private static let maximumBytes = 128
    /// The years of valid dates; generators write 1970, 1900 or year 1 for "no date".
    private static let years = 1971...9999

    /// The date; `nil` when the text cannot be read as one, in which case the entry is kept.
    static func parse(_ text: String) -> Date? { parse(Array(text.utf8)[...]) }

    static func parse(_ text: ArraySlice<UInt8>) -> Date? {
        var scanner = DateScanner(DateNames.plain(text.drop { $0 <= 0x20 }.prefix(maximumBytes)))
        scanner.scan()
        if let seconds = scanner.unixSeconds {
            return Date(timeIntervalSince1970: Double(seconds))
        }
        guard let days = scanner.week.flatMap(days(ofWeek:)) ?? scanner.date.flatMap(days(ofDate:)) else { return nil }
        let time = scanner.time
        guard 0...24 ~= time.hour, 0...59 ~= time.minute else { return nil }
        let local = days * 86_400 + time.hour * 3_600 + time.minute * 60 + min(time.second, 59)
        if let offset = scanner.zoneName.flatMap({ offset(of: $0, at: local) }) {
            return Date(timeIntervalSince1970: Double(local - offset))
        }
        let seconds = local - scanner.offset - (scanner.isAmerican ? summerTime(at: local, scanner.date?.year) : 0)
        return Date(timeIntervalSince1970: Double(seconds))
    }

    /// Days since 1970-01-01; a day after the end of its month counts as the last day of the month.
    private static func days(ofDate date: (year: Int, month: Int, day: Int)) -> Int? {
        guard years.contains(date.year), 1...12 ~= date.month, 1...31 ~= date.day else { return nil }
        return CivilTime.days(date.year, date.month, min(date.day, CivilTime.days(in: date.month, of: date.year)))
    }

    /// Days since 1970-01-01 of a day in an ISO week; week 1 contains the year's first Thursday (ISO 8601 §3.1.1.23).
    private static func days(ofWeek week: (year: Int, week: Int, day: Int)) -> Int? {
        guard years.contains(week.year), 1...53 ~= week.week, 1...7 ~= week.day else { return nil }
        let fourth = CivilTime.days(week.year, 1, 4)
        let monday = fourth - CivilTime.weekday(fourth) + (week.week - 1) * 7
        return monday + 3 < CivilTime.days(week.year + 1, 1, 1) ? monday + week.day - 1 : nil
    }

    /// The offset of a zone of the IANA database at a local time, in seconds; `nil` for an unknown name.
    private static func offset(of zone: String, at local: Int) -> Int? {
        guard let zone = TimeZone(identifier: zone) else { return nil }
        // The offset of the zone's standard time or one near it finds the hour of most local times.
        let near = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(local)))
        return zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(local - near)))
    }

    /// The offset of United States summer time from standard time, in seconds.
    ///
    /// It applies from the second Sunday of March to the first Sunday of November, at two o'clock (United States Code,
    /// title 15, section 260a).
    private static func summerTime(at local: Int, _ year: Int?) -> Int {
        guard let year else { return 0 }
        func sunday(from first: Int) -> Int { (first + 6 - CivilTime.weekday(first)) * 86_400 + 2 * 3_600 }
        let start = sunday(from: CivilTime.days(year, 3, 8))
        return start..<sunday(from: CivilTime.days(year, 11, 1)) ~= local ? 3_600 : 0
    }
}
