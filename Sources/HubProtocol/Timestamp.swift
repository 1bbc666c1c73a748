package import FoundationEssentials

/// A point in time in whole milliseconds since 1970, the form of files, columns and literals.
package struct Timestamp: StoredNumber {
    package static let distantPast = Timestamp(milliseconds: .min)
    package static let distantFuture = Timestamp(milliseconds: .max)

    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package var rawValue: Int64 { milliseconds }

    package init(rawValue milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The nearest millisecond, within three million years of 1970.
    package init(_ date: Date) {
        milliseconds = Int64(max(-1e17, min(1e17, (date.timeIntervalSince1970 * 1_000).rounded())))
    }

    package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

    /// Whole seconds since 1970, rounded down.
    package var seconds: Int64 {
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// The time that is later by `difference`, or the last or first time if there is none.
    package func advanced(byMilliseconds difference: Int64) -> Timestamp {
        Timestamp(milliseconds: milliseconds.saturatingAdd(difference))
    }

    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        time.advanced(byMilliseconds: duration.milliseconds)
    }

    package static func - (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds.saturatingSubtract(duration.milliseconds))
    }

    /// The time from `other` until `one`; negative if `other` is the later.
    package static func - (one: Timestamp, other: Timestamp) -> Duration {
        .milliseconds(one.milliseconds.saturatingSubtract(other.milliseconds))
    }

    /// ISO 8601 in whole seconds, rounded down.
    package var wholeSecond: String { ISODateTime.formatSeconds(date) }
}

extension Duration {
    /// Whole milliseconds, or the largest or smallest value for a duration outside its range.
    package var milliseconds: Int64 {
        components.seconds.saturatingMultiply(by: 1_000)
            .saturatingAdd(components.attoseconds / 1_000_000_000_000_000)
    }
}
