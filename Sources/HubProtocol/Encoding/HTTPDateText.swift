/// Dates in HTTP's form: `Sun, 17 Mar 2030 17:46:40 GMT` (RFC 9110 §5.6.7).
package enum HTTPDateText {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    package static func format(_ time: Timestamp) -> String {
        let civil = CivilTime(time.date)
        // The first of January 1970 was a Thursday.
        let days = (time.seconds - time.seconds % 86_400) / 86_400
        let weekday = weekdays[Int(((days + 4) % 7 + 7) % 7)]
        let day = CivilTime.padded(civil.day, 2)
        let clock = [civil.hour, civil.minute, civil.second].map { CivilTime.padded($0, 2) }.joined(separator: ":")
        return "\(weekday), \(day) \(months[civil.month - 1]) \(CivilTime.padded(civil.year, 4)) \(clock) GMT"
    }
}
