import Foundation
import HubTestServer
import OutboundHTTP
import Testing
import WebEdge

@testable import FeedLists
@testable import FeedPublisher

/// Subscribing, being asked back, renewing and leaving.
@Suite struct WebSubDanceTests {
    private typealias Item = FakeSite.Item

    @Test(arguments: [true, false])
    func `a feed's hub is found in the header or in the document, and asked`(isHeaded: Bool) async throws {
        let pushed = try PushedRoom(isHeaded: isHeaded)
        try await pushed.step()
        let request = try #require(pushed.pushHub.requests.first)
        #expect(request["hub.mode"] == "subscribe")
        #expect(request["hub.topic"] == pushed.topic)
        #expect(request["hub.callback"]?.hasPrefix(PushedRoom.base) == true)
        #expect(FakePushHub.path(request).count == 32)
        #expect(request["hub.secret"]?.count == 64)
        #expect(try pushed.subscription?.state == .pending)
        try await pushed.step()
        #expect(pushed.pushHub.requests.count == 1, "it is awaited")
    }

    @Test func `what was asked for is confirmed with the challenge, everything else is not known`() async throws {
        let pushed = try PushedRoom()
        try await pushed.step()
        let request = try #require(pushed.pushHub.requests.first)
        let path = FakePushHub.path(request)
        let query = FakePushHub.question(request, challenge: "a+b & c<script>")
        #expect(pushed.watch.answer("0123", query: query) == .unknown)
        #expect(pushed.watch.answer(path, query: query.replacing("subscribe", with: "unsubscribe")) == .unknown)
        #expect(pushed.watch.answer(path, query: query.replacing("topic&", with: "other&")) == .unknown)
        #expect(pushed.watch.answer(path, query: "hub.mode=subscribe") == .unknown)
        #expect(pushed.watch.answer(path, query: "") == .unknown)
        #expect(try pushed.subscription?.state == .pending)
        #expect(pushed.watch.answer(path, query: query) == WebSubAnswer(status: 200, body: "a+b & c<script>"))
        #expect(try pushed.subscription?.state == .active)
    }

    @Test func `a hub that asks back before it answers is confirmed`() async throws {
        let pushed = try PushedRoom()
        let watch = pushed.watch
        pushed.pushHub.answer { form in
            let answer = watch.answer(FakePushHub.path(form), query: FakePushHub.question(form))
            return .status(answer.status == 200 ? 204 : 500)
        }
        try await pushed.step()
        #expect(try pushed.subscription?.state == .active)
    }

    @Test(arguments: ["/307", "/308"])
    func `a hub's redirect that keeps the method is followed`(path: String) async throws {
        let pushed = try PushedRoom(hubPath: path)
        try await pushed.subscribe()
        #expect(pushed.pushHub.requests.count == 1)
        #expect(try pushed.subscription?.state == .active)
    }

    @Test func `a hub that refuses, is away or is silent is asked again ever more rarely, and its reason kept`()
        async throws
    {
        let pushed = try PushedRoom()
        pushed.pushHub.answer { _ in .status(403, body: "not you\nnever") }
        try await pushed.step()
        #expect(try pushed.subscription?.reason == "it answered 403: not you")
        pushed.pushHub.answer { _ in .hangUp }
        for hours in [0.2, 0.4, 1] {
            pushed.room.advance(hours * 3_600)
            try await pushed.step()
        }
        #expect(pushed.pushHub.requests.count >= 4)
        #expect(try pushed.subscription?.reason?.isEmpty == false)
        pushed.pushHub.answer { _ in .status(503, headers: [("Retry-After", "80000")]) }
        pushed.room.advance(3 * 3_600)
        try await pushed.step()
        let count = pushed.pushHub.requests.count
        pushed.room.advance(79_000)
        try await pushed.step()
        #expect(pushed.pushHub.requests.count == count, "the hub said when")
        pushed.pushHub.answer { _ in .status(202) }
        pushed.room.advance(2_000)
        try await pushed.step()
        #expect(pushed.pushHub.requests.count == count + 1)
    }

    @Test func `a denial is kept, said once and ends with another day`() async throws {
        let pushed = try PushedRoom()
        try await pushed.step()
        let request = try #require(pushed.pushHub.requests.first)
        let topic = FormFields([(name: "hub.topic", value: pushed.topic)]).text
        let query = "hub.mode=denied&\(topic)&hub.reason=members+only"
        #expect(pushed.watch.answer("0123", query: query) == .unknown)
        _ = pushed.room.lines()
        for _ in 1...2 { #expect(pushed.watch.answer(FakePushHub.path(request), query: query).status == 200) }
        #expect(try pushed.subscription?.state == .denied)
        #expect(try pushed.subscription?.reason == "members only")
        let lines = pushed.room.lines()
        #expect(lines.count == 1 && lines[0].contains("members only"), "\(lines)")
        #expect(pushed.watch.answer(FakePushHub.path(request), query: FakePushHub.question(request)) == .unknown)
        let health = try #require(try pushed.lists.health(of: pushed.store, now: pushed.room.now).first?.push)
        #expect(health.state == .denied && health.reason == "members only")
        pushed.room.advance(86_400 * 1.3)
        try await pushed.step()
        #expect(pushed.pushHub.requests.count == 2)
    }

    @Test func `a lease is renewed before its end, and one that is not renewed has the feed polled as before`()
        async throws
    {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe(lease: 100_000)
        pushed.room.advance(49_000)
        try await pushed.step()
        #expect(pushed.pushHub.requests.count == 1)
        pushed.room.advance(42_000)
        try await pushed.step()
        #expect(pushed.pushHub.requests.count == 2)
        #expect(
            pushed.pushHub.requests.map(FakePushHub.path) == [FakePushHub.path(request), FakePushHub.path(request)]
        )
        #expect(try pushed.subscription?.state == .active, "until the lease ends")
        pushed.room.advance(10_000)
        try await pushed.step()
        #expect(try pushed.subscription?.state == .pending)
        let last = try #require(pushed.pushHub.requests.last)
        #expect(pushed.watch.answer(FakePushHub.path(last), query: FakePushHub.question(last)).status == 200)
        #expect(try pushed.subscription?.state == .active)
    }

    @Test func `a subscription outlives the process`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        let again = pushed.room.watch(pushed.lists, store: pushed.store)
        let body = FakeSite.rss([Item("new")])
        let fields = ["X-Hub-Signature": FakePushHub.signature(body, for: request)]
        let delivery = WebSubDelivery(path: FakePushHub.path(request)) { fields[$0] }
        #expect(await again.take(delivery) { Array(body.utf8) } == .done)
        try await again.step()
        #expect(pushed.room.hub.titles == ["new"])
        #expect(pushed.pushHub.requests.count == 1)
    }

    @Test func `a feed that leaves the lists, or its hub, is unsubscribed, which is confirmed once`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        let path = FakePushHub.path(request)
        let empty = pushed.room.watch(try pushed.room.lists(["World": []]), store: pushed.store)
        try await empty.step()
        let farewell = try #require(pushed.pushHub.requests.last)
        #expect(farewell["hub.mode"] == "unsubscribe" && FakePushHub.path(farewell) == path)
        let delivery = WebSubDelivery(path: path) { _ in nil }
        #expect(await empty.take(delivery) { [] } == .ended)
        #expect(empty.answer(path, query: FakePushHub.question(farewell)).status == 200)
        #expect(empty.answer(path, query: FakePushHub.question(farewell)) == .unknown)
        #expect(await empty.take(delivery) { [] } == .unknown)
    }

    @Test func `another topic or callback address makes a new subscription and ends the old`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        let moved = pushed.room.watch(pushed.lists, store: pushed.store, callback: "https://new.example/")
        pushed.publish([Item("new"), Item("old")])
        pushed.room.advance(600)
        try await moved.step()
        try await moved.step()
        let requests = pushed.pushHub.requests.dropFirst()
        #expect(requests.contains { $0["hub.mode"] == "unsubscribe" && $0["hub.callback"] == request["hub.callback"] })
        let new = try #require(requests.first { $0["hub.mode"] == "subscribe" })
        #expect(new["hub.callback"]?.hasPrefix("https://new.example/") == true)
        #expect(new["hub.secret"] != request["hub.secret"])
    }

    @Test func `a feed that names itself otherwise each time is subscribed to anew once an hour at most`() async throws
    {
        let pushed = try PushedRoom()
        try await pushed.subscribe()
        for number in 1...20 {
            pushed.topicPath = "/topic\(number)"
            pushed.publish([Item("n\(number)"), Item("old")])
            pushed.room.advance(360)
            try await pushed.step()
        }
        let topics = Set(pushed.pushHub.requests.filter { $0["hub.mode"] == "subscribe" }.map { $0["hub.topic"] })
        #expect((2...4).contains(topics.count))
    }

    @Test func `a hub on this machine's network is not asked`() async throws {
        let pushed = try PushedRoom()
        let strict = pushed.room.watch(pushed.lists, store: pushed.store, hubs: .publicOnly)
        try await strict.step()
        #expect(pushed.pushHub.requests.isEmpty)
        #expect(try pushed.subscription?.reason?.isEmpty == false)
    }
}
