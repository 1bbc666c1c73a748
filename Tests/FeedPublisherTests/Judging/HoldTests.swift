import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// `notBefore:` holds what is found at night until its hour.
@Suite struct HoldTests {
    private typealias Item = FakeSite.Item
    private typealias Warning = AlertRoom.Warning

    /// Feed lists in a room at 02:00 UTC, whose feed was read once and was empty.
    private func room(_ rules: String = "notBefore: 07:00") async throws -> (Newsroom, FeedLists) {
        let room = try Newsroom()
        let text = "category: World\nevery: 1m\n\(rules)\nfeeds:\n  - url: \(room.site.url("/w"))\n    local: true"
        let lists = try FeedLists.parse([(file: "w.yaml", text: text)])
        publish(room, [])
        try await room.pass(lists)
        // From 20:26:40 of the day before.
        room.advance(5 * 3_600 + 33 * 60 + 20)
        return (room, lists)
    }

    private func publish(_ room: Newsroom, _ items: [Item]) {
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss(items)))
    }

    @Test func `an entry of the night is sent at its hour, also when its feed is gone and the publisher was restarted`()
        async throws
    {
        let (room, lists) = try await room()
        publish(room, [Item("night")])
        let preview = try await room.preview(lists)
        let morning = Date(timeIntervalSince1970: 1_780_038_000)
        #expect(preview.feeds[0].entries.map(\.fate) == [.held(until: morning)])
        #expect(preview.messages.isEmpty)
        var report = try await room.pass(lists)
        #expect(report.announced == 1 && report.sent == 0 && report.pending == 1)
        room.site.set("/w", FakeSite.Document(status: 404))
        room.advance(5 * 3_600 - 1)
        report = try await room.pass(lists)
        #expect(report.sent == 0 && report.pending == 1)
        let metrics = try lists.metrics(of: room.store(), after: report, now: room.now)
        #expect(metrics.contains("newswire_publisher_outbox_oldest_seconds 0"))
        room.advance(1)
        report = try await room.pass(lists)
        #expect(report.sent == 1 && report.pending == 0)
        #expect(room.hub.titles == ["night"])
    }

    @Test func `its age counts from its hour`() async throws {
        let (room, lists) = try await room()
        publish(room, [Item("night")])
        try await room.pass(lists)
        room.advance(5 * 3_600 + 1_800)
        try await room.pass(lists) { $0.announceWithin = .seconds(3_600) }
        #expect(room.hub.titles == ["night"])
    }

    @Test func `by day nothing waits`() async throws {
        let (room, lists) = try await room()
        room.advance(6 * 3_600)
        publish(room, [Item("day")])
        try await room.pass(lists)
        #expect(room.hub.titles == ["day"])
    }

    @Test func `what waits is corrected in its place or taken out, and what was shown is put right at once`()
        async throws
    {
        let (room, lists) = try await room("notBefore: 07:00\nretractions: retracted\ncorrections: correction")
        room.advance(-3 * 3_600)
        publish(room, [Item("evening", id: "e")])
        try await room.pass(lists)
        room.advance(3 * 3_600)
        publish(room, [Item("a", id: "a"), Item("b", id: "b")])
        try await room.pass(lists)
        room.advance(60)
        publish(
            room,
            [Item("Correction: a", id: "a"), Item("Retracted: b", id: "b"), Item("Correction: evening", id: "e")]
        )
        try await room.pass(lists)
        #expect(room.hub.titles == ["evening", "Correction: evening"])
        #expect(try room.store().pending().map(\.message.headlines) == ["Correction: a"])
        room.advance(5 * 3_600)
        try await room.pass(lists)
        #expect(room.hub.titles == ["evening", "Correction: evening", "Correction: a"])
    }

    @Test func `an alert to be acted upon does not wait`() async throws {
        let alerts = try await AlertRoom(rules: "notBefore: 07:00")
        alerts.room.advance(5 * 3_600 + 33 * 60)
        var urgent = Warning(2)
        urgent.urgency = "Immediate"
        try await alerts.bring([urgent, Warning(1)])
        #expect(alerts.room.hub.titles == ["Alert 2"])
        try await alerts.bring([Warning(3, "Cancel", [2])])
        #expect(alerts.room.hub.titles == ["Alert 2", "Cancelled: Alert 2"])
        try await alerts.pass(5 * 3_600)
        #expect(alerts.room.hub.titles.last == "Alert 1")
    }

    @Test func `a clock that was set back does not hold for years`() {
        let now = Date(timeIntervalSince1970: 1_780_000_000)
        var message = OutboxMessage(
            category: "World",
            tags: "World",
            body: [],
            idempotencyKey: "k",
            headlines: "h",
            entries: 1,
            isDigest: false
        )
        for (hours, expected) in [(-1.0, true), (0, true), (24, false), (26, true)] {
            message.notBefore = now + hours * 3_600
            let row = OutboxRow(id: 1, message: message, created: now, wasAttempted: false)
            #expect(row.isReleased(at: now) == expected, "\(hours)")
        }
    }

    struct Moment: CustomTestStringConvertible {
        let hour: String
        let now: String
        let zone: String
        let expected: String?

        var testDescription: String { "\(hour) at \(now) in \(zone)" }
    }

    /// Summer time of 2026: Berlin from 29 March 01:00 UTC to 25 October 01:00 UTC; Santiago leaves midnight out on 6 September.
    static let moments: [Moment] = [
        Moment(hour: "07:00", now: "2026-05-28T00:00:00Z", zone: "GMT", expected: "2026-05-28T07:00:00Z"),
        Moment(hour: "7:00", now: "2026-05-28T06:59:59Z", zone: "GMT", expected: "2026-05-28T07:00:00Z"),
        Moment(hour: "07:00", now: "2026-05-28T07:00:00Z", zone: "GMT", expected: nil),
        Moment(hour: "00:00", now: "2026-05-28T00:00:00Z", zone: "GMT", expected: nil),
        Moment(hour: "07:00", now: "2026-05-27T22:30:00Z", zone: "Europe/Berlin", expected: "2026-05-28T05:00:00Z"),
        Moment(hour: "07:00", now: "2026-05-27T21:30:00Z", zone: "Europe/Berlin", expected: nil),
        // 02:30 is left out: the clock goes from 02:00 to 03:00.
        Moment(hour: "02:30", now: "2026-03-29T00:30:00Z", zone: "Europe/Berlin", expected: "2026-03-29T01:00:00Z"),
        Moment(hour: "02:30", now: "2026-03-29T01:10:00Z", zone: "Europe/Berlin", expected: nil),
        // 02:30 comes twice: the first counts.
        Moment(hour: "02:30", now: "2026-10-25T00:10:00Z", zone: "Europe/Berlin", expected: "2026-10-25T00:30:00Z"),
        Moment(hour: "02:30", now: "2026-10-25T01:10:00Z", zone: "Europe/Berlin", expected: nil),
        // 25 and 23 hours long.
        Moment(hour: "07:00", now: "2026-10-24T22:30:00Z", zone: "Europe/Berlin", expected: "2026-10-25T06:00:00Z"),
        Moment(hour: "07:00", now: "2026-03-28T23:30:00Z", zone: "Europe/Berlin", expected: "2026-03-29T05:00:00Z"),
        Moment(hour: "00:30", now: "2026-09-06T04:10:00Z", zone: "America/Santiago", expected: nil),
        Moment(hour: "07:00", now: "2026-09-06T04:10:00Z", zone: "America/Santiago", expected: "2026-09-06T10:00:00Z"),
    ]

    @Test(arguments: moments)
    func `the hour is the clock's on the wall`(moment: Moment) throws {
        let zone = try #require(TimeZone(identifier: moment.zone))
        let now = try Date(moment.now, strategy: .iso8601)
        let found = try #require(HourOfDay(parsing: moment.hour)).release(after: now, in: zone)
        #expect(found?.formatted(.iso8601) == moment.expected)
    }

    @Test(arguments: ["7", "24:00", "07:60", "07:0", "-1:00", "07:00:00", "007:00", "", "a:bc", "٠٧:٠٠"])
    func `an invalid hour is refused with its line`(text: String) throws {
        let list = "category: World\nnotBefore: \"\(text)\"\nfeeds: []"
        let error = #expect(throws: FeedListsError.self) { try FeedLists.parse([(file: "w.yaml", text: list)]) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("notBefore"))
    }

    @Test func `a feed's hour overrides its list's`() throws {
        let text = """
            category: World
            notBefore: 07:00
            feeds:
              - url: https://example.org/a
              - url: https://example.org/b
                notBefore: 00:00
            """
        let rules = try FeedLists.parse([(file: "w.yaml", text: text)]).lists[0].feeds.map(\.rules.notBefore)
        #expect(rules == [HourOfDay(parsing: "07:00"), HourOfDay(parsing: "00:00")])
    }
}
