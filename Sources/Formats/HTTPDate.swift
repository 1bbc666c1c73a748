package import FoundationEssentials

/// Dates in HTTP headers (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns `Sun, 17 Mar 2030 17:46:40 GMT`.
    package static func text(_ date: Date) -> String {
        let civil = CivilTime(date)
        let weekday = weekdays[CivilTime.weekday(CivilTime.days(civil.year, civil.month, civil.day))]
        let day = "\(CivilTime.padded(civil.day, 2)) \(months[civil.month - 1]) \(CivilTime.padded(civil.year, 4))"
        return "\(weekday), \(day) \(civil.clockText) GMT"
    }

    /// Reads the three forms of RFC 9110; all are in GMT.
    ///
    /// A day after the end of its month counts on in the next month.
    ///
    /// - Returns: Seconds since 1970; `nil` if the text is not a date of the years 1970 to 9999.
    package static func seconds(_ text: String) -> Int64? {
        var day: Int?
        var month: Int?
        var year: Int?
        var time: Int?
        for token in text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }) {
            if token.contains(":") {
                time = clock(token)
            } else if let number = Int(token) {
                if day == nil { day = number } else { year = fullYear(number, digits: token.count) }
            } else if month == nil {
                month = months.firstIndex { $0.lowercased() == token.lowercased() }.map { $0 + 1 }
            }
        }
        guard let day, let month, let year, let time, (1...31).contains(day), (1970...9999).contains(year) else {
            return nil
        }
        return Int64(CivilTime.days(year, month, day) * CivilTime.secondsPerDay + time)
    }

    private static func clock(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).compactMap { Int($0) }
        guard parts.count == 3, (0...23).contains(parts[0]), (0...59).contains(parts[1]), (0...60).contains(parts[2])
        else { return nil }
        return parts[0] * 3_600 + parts[1] * 60 + parts[2]
    }

    private static func fullYear(_ number: Int, digits: Int) -> Int {
        guard digits == 2 else { return number }
        return number < 70 ? 2000 + number : 1900 + number
    }
}
