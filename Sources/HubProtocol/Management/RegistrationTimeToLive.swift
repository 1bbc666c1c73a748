import Formats

/// The time that a hub keeps a registration after its last write; most hubs keep them forever.
///
/// Sent as an ISO 8601 duration, counted in units of 100 ns as .NET does. Source: protocol §3.2, §8.
package struct RegistrationTimeToLive: Sendable, Hashable {
    /// The longest duration that .NET can represent, which it treats as unlimited: `P10675199DT2H48M5.4775807S`.
    package static let unlimited = RegistrationTimeToLive(units: .max)
    /// The shortest that clients send: one day.
    package static let minimum = RegistrationTimeToLive(units: 86_400 * unitsPerSecond)

    /// In units of 100 ns.
    package let units: Int64

    private static let unitsPerSecond: Int64 = 10_000_000

    package init(units: Int64) { self.units = units }

    /// `nil` for no end.
    package var duration: Duration? {
        guard self != .unlimited else { return nil }
        let (seconds, rest) = units.quotientAndRemainder(dividingBy: Self.unitsPerSecond)
        return .seconds(seconds) + .nanoseconds(rest * 100)
    }

    /// Drops fractions of a second.
    package init(_ duration: Duration) {
        let (units, overflow) = duration.components.seconds.multipliedReportingOverflow(by: Self.unitsPerSecond)
        self.init(units: overflow ? .max : units)
    }

    /// Reads `P90D`, `P1DT2H3M4.5S`; years count as 365 days and months as 30, as in .NET.
    ///
    /// A longer time than ``unlimited`` becomes ``unlimited``.
    ///
    /// - Throws: ``ProtocolError`` 400 for text that is not a duration, and for a time shorter than ``minimum``.
    package init(parsing text: String) throws(ProtocolError) {
        guard let units = Self.units(in: text) else {
            throw .badRequest("RegistrationTtl '\(text.excerpt)' is not a duration such as P90D.")
        }
        self.init(units: units)
        guard units >= Self.minimum.units else {
            throw .badRequest("RegistrationTtl '\(text.excerpt)' is shorter than a day.")
        }
    }

    /// `P90D`, `P1DT2H`, `PT0S`.
    package var text: String {
        let day = 86_400 * Self.unitsPerSecond
        let (hour, minute) = (3_600 * Self.unitsPerSecond, 60 * Self.unitsPerSecond)
        var time = ""
        if units % day / hour > 0 { time += "\(units % day / hour)H" }
        if units % hour / minute > 0 { time += "\(units % hour / minute)M" }
        let seconds = units % minute
        if seconds > 0 {
            var fraction = CivilTime.padded(Int(seconds % Self.unitsPerSecond), 7)
            while fraction.last == "0" { fraction.removeLast() }
            time += "\(seconds / Self.unitsPerSecond)\(fraction.isEmpty ? "" : ".\(fraction)")S"
        }
        let days = units / day > 0 ? "\(units / day)D" : ""
        return days.isEmpty && time.isEmpty ? "PT0S" : "P\(days)\(time.isEmpty ? "" : "T\(time)")"
    }

    /// The designators of a date and of a time with their seconds, in their order.
    private static let dateParts: [(name: Character, seconds: Int64)] = [
        ("Y", 365 * 86_400), ("M", 30 * 86_400), ("D", 86_400),
    ]
    private static let timeParts: [(name: Character, seconds: Int64)] = [("H", 3_600), ("M", 60), ("S", 1)]
    /// Maximum number of digits, without the fraction: a longer number is not a real duration.
    private static let maximumDigits = 12

    private static func units(in text: String) -> Int64? {
        let halves = text.split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
        guard let date = halves.first, date.first == "P", halves.count == 1 || !halves[1].isEmpty,
            let days = sum(date.dropFirst(), dateParts),
            let time = sum(halves.count == 2 ? halves[1] : "", timeParts), text.count > 1
        else { return nil }
        let (units, overflow) = days.addingReportingOverflow(time)
        return overflow ? .max : units
    }

    private static func sum(_ text: Substring, _ parts: [(name: Character, seconds: Int64)]) -> Int64? {
        var (rest, parts, sum) = (text, parts[...], Int64(0))
        while !rest.isEmpty {
            let number = rest.prefix { $0.isASCIIDigit || $0 == "." }
            rest = rest.dropFirst(number.count)
            guard let name = rest.popFirst(), let index = parts.firstIndex(where: { $0.name == name }),
                let units = units(of: number, seconds: parts[index].seconds, mayBeFraction: name == "S")
            else { return nil }
            parts = parts[(index + 1)...]
            let (total, overflow) = sum.addingReportingOverflow(units)
            sum = overflow ? .max : total
        }
        return sum
    }

    private static func units(of number: Substring, seconds: Int64, mayBeFraction: Bool) -> Int64? {
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...(mayBeFraction ? 2 : 1)).contains(parts.count), parts.allSatisfy({ !$0.isEmpty }),
            parts[0].utf8.count <= maximumDigits, let whole = Int64(parts[0]),
            let fraction = parts.count == 2 ? Int64(String((parts[1] + "0000000").prefix(7))) : 0
        else { return nil }
        let (units, overflow) = whole.multipliedReportingOverflow(by: seconds * unitsPerSecond)
        guard !overflow else { return .max }
        let (total, carries) = units.addingReportingOverflow(fraction)
        return carries ? .max : total
    }
}
