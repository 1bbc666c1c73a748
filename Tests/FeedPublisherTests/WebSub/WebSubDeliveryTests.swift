import Feeds
import Foundation
import GRDB
import HubTestServer
import Testing
import WebEdge

@testable import FeedPublisher

/// What becomes of deliveries, and of polls beside them.
@Suite struct WebSubDeliveryTests {
    private typealias Item = FakeSite.Item

    private func rss(_ titles: String...) -> String { FakeSite.rss(titles.map { Item($0) }) }

    @Test func `what a hub delivers is announced at once, and once`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        #expect(try await pushed.deliver(rss("new"), request) == .done)
        #expect(pushed.room.hub.titles == ["new"])
        #expect(try await pushed.deliver(rss("new"), request) == .done)
        pushed.publish([Item("new"), Item("old")])
        pushed.room.advance(7_200)
        #expect(try await pushed.step().polled == 1)
        #expect(pushed.room.hub.titles == ["new"])
        #expect(try pushed.subscription?.missedSince == nil)
    }

    @Test func `what a hub delivers obeys the list's rules, and waits for its hour`() async throws {
        // It is 20:26:40.
        let pushed = try PushedRoom(rules: "notBefore: 23:00\nexclude: sponsored")
        let request = try await pushed.subscribe()
        #expect(try await pushed.deliver(rss("new", "sponsored"), request) == .done)
        #expect(pushed.room.hub.titles == [])
        pushed.room.advance(3 * 3_600)
        try await pushed.step()
        #expect(pushed.room.hub.titles == ["new"])
    }

    @Test func `a subscription that ends while the body of a delivery comes takes nothing of it`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        let body = rss("late")
        let fields = ["X-Hub-Signature": FakePushHub.signature(body, for: request)]
        let delivery = WebSubDelivery(path: FakePushHub.path(request)) { fields[$0] }
        let id = try #require(try pushed.subscription?.id)
        let answer = await pushed.watch.take(delivery) {
            try pushed.store.change(id) { subscription in
                subscription.leave(now: pushed.room.now)
                return false
            }
            return Array(body.utf8)
        }
        #expect(answer == .ended)
        try await pushed.step()
        #expect(pushed.room.hub.titles == [])
    }

    @Test func `what a poll brought first is not announced by a delivery`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        pushed.publish([Item("new"), Item("old")])
        pushed.room.advance(600)
        try await pushed.step()
        #expect(try await pushed.deliver(rss("new"), request) == .done)
        #expect(pushed.room.hub.titles == ["new"])
    }

    @Test(arguments: [
        [:], ["X-Hub-Signature": "sha256=00"], ["X-Hub-Signature": "sha1="], ["X-Hub-Signature": "none=aa"],
    ])
    func `a delivery without a good signature is answered, thrown away, and said once`(
        fields: [String: String]
    ) async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        _ = pushed.room.lines()
        for _ in 1...2 { #expect(try await pushed.deliver(rss("forged"), request, fields: fields) == .done) }
        #expect(pushed.room.hub.titles == [])
        #expect(try pushed.subscription?.discarded == 2)
        #expect(try pushed.subscription?.lastDelivery == nil)
        #expect(pushed.room.lines().count == 1)
    }

    @Test func `a path that nobody was given is not known, and its body not read`() async throws {
        let pushed = try PushedRoom()
        try await pushed.subscribe()
        let answer = await pushed.watch.take(WebSubDelivery(path: "0123") { _ in nil }) {
            Issue.record("the body was read")
            return []
        }
        #expect(answer == .unknown)
    }

    @Test func `a body that is too large is refused`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        let answer = await pushed.watch.take(WebSubDelivery(path: FakePushHub.path(request)) { _ in nil }) { nil }
        #expect(answer == .tooLarge)
        #expect(try pushed.subscription?.deliveries == 0)
    }

    @Test func `a delivery of one entry leaves validators and the memory of keys alone`() async throws {
        let pushed = try PushedRoom(existing: (1...300).map { Item("e\($0)") })
        let request = try await pushed.subscribe()
        let before = try #require(try pushed.record)
        // Past the reading at which the oldest keys are forgotten.
        for number in 1...40 { _ = try await pushed.deliver(rss("d\(number)"), request) }
        let after = try #require(try pushed.record)
        #expect(after.validators == before.validators && after.bodyHash == before.bodyHash)
        #expect(after.readings == before.readings && after.completeReading == before.completeReading)
        #expect(after.newestEntry == before.newestEntry && after.due == before.due && after.pace == before.pace)
        pushed.publish((1...40).reversed().map { Item("d\($0)") } + (1...300).map { Item("e\($0)") })
        pushed.room.advance(600)
        let report = try await pushed.step()
        #expect((report.polled, report.announced, report.recorded) == (1, 0, 0))
    }

    @Test func `a delivery at a reading that forgets keys forgets none`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        for reading in 2...16 {
            pushed.publish((1...200).map { Item("r\(reading)-\($0)") })
            pushed.room.advance(600)
            try await pushed.step()
        }
        let record = try #require(try pushed.record)
        #expect(record.readings % NewsJudge.refreshPeriod == 0)
        let store = pushed.store
        func keys() throws -> Int {
            try store.read { store in
                try store.rows("SELECT count(*) AS n FROM seen").first?.decode(Int.self, forColumn: "n") ?? 0
            }
        }
        let before = try keys()
        _ = try await pushed.deliver(rss("one"), request)
        #expect(try keys() > before)
    }

    @Test func `a document of old entries under new names is left to a poll`() async throws {
        let dates = (1...8).map { "Mon, 0\($0) Sep 2025 10:00:00 GMT" }
        let pushed = try PushedRoom(
            existing: dates.enumerated().reversed().map {
                Item("t\($0)", id: "a\($0)", link: "https://n.example/a\($0)", date: $1)
            }
        )
        let request = try await pushed.subscribe()
        let renamed = dates.dropLast().enumerated().map {
            Item("other \($0)", id: "b\($0)", link: "https://n.example/b\($0)", date: $1)
        }
        pushed.room.advance(30)
        #expect(try await pushed.deliver(FakeSite.rss(renamed), request) == .done)
        #expect(pushed.room.hub.titles == [])
        #expect(pushed.room.site.requests("/w").count == 2, "it was polled")
    }

    @Test func `a delivery before the first reading announces nothing`() async throws {
        let pushed = try PushedRoom()
        pushed.room.site.set("/w", FakeSite.Document(status: 500))
        try await pushed.step()
        let record = try #require(try pushed.record)
        _ = try pushed.store.subscribe(
            record.id,
            to: PushOffer(hub: pushed.pushHub.url(), topic: pushed.topic),
            base: PushedRoom.base,
            path: "p",
            secret: "s",
            now: pushed.room.now
        )
        let request = FormFields([
            (name: "hub.callback", value: PushedRoom.base + "p"), (name: "hub.secret", value: "s"),
        ])
        #expect(try await pushed.deliver(rss("x", "y"), request) == .done)
        #expect(pushed.room.hub.titles == [])
        #expect(try pushed.record?.baseline == nil)
    }

    @Test(
        arguments: [
            ("an empty body", "", nil), ("no feed", "hello", nil),
            ("a web page", "<html><body>hello</body></html>", nil),
            ("a cut feed", "<rss version='2.0'><channel><title>t</title><item>", nil),
            ("packed by brotli", "xyz", "br"),
        ] as [(String, String, String?)]
    )
    func `a ping, and what cannot be read, has the feed polled at once`(
        label: String,
        body: String,
        coding: String?
    ) async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        pushed.publish([Item("new"), Item("old")])
        pushed.room.advance(30)
        var fields = ["X-Hub-Signature": FakePushHub.signature(body, for: request)]
        fields["Content-Encoding"] = coding
        #expect(try await pushed.deliver(body, request, fields: fields) == .done)
        #expect(pushed.room.hub.titles == ["new"], "\(label)")
        #expect(try pushed.subscription?.missedSince == nil)
    }

    @Test func `pings in a rush cost one poll`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        pushed.room.advance(30)
        for _ in 1...10 { _ = try await pushed.deliver("", request) }
        #expect(pushed.room.site.requests("/w").count == 2)
        pushed.room.advance(11)
        try await pushed.step()
        #expect(pushed.room.site.requests("/w").count == 3)
    }

    @Test func `a hub without TLS gets no secret, and its deliveries only ring`() async throws {
        let pushed = try PushedRoom()
        try await pushed.step()
        let record = try #require(try pushed.record)
        let (store, room) = (pushed.store, pushed.room)
        _ = try store.subscribe(record.id, to: nil, base: PushedRoom.base, path: "", secret: nil, now: room.now)
        let offer = PushOffer(hub: pushed.pushHub.url(), topic: pushed.topic)
        _ = try store.subscribe(record.id, to: offer, base: PushedRoom.base, path: "q", secret: nil, now: room.now)
        try await pushed.step()
        let request = try #require(pushed.pushHub.requests.last { $0["hub.mode"] == "subscribe" })
        #expect(request["hub.secret"] == nil)
        #expect(pushed.watch.answer("q", query: FakePushHub.question(request)).status == 200)
        pushed.publish([Item("true"), Item("old")])
        pushed.room.advance(30)
        #expect(try await pushed.deliver(rss("said"), request, fields: [:]) == .done)
        #expect(pushed.room.hub.titles == ["true"])
    }

    // MARK: Polls beside a hub

    /// Polls in so many hours, looked for each minute.
    private func polls(_ pushed: PushedRoom, minutes: Int) async throws -> Int {
        var polls = 0
        for _ in 0..<minutes {
            pushed.room.advance(60)
            polls += try await pushed.step().polled
        }
        return polls
    }

    @Test func `polling slows down once the hub delivers, and comes back when it misses something`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        #expect(try await polls(pushed, minutes: 60) >= 10, "it has delivered nothing yet")
        _ = try await pushed.deliver(rss("a"), request)
        pushed.publish([Item("a"), Item("old")])
        _ = try await polls(pushed, minutes: 10)
        #expect((3...5).contains(try await polls(pushed, minutes: 240)))
        _ = pushed.room.lines()
        pushed.publish([Item("b"), Item("a"), Item("old")])
        _ = try await polls(pushed, minutes: 60)
        #expect(pushed.room.hub.titles == ["a", "b"])
        #expect(try pushed.subscription?.missedSince != nil)
        #expect(pushed.room.lines().count { $0.contains("did not deliver") } == 1)
        #expect(try await polls(pushed, minutes: 60) >= 10)
        _ = try await pushed.deliver(rss("c"), request)
        pushed.publish([Item("c"), Item("b"), Item("a"), Item("old")])
        _ = try await polls(pushed, minutes: 10)
        #expect(try await polls(pushed, minutes: 110) <= 2)
    }

    @Test func `when the lease ends, polling comes back`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe(lease: 7_200)
        _ = try await pushed.deliver(rss("a"), request)
        pushed.publish([Item("a"), Item("old")])
        _ = try await polls(pushed, minutes: 10)
        #expect(try await polls(pushed, minutes: 100) <= 2)
        _ = try await polls(pushed, minutes: 20)
        #expect(try await polls(pushed, minutes: 60) >= 10)
    }
}
