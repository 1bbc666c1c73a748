import Formats
import Foundation
import Testing

struct CivilTimeTests {
    private static let calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    /// Days since 1970 from the last change of Foundation's calendar, of 1582, to the end of year 9999.
    private static let days = -141_427...2_932_896

    @Test func `days have the dates and weekdays of Foundation's calendar`() throws {
        var generator = SystemRandomNumberGenerator()
        let known = [Self.days.lowerBound, -1, 0, 10_956, 11_016, 11_017, 47_540, Self.days.upperBound]
        for day in known + (0..<2_000).map({ _ in Int.random(in: Self.days, using: &generator) }) {
            let second = Int.random(in: 0..<86_400, using: &generator)
            let date = Date(timeIntervalSince1970: Double(day * 86_400 + second))
            let civil = CivilTime(date)
            let expected = Self.calendar.dateComponents(
                [.year, .month, .day, .hour, .minute, .second, .weekday],
                from: date
            )
            #expect(civil.year == expected.year && civil.month == expected.month && civil.day == expected.day)
            #expect(civil.hour == expected.hour && civil.minute == expected.minute && civil.second == expected.second)
            #expect(civil.date == date)
            #expect(CivilTime.days(civil.year, civil.month, civil.day) == day)
            #expect(expected.weekday.map { ($0 + 5) % 7 } == CivilTime.weekday(day))
            #expect("\(civil.dayText)T\(civil.clockText)Z" == date.formatted(.iso8601))
        }
    }

    @Test(arguments: [
        (2023, 2, 28), (2024, 2, 29), (1900, 2, 28), (2000, 2, 29), (2023, 4, 30), (2023, 12, 31), (1, 1, 31),
    ])
    func `a month has its days`(year: Int, month: Int, length: Int) {
        #expect(CivilTime.days(in: month, of: year) == length)
        #expect(CivilTime(year: year, month: month, day: length).date != nil)
        #expect(CivilTime(year: year, month: month, day: length + 1).date == nil)
        let next = month == 12 ? CivilTime.days(year + 1, 1, 1) : CivilTime.days(year, month + 1, 1)
        #expect(CivilTime.days(year, month, length + 1) == next)
    }

    @Test func `a date in a header is read as it was written`() {
        #expect(HTTPDate.text(Date(timeIntervalSince1970: 1_900_000_000)) == "Sun, 17 Mar 2030 17:46:40 GMT")
        for _ in 0..<500 {
            let seconds = Int64.random(in: 0..<253_402_300_800)
            #expect(HTTPDate.seconds(HTTPDate.text(Date(timeIntervalSince1970: Double(seconds)))) == seconds)
        }
    }
}
