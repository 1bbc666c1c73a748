import Foundation
import Testing

@testable import HubProtocol

@Suite struct TimestampTests {
    @Test(arguments: [
        ("the epoch", 0.0, 0), ("before 1970", -1.5, -1_500), ("rounded up", 1.0006, 1_001),
        ("rounded down", 1.0004, 1_000), ("the far future", 1e300, 100_000_000_000_000_000),
        ("the far past", -1e300, -100_000_000_000_000_000),
    ])
    func `a date becomes the nearest millisecond`(label: String, seconds: Double, milliseconds: Int64) {
        #expect(Timestamp(Date(timeIntervalSince1970: seconds)).milliseconds == milliseconds)
    }

    @Test func `a date that is not a number traps nothing`() {
        #expect(Timestamp(Date(timeIntervalSince1970: .nan)).milliseconds.magnitude <= 100_000_000_000_000_000)
    }

    @Test(arguments: [0, 1, -1, 1_593_712_990_772, 253_402_300_799_999] as [Int64])
    func `a time survives the way over a date`(milliseconds: Int64) {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(Timestamp(time.date) == time)
    }

    @Test(arguments: [(1_999, 1), (2_000, 2), (-1, -1), (-1_000, -1), (-1_001, -2)] as [(Int64, Int64)])
    func `seconds are rounded down`(milliseconds: Int64, seconds: Int64) {
        #expect(Timestamp(milliseconds: milliseconds).seconds == seconds)
    }

    @Test func `durations move a time, and two times have one between them`() {
        let time = Timestamp(milliseconds: 5_000)
        #expect(time + .milliseconds(1_500) == Timestamp(milliseconds: 6_500))
        #expect(time - .seconds(6) == Timestamp(milliseconds: -1_000))
        #expect((time + .seconds(2)) - time == .seconds(2))
        #expect(time < time.advanced(byMilliseconds: 1))
    }

    @Test func `a time beyond all that there are is the last or the first`() {
        #expect(Timestamp(milliseconds: .max - 1) + .seconds(1) == Timestamp(milliseconds: .max))
        #expect(Timestamp(milliseconds: .max - 1) + .seconds(Int64.max) == Timestamp(milliseconds: .max))
        #expect(Timestamp(milliseconds: 0) - .seconds(Int64.min) == Timestamp(milliseconds: .max))
        #expect(Timestamp.distantFuture - .distantPast == .milliseconds(Int64.max))
        #expect(Timestamp(milliseconds: .min + 1) - .seconds(1) == Timestamp(milliseconds: .min))
    }

    @Test func `JSON has the bare number`() throws {
        let times = [Timestamp(milliseconds: -3), Timestamp(milliseconds: 1_593_712_990_772)]
        let json = try JSONEncoder().encode(times)
        #expect(String(decoding: json, as: UTF8.self) == "[-3,1593712990772]")
        #expect(try JSONDecoder().decode([Timestamp].self, from: json) == times)
    }
}
