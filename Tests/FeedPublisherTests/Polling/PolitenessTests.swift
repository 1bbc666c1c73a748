import Foundation
import HubTestServer
import OutboundHTTP
import Synchronization
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Validators, waits and moves as a server sees them over several passes.
@Suite struct PolitenessTests {
    private typealias Item = FakeSite.Item

    private func document(
        _ titles: [String],
        etag: String? = nil,
        headers: [(String, String)] = [],
        channel: String = ""
    ) -> FakeSite.Document {
        let body = FakeSite.rss(titles.map { Item($0) }).replacing("</channel>", with: channel + "</channel>")
        return FakeSite.Document(body: body, headers: headers, etag: etag)
    }

    /// A pass every so many minutes; the lists' interval is one.
    private func polls(_ room: Newsroom, _ lists: FeedLists, minutes: Int, each step: Int = 1) async throws -> Int {
        var polls = 0
        for _ in 0..<minutes / step {
            room.advance(60 * Double(step))
            polls += try await room.pass(lists).polled
        }
        return polls
    }

    private func record(_ room: Newsroom, _ path: String) throws -> FeedRecord {
        let store = try room.store()
        defer { try? store.close() }
        return try #require(try store.feeds()[path.hasPrefix("/") ? room.site.url(path) : path])
    }

    @Test(arguments: ["\"1\"", nil])
    func `a feed's ttl holds while its answers bring no new document`(etag: String?) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"], etag: etag, channel: "<ttl>30</ttl>"))
        try await room.pass(lists)
        #expect((3...4).contains(try await polls(room, lists, minutes: 100, each: 5)))
        room.site.set("/w", document(["a"], etag: "\"2\""))
        #expect(try await polls(room, lists, minutes: 60, each: 5) >= 6, "a document without one takes it back")
    }

    @Test func `a feed is left alone in the hours it names, and --force asks`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        // It is 20:26:40 GMT.
        room.site.set("/w", document(["a"], channel: "<skipHours><hour>21</hour></skipHours>"))
        try await room.pass(lists)
        room.advance(35 * 60)
        #expect(try await polls(room, lists, minutes: 56, each: 8) == 0)
        #expect(try await room.pass(lists) { $0.force = true }.polled == 1)
        #expect(try await polls(room, lists, minutes: 10, each: 5) >= 1)
    }

    @Test(arguments: [
        [("Cache-Control", "max-age=1800")], [("Expires", "Thu, 28 May 2026 20:56:40 GMT")],
        [("Retry-After", "1800")], [("Retry-After", "Thu, 28 May 2026 20:56:40 GMT")],
    ])
    func `an answer that asks for a wait gets it`(headers: [(String, String)]) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"], etag: "\"1\"", headers: headers))
        try await room.pass(lists)
        #expect(try await polls(room, lists, minutes: 29, each: 29) == 0)
        #expect(try await polls(room, lists, minutes: 2) >= 1)
    }

    @Test func `an ETag that a server handles badly is left out after three equal answers, until the document changes`()
        async throws
    {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        room.site.set("/w", document(["a"], headers: [("ETag", "\"x-gzip\""), ("Last-Modified", date)]))
        try await room.pass(lists)
        _ = try await polls(room, lists, minutes: 4)
        let requests = room.site.requests("/w")
        #expect(requests.map { $0.header("If-None-Match") } == [nil, "\"x-gzip\"", "\"x-gzip\"", "\"x-gzip\"", nil])
        #expect(requests.dropFirst().allSatisfy { $0.header("If-Modified-Since") == date })
        room.site.set("/w", FakeSite.Document(status: 304, headers: [("ETag", "\"x-gzip\"")]))
        _ = try await polls(room, lists, minutes: 3)
        #expect(room.site.requests("/w").suffix(3).allSatisfy { $0.header("If-None-Match") == nil })
        room.site.set("/w", document(["b", "a"], headers: [("ETag", "\"y\""), ("Last-Modified", date)]))
        _ = try await polls(room, lists, minutes: 2)
        #expect(room.site.requests("/w").last?.header("If-None-Match") == "\"y\"", "another document, another trial")
    }

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            ("\"1\"", nil), (nil, date), ("\"1\"", date), ("W/\"1\"", nil), ("no quotes", nil), ("\"1-gzip\"", nil),
            (nil, "1994-11-06T08:49:37Z"), ("\"ä\"", "yesterday"),
        ] as [(String?, String?)]
    )
    func `validators go back as they came, whatever they are`(etag: String?, date: String?) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        let headers = [("ETag", etag), ("Last-Modified", date)].compactMap { name, value in value.map { (name, $0) } }
        room.site.set("/w", document(["a"], headers: headers))
        try await room.pass(lists)
        room.site.set("/w", FakeSite.Document(status: 304))
        for _ in 1...2 {
            room.advance(60)
            #expect(try await room.pass(lists).unchanged == 1)
        }
        for request in room.site.requests("/w").dropFirst() {
            #expect(request.header("If-None-Match") == etag)
            #expect(request.header("If-Modified-Since") == date)
        }
    }

    @Test func `the validators of a 304 replace the old ones`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"], headers: [("ETag", "\"1\"")]))
        try await room.pass(lists)
        room.site.set("/w", FakeSite.Document(status: 304, headers: [("ETag", "\"2\"")]))
        _ = try await polls(room, lists, minutes: 2)
        #expect(room.site.requests("/w").map { $0.header("If-None-Match") } == [nil, "\"1\"", "\"2\""])
    }

    @Test func `a body without the gzip that its server claims is read as it is`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"]))
        try await room.pass(lists)
        room.site.set("/w", document(["b", "a"], headers: [("Content-Encoding", "gzip")]))
        #expect(try await room.pass(lists) { $0.force = true }.failedFeeds == 0)
        #expect(room.hub.titles == ["b"])
    }

    @Test func `validators are forgotten when an answer comes without them`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"], etag: "\"1\""))
        try await room.pass(lists)
        room.site.set("/w", document(["b", "a"]))
        _ = try await polls(room, lists, minutes: 2)
        #expect(room.site.requests("/w").map { $0.header("If-None-Match") } == [nil, "\"1\"", nil])
    }

    @Test func `equal validators of another document hide nothing`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        for (target, titles) in [("/a", ["a"]), ("/b", ["b", "a"])] {
            room.site.set("/w", FakeSite.Document(status: 302, headers: [("Location", target)]))
            room.site.set(target, document(titles, etag: "\"1\""))
            room.advance(60)
            try await room.pass(lists)
        }
        #expect(room.hub.titles == ["b"])
        #expect(room.site.requests("/b").map { $0.header("If-None-Match") } == ["\"1\"", nil])
    }

    @Test(arguments: PublishFaultTests.badFeeds)
    func `a failed fetch forgets nothing`(bad: PublishFaultTests.BadFeed) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/bad"]])
        room.site.set("/bad", document(["b", "a"], etag: "\"1\"", channel: "<ttl>30</ttl>"))
        try await room.pass(lists)
        let before = try record(room, "/bad")
        room.site.set("/bad", bad.document)
        try await room.pass(lists) { $0.force = true }
        let after = try record(room, "/bad")
        #expect(after.failures == 1 && after.problem != nil && after.lastSuccess == before.lastSuccess)
        #expect(after.baseline == before.baseline && after.pace == before.pace && after.title == before.title)
        room.site.set("/bad", document(["c", "b", "a"], etag: "\"2\""))
        try await room.pass(lists) { $0.force = true }
        #expect(room.hub.titles == ["c"])
        #expect(try record(room, "/bad").failures == 0)
    }

    // MARK: Moves

    private func redirect(_ status: Int, _ path: String) -> FakeSite.Document {
        FakeSite.Document(status: status, headers: [("Location", path)])
    }

    /// Polls every four days until the move from `/old` to `/new` is believed.
    private func movedRoom() async throws -> (Newsroom, FeedLists) {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/old"]])
        room.site.set("/old", redirect(308, "/new"))
        room.site.set("/new", document(["a"]))
        for _ in 1...3 {
            try await room.pass(lists)
            room.advance(4 * 86_400)
        }
        _ = room.lines()
        return (room, lists)
    }

    @Test func `a move that is believed saves the detour, and entries keep their identity`() async throws {
        let (room, lists) = try await movedRoom()
        room.site.set("/new", document(["b", "a"]))
        try await room.pass(lists)
        #expect(room.site.requests("/old").count == 3)
        #expect(room.site.requests("/new").count == 4)
        #expect(room.hub.titles == ["b"])
    }

    @Test func `a temporary redirect is followed anew each time`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/old"]])
        room.site.set("/old", redirect(302, "/new"))
        room.site.set("/new", document(["a"]))
        for _ in 1...5 {
            try await room.pass(lists)
            room.advance(4 * 86_400)
        }
        #expect(room.site.requests("/old").count == 5)
        #expect(try record(room, "/old").move == nil)
    }

    @Test(arguments: [404, 410])
    func `a target that fails in between has to prove itself anew`(status: Int) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/old"]])
        room.site.set("/old", redirect(301, "/new"))
        for isThere in [true, true, false, true, true] {
            room.site.set("/new", isThere ? document(["a"]) : FakeSite.Document(status: status))
            try await room.pass(lists) { $0.force = true }
            room.advance(4 * 86_400)
        }
        #expect(try record(room, "/old").movedURL == nil)
        #expect(room.site.requests("/old").count == 5)
    }

    @Test(arguments: [404, 410, 301])
    func `where a feed moved to fails, its own address is asked again`(status: Int) async throws {
        let (room, lists) = try await movedRoom()
        // 301 to itself: a loop.
        room.site.set("/new", redirect(status, "/new"))
        room.site.set("/old", document(["b", "a"]))
        try await room.pass(lists)
        #expect(try record(room, "/old").retired == nil)
        room.advance(2 * 86_400)
        try await room.pass(lists)
        #expect(room.hub.titles == ["b"])
    }

    @Test func `a feed that moves back is asked at its own address at once`() async throws {
        let (room, lists) = try await movedRoom()
        room.site.set("/new", redirect(301, "/old"))
        room.site.set("/old", document(["b", "a"]))
        try await room.pass(lists)
        #expect(room.hub.titles == ["b"])
        #expect(try record(room, "/old").movedURL == nil)
    }

    @Test func `gone at the end of a detour is not gone for good`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w", "/m"]])
        room.site.set("/gone", FakeSite.Document(status: 410))
        room.site.set("/w", redirect(302, "/gone"))
        room.site.set("/m", redirect(301, "/gone"))
        try await room.pass(lists)
        #expect(try record(room, "/w").retired == nil)
        #expect(try record(room, "/m").retired != nil)
        let lines = room.lines()
        #expect(lines.count == 2 && lines.count { $0.contains("is not polled again") } == 1, "\(lines)")
    }

    @Test func `a proxy that wants a password is reported, and no feed is blamed`() async throws {
        let room = try Newsroom(isProxied: true)
        let url = "http://a.example/1"
        let lists = try FeedLists.parse([(file: "w.yaml", text: "category: World\nfeeds:\n  - url: \(url)")])
        room.site.set(url, redirect(301, "http://b.example/1"))
        room.site.set("http://b.example/1", document(["a"]))
        try await room.pass(lists)
        room.site.set(url, FakeSite.Document(status: 407))
        try await room.pass(lists) { $0.force = true }
        #expect(try record(room, url).move?.url == "http://b.example/1")
        let lines = room.lines()
        #expect(lines.count == 1 && lines[0].contains("the proxy requires credentials"), "\(lines)")
    }

    // MARK: Many feeds

    private struct Traffic {
        var active: [String: Int] = [:]
        var most: [String: Int] = [:]
        var mostInAll = 0
    }

    private final class Meter: Sendable {
        let traffic = Mutex(Traffic())
    }

    @Test func `one feed of a host is asked for at a time, with a pause, and sixteen in all`() async throws {
        let gate = Gate()
        let meter = Meter()
        let server = try ScriptedHTTPServer { request in
            let host = request.header("Host") ?? ""
            meter.traffic.withLock { traffic in
                traffic.active[host, default: 0] += 1
                traffic.most[host] = max(traffic.most[host] ?? 0, traffic.active[host] ?? 0)
                traffic.mostInAll = max(traffic.mostInAll, traffic.active.values.reduce(0, +))
            }
            gate.blockUntilOpen()
            meter.traffic.withLock { $0.active[host, default: 0] -= 1 }
            return .status(200, body: FakeSite.rss([]))
        }
        let room = try Newsroom()
        let urls = (0..<20).flatMap { host in (0..<3).map { "  - url: http://h\(host).example/\($0)\n" } }
        let lists = try FeedLists.parse([(file: "w.yaml", text: "category: World\nfeeds:\n" + urls.joined())])
        let http = OutboundClient(
            userAgent: "newswire-tests",
            proxies: ProxySettings { $0 == "http_proxy" ? server.baseURL : nil }
        )
        let pass = Task { try await room.pass(lists, http: http) }
        _ = await server.requests(atLeast: 16)
        gate.open()
        #expect(try await pass.value.polled == 60)
        let traffic = meter.traffic.withLock { $0 }
        #expect(traffic.most.count == 20 && traffic.most.values.allSatisfy { $0 == 1 })
        #expect(traffic.mostInAll == 16)
        #expect(room.pauses == Array(repeating: .seconds(1), count: 40))
    }

    @Test func `feeds of many names that one service answers are asked for one at a time, and leave it quiet`()
        async throws
    {
        let room = try Newsroom(isProxied: true)
        let names = ["a", "b", "c"].map { "http://\($0).example/" }
        let list = "category: World\nevery: 1m\nfeeds:\n" + names.map { "  - url: \($0)\n" }.joined()
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        for name in names {
            room.site.set(name, redirect(302, "http://service.example/" + name.dropFirst(7).prefix(1)))
        }
        for name in ["a", "b", "c"] { room.site.set("http://service.example/\(name)", document([name])) }
        try await room.pass(lists)
        #expect(room.pauses.isEmpty, "where they lead is not known before")
        room.advance(60)
        #expect(try await room.pass(lists).polled == 3)
        #expect(room.pauses.count == 2)
        let busy = FakeSite.Document(status: 503, headers: [("Retry-After", "7200")])
        for name in ["a", "b", "c"] { room.site.set("http://service.example/\(name)", busy) }
        room.advance(60)
        #expect(try await room.pass(lists).polled == 1)
        room.advance(3_600)
        #expect(try await room.pass(lists).polled == 0)
    }

    @Test func `a later and shorter pause does not end a longer one`() throws {
        let room = try Newsroom()
        let store = try room.store()
        defer { try? store.close() }
        func want(_ seconds: Int64) throws -> Date? {
            let due = DueTime(after: .seconds(seconds), from: room.now)
            try store.transaction { try $0.save(HostWait(host: "a.example", due: due), now: room.now) }
            return try store.hostWaits()["a.example"]?.due.at
        }
        let day = room.now + 86_400
        #expect(try want(86_400) == day)
        room.advance(60)
        #expect(try want(3_600) == day)
        #expect(try want(90_000) == room.now + 90_000)
        room.advance(-86_400 * 365)
        #expect(try want(60) == room.now + 60, "a clock that was ahead silences no host for a year")
    }

    @Test func `groups of feeds that share a host become one`() {
        let groups = [["a"], ["b", "b>s"], ["c>s"], ["d"], ["e>c"], []]
        let lanes = HostLanes.joined(groups) { Set($0.split(separator: ">").map(String.init)) }
        #expect(lanes == [["a"], ["b", "b>s", "c>s", "e>c"], ["d"], []])
    }

    @Test func `a host that wants quiet is the one that answered`() async throws {
        let room = try Newsroom(isProxied: true)
        let list = """
            category: World
            every: 1m
            feeds:
              - url: http://a.example/1
              - url: http://a.example/2
              - url: http://b.example/1
            """
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        room.site.set("http://a.example/1", redirect(302, "http://b.example/busy"))
        room.site.set("http://b.example/busy", FakeSite.Document(status: 429, headers: [("Retry-After", "1800")]))
        for path in ["http://a.example/2", "http://b.example/1"] { room.site.set(path, document(["x"])) }
        try await room.pass(lists)
        room.advance(120)
        try await room.pass(lists)
        #expect(room.site.requests("http://a.example/2").count == 2)
        #expect(room.site.requests("http://b.example/1").count <= 1)
        room.advance(1_800)
        // Else the answer to the other feed would ask for quiet again, before or after this one's turn.
        room.site.set("http://b.example/busy", document(["y"]))
        let before = room.site.requests("http://b.example/1").count
        try await room.pass(lists)
        #expect(room.site.requests("http://b.example/1").count == before + 1)
    }

    @Test(arguments: [429, 503])
    func `a route of one's own host that is busy stops no other, unless it names a time`(status: Int) async throws {
        let room = try Newsroom()
        let other = try FakeSite()
        let list = """
            category: World
            every: 1m
            feeds:
              - url: \(room.site.url("/busy"))
                local: true
              - url: \(room.site.url("/ready"))
                local: true
              - url: \(other.url("/program"))
                local: true
            """
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        room.site.set("/busy", FakeSite.Document(status: status))
        room.site.set("/ready", document(["a"]))
        other.set("/program", document(["b"]))
        try await room.pass(lists)
        _ = try await polls(room, lists, minutes: 3)
        #expect(room.site.requests("/busy").count == 1, "it waits for an hour")
        #expect(room.site.requests("/ready").count == 4)
        #expect(try store(room) { try $0.hostWaits() }.isEmpty)
        let health = try lists.health(storePath: room.storePath, now: room.now)
        let wait = try #require(health[0].wait)
        #expect(wait.until == health[0].nextDue && wait.reason.contains("answered \(status)"))
        #expect(health[1].wait == nil)

        room.site.set("/busy", FakeSite.Document(status: status, headers: [("Retry-After", "1800")]))
        room.advance(3_600)
        _ = try await polls(room, lists, minutes: 20)
        #expect(room.site.requests("/ready").count <= 5, "the program asked for a pause")
        #expect(other.requests("/program").count >= 20, "which is not for another port")
        let later = try lists.health(storePath: room.storePath, now: room.now)
        let quiet = try #require(later[1].wait)
        #expect(quiet.reason.hasPrefix("'127.0.0.1:") && quiet.reason.contains("answered \(status)"))
    }

    private func store<Value>(_ room: Newsroom, _ work: (PublisherStore) throws -> Value) throws -> Value {
        let store = try room.store()
        defer { try? store.close() }
        return try work(store)
    }
}
