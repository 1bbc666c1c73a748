import Foundation
import GRDB
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import SQLiteFiles
import Signals
import Synchronization
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// The publisher that stays, at work by itself.
@Suite struct PublishWatchTests {
    /// A notification hub whose messages can be waited for.
    private final class Inbox: Sendable {
        let titles = Counter<String>()
        let client: HubClient
        private let server: ScriptedHTTPServer
        private let http = OutboundClient(userAgent: "newswire-tests")

        init(answer: @escaping @Sendable () -> Int = { 201 }) throws {
            let titles = titles
            server = try ScriptedHTTPServer { request in
                guard request.path == "/news/messages/" else { return .status(200) }
                let status = answer()
                if status == 201 { titles.append((try? MessageProperties(json: request.body))?["title"] ?? "") }
                return .status(status, headers: [("Location", "http://127.0.0.1/news/messages/m1?api-version=1")])
            }
            let key = String(repeating: "A", count: 43)
            let text = "Endpoint=\(server.baseURL)/;SharedAccessKeyName=Publisher;SharedAccessKey=\(key)="
            client = try HubClient(connection: ConnectionString(parsing: text), hub: HubName("news"), http: http)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a signed delivery is sent at once, without a poll`() async throws {
        let pushed = try PushedRoom()
        try await pushed.step()
        let request = try #require(pushed.pushHub.requests.first)
        let inbox = try Inbox()
        let polls = pushed.room.site.requests("/w").count
        let http = OutboundClient(userAgent: "newswire-tests")
        var environment = PublishEnvironment()
        // The store was written at the time of the room.
        environment.now = { [room = pushed.room] in room.now }
        let pass = PublishPass(
            lists: pushed.lists,
            store: pushed.store,
            http: http,
            hub: inbox.client,
            environment: environment,
            reporter: PublishReporter { _ in }
        )
        let watch = PublishWatch(
            pass,
            directory: pushed.room.folder.path,
            callback: PushedRoom.base,
            hubs: .any
        )
        let work = Task { try await watch.run() }
        let query = FakePushHub.question(request)
        #expect(watch.answer(FakePushHub.path(request), query: query).status == 200)
        for title in ["one", "two"] {
            let body = FakeSite.rss([FakeSite.Item(title)])
            let fields = ["X-Hub-Signature": FakePushHub.signature(body, for: request)]
            let delivery = WebSubDelivery(path: FakePushHub.path(request)) { fields[$0] }
            #expect(await watch.take(delivery) { Array(body.utf8) } == .done)
            #expect(await inbox.titles.elements(atLeast: title == "one" ? 1 : 2).last == title)
        }
        #expect(pushed.room.site.requests("/w").count == polls)
        work.cancel()
        try await work.value
        await http.shutdown()
    }

    @Test func `the cap counts for ten minutes, and what exceeds it is one digest in them`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        for number in 1...12 {
            _ = try await pushed.deliver(FakeSite.rss([FakeSite.Item("n\(number)")]), request)
            pushed.room.advance(5)
        }
        #expect(pushed.room.hub.titles == ["n1", "n2", "n3", "n4", "n5", "1 more World story"])
        pushed.room.advance(600)
        try await pushed.step()
        #expect(pushed.room.hub.titles.dropFirst(6) == ["n8", "n9", "n10", "n11", "n12", "1 more World story"])
    }

    @Test func `the metrics tell of subscriptions and deliveries`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        _ = try await pushed.deliver("", request, fields: [:])
        _ = try await pushed.deliver(FakeSite.rss([FakeSite.Item("new")]), request)
        let text = try pushed.lists.metrics(of: pushed.store, after: PublishReport(), now: pushed.room.now)
        let labels = "category=\"World\",feed=\"\(pushed.room.site.url("/w"))\""
        #expect(text.contains("newswire_feed_push_state{\(labels),hub=\"127.0.0.1\",state=\"active\"} 1\n"))
        #expect(text.contains("newswire_feed_deliveries_total{\(labels),outcome=\"taken\"} 1\n"))
        #expect(text.contains("newswire_feed_deliveries_total{\(labels),outcome=\"discarded\"} 1\n"))
        #expect(text.contains("newswire_feed_last_delivery_timestamp_seconds{\(labels)} "))
    }

    @Test func `lists that cannot be used leave the former in force, which is said once`() async throws {
        let pushed = try PushedRoom()
        let file = pushed.room.folder.file("w.yaml")
        try "category: World\nfeeds: nonsense\n".write(toFile: file, atomically: true, encoding: .utf8)
        for _ in 1...2 { pushed.watch.readLists() }
        #expect(pushed.watch.lists.feedCount == 1)
        #expect(pushed.room.lines().count { $0.hasPrefix("error: ") } == 1)
        try "category: World\nfeeds: []\n".write(toFile: file, atomically: true, encoding: .utf8)
        pushed.watch.readLists()
        #expect(pushed.watch.lists.feedCount == 0)
    }

    @Test func `lists that change between their reading and the start of the watch are read again`() async throws {
        let pushed = try PushedRoom()
        let directory = pushed.room.folder.path
        let file = pushed.room.folder.file("w.yaml")
        try "category: World\nfeeds: []\n".write(toFile: file, atomically: true, encoding: .utf8)
        let lists = try FeedLists.load(directory: directory)
        try "category: World\nfeeds: [{url: https://a.example/feed}]\n".write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        let watch = pushed.room.watch(lists, store: pushed.store)
        watch.readChangedLists()
        #expect(watch.lists.feedCount == 1)
    }

    @Test func `a store that cannot be written asks no feed in vain, and the hub to come again`() async throws {
        let pushed = try PushedRoom()
        let request = try await pushed.subscribe()
        // The next write does not fit.
        try pushed.store.limitPages(to: 1)
        let body = FakeSite.rss((1...2_000).map { FakeSite.Item("a rather long title of entry \($0)") })
        let fields = ["X-Hub-Signature": FakePushHub.signature(body, for: request)]
        let delivery = WebSubDelivery(path: FakePushHub.path(request)) { fields[$0] }
        #expect(await pushed.watch.take(delivery) { Array(body.utf8) } == .busy)
        try pushed.store.limitPages(to: 1_000_000)
        #expect(await pushed.watch.take(delivery) { Array(body.utf8) } == .done)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["UPDATE feed", "SELECT * FROM outbox"])
    func `a permanent failure of the store ends it, whichever of its tasks finds out`(statement: String) async throws {
        let room = try Newsroom()
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([FakeSite.Item("a")])))
        let text = "category: World\nfeeds:\n  - {url: \"\(room.site.url("/w"))\", local: true}\n"
        let isBroken = Counter<Bool>()
        let store = try PublisherStore(path: room.folder.file("broken.db")) { sql in
            guard !isBroken.elements.isEmpty, sql.contains(statement) else { return }
            throw DatabaseError(resultCode: .SQLITE_READONLY)
        }
        let watch = room.watch(try FeedLists.parse([(file: "w.yaml", text: text)]), store: store)
        isBroken.append(true)
        await #expect(throws: DatabaseFileError.self) { try await watch.run() }
    }

    @Test func `a pass that is stopped while a feed is in use skips the feed, and does not fail`() async throws {
        let room = try Newsroom()
        room.site.set("/a", FakeSite.Document(body: FakeSite.rss([FakeSite.Item("a")])))
        let store = try room.store()
        let turns = FeedTurns()
        var prepared = room.prepared(try room.lists(["World": ["/a"]]), store: store)
        prepared.watchContext = WatchContext(
            turns: turns,
            pass: turns.begin(),
            wakeSender: AsyncSignal(),
            subscriber: nil
        )
        let pass = prepared
        let hosts = try pass.due(room.now).hosts
        let feed = try #require(hosts.first?.first).record.id
        let (taken, waits, end) = (Gate(), Gate(), Gate())
        let delivery = Task {
            try await turns.records.pass(feed) {
                taken.open()
                await end.opened()
            }
        }
        await taken.opened()
        turns.records.onWait.withLock { $0 = { waits.open() } }
        let polling = Task {
            var course = PublishPass.Course(start: room.now)
            try await pass.poll(hosts, &course)
            return course.report
        }
        await waits.opened()
        polling.cancel()
        #expect(try await polling.value == PublishReport())
        #expect(room.site.requests("/a").isEmpty && !turns.isBusy(feed, on: [], limit: 1))
        end.open()
        try await delivery.value
    }

    @Test func `a pass that ends lets go of its own feeds only, and a silent host is left alone`() {
        let turns = FeedTurns()
        let (first, second) = (turns.begin(), turns.begin())
        turns.take(1, ["a.example"], for: first)
        turns.release(1, of: first)
        turns.take(1, ["a.example"], for: second)
        turns.release(1, of: first)
        #expect(turns.isBusy(0, on: ["a.example", "b.example"], limit: 1))
        turns.release(1, of: second)
        #expect(!turns.isBusy(0, on: ["a.example"], limit: 1))
        turns.leave("a.example", for: .seconds(60))
        turns.leave("b.example", for: .zero)
        #expect(turns.isBusy(0, on: ["a.example"], limit: 1) && !turns.isBusy(0, on: ["b.example"], limit: 1))
    }
}
