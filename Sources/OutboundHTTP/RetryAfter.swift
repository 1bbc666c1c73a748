extension OutboundHeaders {
    /// Returns the wait that the server asks for, in seconds or as an HTTP date.
    ///
    /// - Parameter now: Seconds since 1970. A date in the past asks for no wait.
    /// - Returns: `nil` if there is no `Retry-After`, or if it cannot be read.
    ///
    /// Source: RFC 9110 §10.2.3.
    package func retryAfter(now: Int64) -> Duration? {
        guard let value = first("Retry-After") else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return .seconds(min(Int64(value) ?? Self.longestWait, Self.longestWait))
        }
        guard let date = HTTPDate.seconds(value) else { return nil }
        return .seconds(min(max(0, date - now), Self.longestWait))
    }

    /// Seconds in ten years: longer than any real wait, and no clock overflows.
    private static let longestWait: Int64 = 315_360_000
}

/// Dates in HTTP headers.
package enum HTTPDate {
    /// Reads the three forms of RFC 9110 §5.6.7; all are in GMT.
    ///
    /// - Returns: Seconds since 1970.
    package static func seconds(_ text: String) -> Int64? {
        var day: Int64?
        var month: Int64?
        var year: Int64?
        var time: Int64?
        for token in text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }) {
            if token.contains(":") {
                time = clock(token)
            } else if let number = Int64(token) {
                if day == nil { day = number } else { year = fullYear(number, digits: token.count) }
            } else if let index = months.firstIndex(of: token.prefix(3).lowercased()), month == nil, token.count == 3 {
                month = Int64(index) + 1
            }
        }
        guard let day, let month, let year, let time, (1...31).contains(day), (1970...9999).contains(year) else {
            return nil
        }
        return days(year, month, day) * 86_400 + time
    }

    private static func clock(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).compactMap { Int64($0) }
        guard parts.count == 3, (0...23).contains(parts[0]), (0...59).contains(parts[1]), (0...60).contains(parts[2])
        else { return nil }
        return parts[0] * 3_600 + parts[1] * 60 + parts[2]
    }

    private static func fullYear(_ number: Int64, digits: Int) -> Int64 {
        guard digits == 2 else { return number }
        return number < 70 ? 2000 + number : 1900 + number
    }

    /// Days from 1970-01-01 in the proleptic Gregorian calendar, counted in years that begin in March.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let era = marchYear / 400
        let yearOfEra = marchYear % 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
}
