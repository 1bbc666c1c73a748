import Formats
import FoundationEssentials

/// The value of `ServiceBusNotification-Apns-Expiry`: the end of an apple notification's life.
///
/// Java adds it to every apple send, in twelve-hour time without AM or PM, so nothing may depend on it.
///
/// Source: protocol §5.1.
enum ApnsExpiry {
    /// Reads ISO date-times and `MM/dd/yyyy hh:mm:ss`, in UTC; `nil` for anything else.
    ///
    /// A past time with an hour from 1 to 11 is read as an afternoon time if that is still to come: a notification that
    /// lives too long does less harm than one that is never stored.
    static func date(_ text: String, now: Date) -> Date? {
        let text = String(text.trimmed)
        return ISODateTime.parse(text) ?? slashed(text, now: now)
    }

    /// A month without a leading zero, and `AM` or `PM`, are read as well.
    private static func slashed(_ text: String, now: Date) -> Date? {
        let words = text.split(separator: " ")
        guard words.count == 2 || words.count == 3 else { return nil }
        let (day, clock) = (numbers(words[0], "/"), numbers(words[1], ":"))
        guard day.count == 3, clock.count == 3 else { return nil }
        var civil = CivilTime(
            year: day[2],
            month: day[0],
            day: day[1],
            hour: clock[0],
            minute: clock[1],
            second: clock[2]
        )
        if words.count == 3 {
            guard (1...12).contains(clock[0]), let isAfternoon = half(words[2]) else { return nil }
            civil.hour = clock[0] % 12 + (isAfternoon ? 12 : 0)
            return civil.date
        }
        guard let written = civil.date else { return nil }
        guard written <= now, (1...11).contains(civil.hour) else { return written }
        let later = written.addingTimeInterval(12 * 3_600)
        return later > now ? later : written
    }

    private static func half(_ word: Substring) -> Bool? {
        switch word.lowercased() {
        case "am": false
        case "pm": true
        default: nil
        }
    }

    /// Returns the parts as numbers; empty if a part is not a short number.
    private static func numbers(_ word: Substring, _ separator: Character) -> [Int] {
        let parts = word.split(separator: separator, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            (1...4).contains(part.utf8.count) && part.isDigits ? Int(part) : nil
        }
        return numbers.count == parts.count ? numbers : []
    }
}
