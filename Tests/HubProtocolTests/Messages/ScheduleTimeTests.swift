import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct ScheduleTimeTests {
    /// 2030-01-01 00:00 UTC.
    static let now = Date(timeIntervalSince1970: 1_893_456_000)

    @Test(arguments: [
        (".NET, Java and Go-d, without a zone", "2030-01-02T03:04:05"), ("JS", "2030-01-02T03:04:05.000Z"),
        ("Go-m, with a zone", "2030-01-02T05:04:05+02:00"), ("Go-m, in UTC", "2030-01-02T03:04:05Z"),
        ("Python, with the quotes of its format", "2030-01-02'T'03:04:05"), ("blanks", " 2030-01-02T03:04:05Z "),
    ])
    func `every client's spelling is the same instant`(client: String, header: String) throws {
        let time = try ScheduleTime(parsing: header)
        #expect(time.date == Date(timeIntervalSince1970: 1_893_553_445), "\(client)")
        try time.check(now: Self.now)
    }

    @Test(arguments: [nil, "", " ", "tomorrow", "2030-13-01T00:00:00", "1893553445", "2030-01-02T03:04:05Zulu"])
    func `an invalid time is refused, saying what to send`(header: String?) {
        #expect {
            try ScheduleTime(parsing: header)
        } throws: { error in
            let refusal = error as? ProtocolError
            return refusal?.status == 400 && refusal?.detail.contains("2030-01-02T03:04:05Z") == true
        }
    }

    @Test(
        arguments: [
            (-11.0, false), (-10, false), (-9, true), (0, true), (1, true), (604_800, true), (604_810, true),
            (604_811, false),
        ]
    )
    func `a time is ahead, and not more than seven days, but for seconds by which clocks differ`(
        ahead: Double,
        isTaken: Bool
    ) throws {
        let time = ScheduleTime(Self.now + ahead)
        if isTaken {
            #expect(throws: Never.self) { try time.check(now: Self.now) }
            return
        }
        let refusal = try #require(#expect(throws: ProtocolError.self) { try time.check(now: Self.now) })
        #expect(refusal.status == 400)
        #expect(refusal.detail.contains("this hub's clock says 2030-01-01T00:00:00Z"))
        #expect(refusal.detail.contains(ahead > 0 ? "7 days" : "/messages"))
    }
}
