import Formats
package import FoundationEssentials

/// Date-times of ISO 8601 in the forms of clients and of the service.
package enum ISODateTime {
    /// The service's text for "never": the last instant that .NET can name (protocol §4.2).
    package static let never = "9999-12-31T23:59:59.9999999Z"
    /// The first second, since 1970, that means "never": the service writes it with fewer digits in some places.
    private static let neverSeconds = 253_402_300_799.0

    package static func isNever(_ date: Date) -> Bool { date.timeIntervalSince1970 >= neverSeconds }

    /// Reads `yyyy-MM-dd['T'HH:mm[:ss[.fraction]][Z|±HH[:]mm]]`; `nil` for anything else.
    ///
    /// Without a zone it is UTC. Digits of the fraction beyond the seventh are dropped.
    ///
    /// Source: protocol §4.2 (device SDKs leave the seconds out), §5.5.
    package static func parse(_ text: String) -> Date? {
        var scanner = DigitScanner(text)
        guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2), scanner.skip("-"),
            let day = scanner.number(2)
        else { return nil }
        var civil = CivilTime(year: year, month: month, day: day)
        if scanner.isAtEnd { return civil.date }
        // One client copies the quotes of its own format pattern around the T (§5.5).
        let isQuoted = scanner.skip("'")
        guard scanner.skip("T") || scanner.skip("t") || scanner.skip(" "), !isQuoted || scanner.skip("'"),
            let hour = scanner.number(2), scanner.skip(":"), let minute = scanner.number(2)
        else { return nil }
        civil.hour = hour
        civil.minute = minute
        if scanner.skip(":") {
            guard let second = scanner.number(2) else { return nil }
            civil.second = second
            if scanner.skip(".") || scanner.skip(",") {
                guard let fraction = scanner.fraction() else { return nil }
                civil.fraction = fraction
            }
        }
        guard let offset = zoneOffset(&scanner), scanner.isAtEnd else { return nil }
        return civil.date?.addingTimeInterval(Double(-offset))
    }

    /// Returns `yyyy-MM-ddTHH:mm:ss[.fffffff]Z`.
    package static func format(_ date: Date) -> String {
        let civil = CivilTime(date)
        let fraction = civil.fraction == 0 ? "" : ".\(CivilTime.padded(civil.fraction, 7))"
        return "\(seconds(civil))\(fraction)Z"
    }

    /// Returns `yyyy-MM-ddTHH:mm:ssZ`, without the fraction of the second: the form of an entry's dates (protocol
    /// §3.3).
    package static func formatSeconds(_ date: Date) -> String { seconds(CivilTime(date)) + "Z" }

    /// Returns `yyyy-MM-dd`.
    package static func formatDay(_ date: Date) -> String { CivilTime(date).dayText }

    /// Returns `yyyy-MM-ddTHH:mm:ss.fffZ`: the Android SDK reads exactly three digits of an expiration time.
    ///
    /// The time is rounded, since a `Date` is rarely the exact millisecond.
    package static func formatMilliseconds(_ date: Date) -> String {
        let civil = CivilTime(date.addingTimeInterval(0.0005))
        return "\(seconds(civil)).\(CivilTime.padded(civil.fraction / 10_000, 3))Z"
    }

    private static func seconds(_ civil: CivilTime) -> String { "\(civil.dayText)T\(civil.clockText)" }

    /// Returns `M/d/yyyy h:mm:ss AM|PM`, the service's own form in errors (protocol §2).
    static func formatUS(_ date: Date) -> String {
        let civil = CivilTime(date)
        let hour = civil.hour % 12 == 0 ? 12 : civil.hour % 12
        let half = civil.hour < 12 ? "AM" : "PM"
        return "\(civil.month)/\(civil.day)/\(civil.year) \(hour)\(civil.clockText.dropFirst(2)) \(half)"
    }

    /// Reads a zone, in seconds east of UTC.
    private static func zoneOffset(_ scanner: inout DigitScanner) -> Int? {
        if scanner.isAtEnd || scanner.skip("Z") || scanner.skip("z") { return 0 }
        let sign: Int
        if scanner.skip("+") {
            sign = 1
        } else if scanner.skip("-") {
            sign = -1
        } else {
            return nil
        }
        guard let hours = scanner.number(2), hours <= 23 else { return nil }
        if scanner.isAtEnd { return sign * hours * 3_600 }
        _ = scanner.skip(":")
        guard let minutes = scanner.number(2), minutes <= 59 else { return nil }
        return sign * (hours * 3_600 + minutes * 60)
    }
}

/// Reads fixed runs of digits from a short text.
private struct DigitScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard let first = rest.first, UInt32(first) == scalar.value else { return false }
        rest = rest.dropFirst()
        return true
    }

    mutating func number(_ width: Int) -> Int? {
        let digits = rest.prefix(width)
        guard digits.count == width, let value = Self.value(digits) else { return nil }
        rest = rest.dropFirst(width)
        return value
    }

    /// Reads one or more digits after a decimal point, in units of 100 ns.
    mutating func fraction() -> Int? {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        let kept = digits.prefix(7)
        guard var value = Self.value(kept) else { return nil }
        for _ in kept.count..<7 { value *= 10 }
        return value
    }

    private static func value(_ digits: Substring.UTF8View) -> Int? {
        var value = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 0x30)
        }
        return value
    }
}
