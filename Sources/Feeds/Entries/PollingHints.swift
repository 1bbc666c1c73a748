internal import Markup

/// The publisher's hints on when to poll its feed, other than `ttl`.
///
/// Source: RSS 2.0 (`skipHours`, `skipDays`); RSS 1.0 Modules: Syndication (`sy:`).
package struct PollingHints: Sendable, Equatable {
    /// Minutes between updates: `sy:updatePeriod` divided by `sy:updateFrequency`.
    package var updateMinutes: Int?
    /// Hours of the day, GMT, 0 to 23, in which the feed should not be polled.
    package var skipHours: Set<Int> = []
    /// Days of the week, GMT, from 0 for Sunday, on which the feed should not be polled.
    package var skipDays: Set<Int> = []

    package init(updateMinutes: Int? = nil, skipHours: Set<Int> = [], skipDays: Set<Int> = []) {
        self.updateMinutes = updateMinutes
        self.skipHours = skipHours
        self.skipDays = skipDays
    }

    /// Reads the hints of an RSS channel; values that cannot be parsed are ignored.
    init(channel: XMLElement) {
        updateMinutes = Self.updateMinutes(
            period: FeedText.trimmed(channel.first("sy:updateperiod")?.text),
            frequency: FeedText.trimmed(channel.first("sy:updatefrequency")?.text)
        )
        for hour in channel.first("skiphours")?.all("hour") ?? [] {
            // 24 means 0 in feeds before RSS 2.0.
            guard let number = FeedText.trimmed(hour.text).flatMap({ Int($0) }), 0...24 ~= number else { continue }
            skipHours.insert(number % 24)
        }
        for day in channel.first("skipdays")?.all("day") ?? [] {
            guard let name = FeedText.trimmed(day.text)?.lowercased(), let number = Self.days.firstIndex(of: name)
            else { continue }
            skipDays.insert(number)
        }
    }

    private static let days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
    private static let periods = ["hourly": 60, "daily": 1_440, "weekly": 10_080, "monthly": 43_200, "yearly": 525_600]

    /// The interval, with the module's defaults: a period of one day and a frequency of one.
    private static func updateMinutes(period: String?, frequency: String?) -> Int? {
        guard period != nil || frequency != nil, let length = periods[(period ?? "daily").lowercased()]
        else { return nil }
        guard let frequency else { return length }
        guard let times = Int(frequency), times > 0 else { return nil }
        return max(1, length / times)
    }
}
