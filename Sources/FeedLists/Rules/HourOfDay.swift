package import FoundationEssentials

/// A time of day in local time.
package struct HourOfDay: Sendable, Hashable {
    private static let hours = 0..<24
    private static let minutes = 0..<60

    let hour: Int
    let minute: Int

    /// Parses `7:00` or `07:00`; `nil` for other text.
    init?(parsing text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
            parts.allSatisfy({ $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]),
            Self.hours.contains(hour), Self.minutes.contains(minute)
        else { return nil }
        self.hour = hour
        self.minute = minute
    }

    /// Today's occurrence of this time; `nil` when it has passed.
    ///
    /// A time that the change to summer time skips is moved to the change; of a time that occurs twice, the first
    /// counts.
    package func release(after now: Date, in zone: TimeZone) -> Date? {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let midnight = calendar.startOfDay(for: now)
        guard hour != 0 || minute != 0 else { return nil }
        let time = calendar.nextDate(
            after: midnight,
            matching: DateComponents(hour: hour, minute: minute),
            matchingPolicy: .nextTime,
            repeatedTimePolicy: .first
        )
        guard let time, time > now, calendar.isDate(time, inSameDayAs: now) else { return nil }
        return time
    }
}
