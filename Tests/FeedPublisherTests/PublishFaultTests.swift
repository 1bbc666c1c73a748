import Foundation
import HostSystem
import HubTestServer
import SQLiteFiles
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct PublishFaultTests {
    private typealias Item = FakeSite.Item

    private func document(_ titles: [String], etag: String? = nil) -> FakeSite.Document {
        FakeSite.Document(body: FakeSite.rss(titles.map { Item($0) }), etag: etag)
    }

    struct BadFeed: Sendable, CustomTestStringConvertible {
        let label: String
        let document: FakeSite.Document
        let line: String

        var testDescription: String { label }
    }

    static let badFeeds = [
        BadFeed(
            label: "a web page",
            document: FakeSite.Document(
                body: "<!DOCTYPE html><html><head><title>News</title></head><body>…</body></html>"
            ),
            line: "is an HTML page, not a feed"
        ),
        BadFeed(label: "not there", document: FakeSite.Document(status: 404), line: "answered 404"),
        BadFeed(label: "forbidden", document: FakeSite.Document(status: 403), line: "answered 403"),
        BadFeed(label: "wants a password", document: FakeSite.Document(status: 401), line: "credentials required"),
        BadFeed(label: "gone", document: FakeSite.Document(status: 410), line: "answered 410 (gone)"),
        BadFeed(label: "failing", document: FakeSite.Document(status: 500), line: "answered 500"),
        BadFeed(label: "empty", document: FakeSite.Document(body: "  "), line: "sent an empty document"),
        BadFeed(
            label: "a site map",
            document: FakeSite.Document(body: "<?xml version=\"1.0\"?><urlset><url/></urlset>"),
            line: "is not a feed: its root element is 'urlset'"
        ),
        BadFeed(label: "noise", document: FakeSite.Document(body: "\u{1}\u{2}nothing at all"), line: "feed '"),
        BadFeed(label: "hanging up", document: FakeSite.Document(isHangUp: true), line: "cannot be fetched"),
        BadFeed(
            label: "cut",
            document: FakeSite.Document(body: FakeSite.rss([Item("x")]), missing: 100),
            line: "was cut after"
        ),
        BadFeed(
            label: "a redirect without end",
            document: FakeSite.Document(status: 302, headers: [("Location", "/bad")]),
            line: "redirected more than"
        ),
        BadFeed(
            label: "a redirect into the private network",
            document: FakeSite.Document(status: 302, headers: [("Location", "http://localhost:9/")]),
            line: "is not a public address"
        ),
        BadFeed(
            label: "a redirect to a file",
            document: FakeSite.Document(status: 302, headers: [("Location", "file:///etc/passwd")]),
            line: "cannot be fetched"
        ),
    ]

    @Test(arguments: badFeeds)
    func `one bad feed is one line, said once, and stops no other`(bad: BadFeed) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/bad", "/good"]])
        room.site.set("/bad", bad.document)
        room.site.set("/good", document(["a"]))
        let report = try await room.pass(lists)
        #expect((report.exit, report.polled, report.failedFeeds) == (.done, 2, 1))
        let lines = room.lines()
        #expect(lines.count == 1 && lines[0].contains(bad.line), "\(lines)")
        #expect(lines[0].hasPrefix("warning: feed '\(room.site.url("/bad"))'"), "\(lines)")

        room.site.set("/good", document(["b", "a"]))
        room.advance(86_400 * 2)
        try await room.pass(lists)
        #expect(room.lines() == [])
        #expect(room.hub.titles == ["b"])

        room.site.set("/bad", document(["c"]))
        room.advance(86_400 * 2)
        try await room.pass(lists) { $0.force = true }
        #expect(room.lines() == [], "it may fail again")
        room.advance(3_600)
        try await room.pass(lists) { $0.force = true }
        #expect(room.lines() == ["notice: feed '\(room.site.url("/bad"))' can be read again"])
        #expect(room.hub.titles == ["b"], "its first reading is silent")
    }

    @Test func `no key in a feed's address reaches a line, nor its stored failure`() async throws {
        let room = try Newsroom(isProxied: true)
        let (old, new) = ("http://a.example/w", "http://b.example/w")
        let list = "category: World\nfeeds:\n  - url: http://me:secret@a.example/w?token=secret"
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        room.site.set(old, FakeSite.Document(status: 301, headers: [("Location", "\(new)?token=secret")]))
        room.site.set(new, document(["a"]))
        for _ in 1...3 {
            try await room.pass(lists)
            room.advance(4 * 86_400)
        }
        let link = "<link rel=alternate type='application/rss+xml' href='/w?key=secret'>"
        let page = "<!DOCTYPE html><html><head>\(link)</head></html>"
        for bad in [FakeSite.Document(status: 404), FakeSite.Document(body: page)] {
            room.site.set(new, bad)
            room.site.set(old, bad)
            try await room.pass(lists) { $0.force = true }
        }
        let lines = room.lines()
        #expect(lines.count == 3 && lines[0].contains("has moved permanently"), "\(lines)")
        #expect(lines.allSatisfy { !$0.contains("secret") }, "\(lines)")
        let store = try room.store()
        defer { try? store.close() }
        #expect(try store.feeds().values.allSatisfy { $0.problem?.line.contains("secret") == false })
    }

    @Test func `a failure of another kind is reported again`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/bad"]])
        for status in [404, 500, 500, 404] {
            room.site.set("/bad", FakeSite.Document(status: status))
            try await room.pass(lists) { $0.force = true }
        }
        #expect(room.lines().count == 3)
    }

    @Test func `a feed that is gone is not asked for again`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/gone"]])
        room.site.set("/gone", FakeSite.Document(status: 410))
        try await room.pass(lists)
        room.advance(30 * 86_400)
        #expect(try await room.pass(lists).polled == 0)
    }

    @Test func `failures make the waits longer`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/bad"]])
        room.site.set("/bad", FakeSite.Document(status: 500))
        var polls = 0
        for _ in 0..<60 {
            polls += try await room.pass(lists).polled
            room.advance(60)
        }
        #expect((5...8).contains(polls), "\(polls) polls in an hour")
    }

    @Test(arguments: [("1800", 1_800.0), (nil, 3_600)] as [(String?, Double)])
    func `a host that asks for quiet gets it, for all its feeds`(field: String?, quiet: Double) async throws {
        let room = try Newsroom(isProxied: true)
        let (busy, other) = ("http://a.example/busy", "http://a.example/other")
        let list = "category: World\nevery: 1m\nfeeds:\n  - url: \(busy)\n  - url: \(other)\n"
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        room.site.set(busy, FakeSite.Document(status: 429, headers: field.map { [("Retry-After", $0)] } ?? []))
        room.site.set(other, document(["a"]))
        #expect(try await room.pass(lists).polled == 1)
        room.advance(quiet - 60)
        #expect(try await room.pass(lists).polled == 0)
        room.site.set(busy, document(["a"]))
        room.advance(120)
        #expect(try await room.pass(lists).polled == 2)
    }

    @Test func `a truncated document keeps its validators and is named once`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        let items = (1...5_001).map { Item("n\($0)") }
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss(items), etag: "\"1\""))
        try await room.pass(lists)
        let lines = room.lines()
        #expect(lines.count == 1 && lines[0].contains("more than 5000 entries"), "\(lines)")
        room.advance(60)
        #expect(try await room.pass(lists).unchanged == 1)
        #expect(room.site.requests("/w").last?.header("If-None-Match") == "\"1\"")
        #expect(room.lines() == [], "a 304 says nothing new")
        let store = try room.store()
        defer { try? store.close() }
        let health = try lists.health(of: store, now: .now)
        #expect(health.map(\.state) == [.well] && health[0].problem?.contains("5000") == true)
    }

    @Test func `a document that was cut stores nothing that would hide the rest`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        let old = (1...4).map { Item("old\($0)") }
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss(old), etag: "\"1\""))
        try await room.pass(lists)
        let new = [Item("n1"), Item("n2"), Item("n3")]
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([new[0]], isCut: true), etag: "\"2\""))
        room.advance(60)
        try await room.pass(lists)
        let lines = room.lines()
        #expect(lines.count == 1 && lines[0].contains("is truncated or broken"), "\(lines)")
        #expect(room.hub.titles == ["n1"], "a complete entry of a cut document is news")
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss(new + old), etag: "\"2\""))
        room.advance(60)
        try await room.pass(lists)
        #expect(room.site.requests("/w").last?.header("If-None-Match") == nil)
        #expect(room.hub.titles == ["n1", "n3", "n2"])
        room.advance(3_600)
        try await room.pass(lists)
        #expect(room.lines() == ["notice: feed '\(room.site.url("/w"))' can be read again"])
    }

    @Test func `a truncated first document is not a baseline, unless the feed is always truncated`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w", "/broken"]])
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([Item("1")], isCut: true)))
        room.site.set("/broken", FakeSite.Document(body: FakeSite.rss([Item("b1")], isCut: true)))
        try await room.pass(lists)
        room.site.set("/w", document(["1", "2", "3", "4"]))
        for _ in 1...2 {
            room.advance(60)
            try await room.pass(lists)
        }
        #expect(room.hub.titles == [])
        room.site.set("/broken", FakeSite.Document(body: FakeSite.rss([Item("b2"), Item("b1")], isCut: true)))
        room.advance(60)
        try await room.pass(lists)
        #expect(room.hub.titles == ["b2"])
    }

    @Test func `a full disk leaves no mark without its row, and the pass works again once there is space`() async throws
    {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["old"]))
        try await room.pass(lists)
        let titles = (1...300).map { "title number \($0) " + String(repeating: "x", count: 200) }
        room.site.set("/w", document(titles.reversed(), etag: "\"2\""))
        room.advance(60)
        let store = try room.store()
        var fullPages = 0
        for pages in stride(from: 20, through: 400, by: 20) {
            try store.limitPages(to: pages)
            do {
                _ = try await room.pass(lists, store: store) { $0.cap = nil }
                break
            } catch let error as DatabaseFileError {
                #expect(error.isTemporary)
                #expect(error.description.contains("the disk is full"))
                fullPages = pages
            }
        }
        #expect(fullPages > 0)
        try store.limitPages(to: 1_000_000)
        for _ in 1...2 {
            room.advance(60)
            _ = try await room.pass(lists, store: store) { $0.cap = nil }
        }
        #expect(room.hub.titles == titles)
        #expect(room.hub.conflicts == 0)
    }

    @Test(arguments: [-86_400.0, 86_400, 315_360_000, -315_360_000])
    func `a wall clock that jumps and comes back loses nothing and floods nothing`(jump: Double) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        var titles = ["old"]
        func publish(_ title: String) {
            titles.insert(title, at: 0)
            room.site.set("/w", document(titles))
        }
        room.site.set("/w", document(titles))
        try await room.pass(lists)
        for (round, step) in [60, jump, 60, -jump, 60].enumerated() {
            room.advance(step)
            publish("r\(round)")
            let report = try await room.pass(lists)
            #expect((report.polled, report.sent) == (1, 1), "round \(round)")
        }
        #expect(room.hub.titles == ["r0", "r1", "r2", "r3", "r4"])
        #expect(room.lines() == [])
    }

    @Test func `rows that wait while the clock jumps are all reported`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document([]))
        try await room.pass(lists)
        room.hub.answer { _ in 503 }
        room.site.set("/w", document(["d", "c", "b", "a"]))
        room.advance(60)
        try await room.pass(lists)
        room.hub.answer { _ in 201 }
        room.advance(315_360_000)
        #expect(try await room.pass(lists).pending == 0)
        #expect(room.hub.messages.map(\.text) == ["Breaking World News : a", "3 more World stories: b; c; d"])
    }
}
