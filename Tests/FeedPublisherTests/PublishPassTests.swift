import Foundation
import HostSystem
import HubClient
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct PublishPassTests {
    private typealias Item = FakeSite.Item

    private func document(_ titles: [String], etag: String? = nil) -> FakeSite.Document {
        FakeSite.Document(body: FakeSite.rss(titles.map { Item($0) }), etag: etag)
    }

    @Test func `a first reading is silent and an entry that comes later is announced once`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["b", "a"]))
        var report = try await room.pass(lists)
        #expect(report.exit == .done)
        #expect((report.recorded, report.announced, report.sent) == (2, 0, 0))

        room.site.set("/w", document(["c", "b", "a"]))
        room.advance(60)
        report = try await room.pass(lists)
        #expect((report.announced, report.sent, report.pending) == (1, 1, 0))
        room.advance(60)
        report = try await room.pass(lists)
        #expect((report.polled, report.unchanged, report.sent) == (1, 1, 0))
        #expect(room.hub.messages.map(\.text) == ["Breaking World News : c"])
        #expect(room.hub.messages.map(\.tags) == ["World"])
        #expect(room.lines() == [])
    }

    @Test func `what is not due is not asked for, unless forced`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"]))
        try await room.pass(lists)
        room.advance(30)
        #expect(try await room.pass(lists).polled == 0)
        #expect(try await room.pass(lists) { $0.force = true }.polled == 1)
        room.advance(60)
        #expect(try await room.pass(lists).polled == 1)
    }

    @Test func `validators go back as they came, and a 304 changes nothing`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"], etag: "W/\"odd one\"-gzip"))
        try await room.pass(lists)
        room.advance(60)
        #expect(try await room.pass(lists).unchanged == 1)
        let requests = room.site.requests("/w")
        #expect(requests.map { $0.header("If-None-Match") } == [nil, "W/\"odd one\"-gzip"])
        #expect(requests[0].header("Accept")?.hasPrefix("application/atom+xml") == true)
        #expect(requests[0].header("Accept")?.contains("application/cap+xml") == true)
    }

    @Test func `a story that a feed proxy passes on is known by the address of its own site`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/proxied", "/own"]])
        for path in ["/proxied", "/own"] { room.site.set(path, document(["a"])) }
        try await room.pass(lists)
        room.advance(60)
        func site(_ title: String, link: String, headers: [(String, String)] = []) -> FakeSite.Document {
            FakeSite.Document(body: FakeSite.rss([Item(title, link: link), Item("a")]), headers: headers)
        }
        let headers = [("Content-Location", "https://news.example/feed")]
        room.site.set("/proxied", site("by the proxy", link: "/story", headers: headers))
        room.site.set("/own", site("by itself", link: "https://news.example/story"))
        #expect(try await room.pass(lists).announced == 1)
    }

    @Test func `a 304 that leaves a validator out keeps it`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        var page = document(["a"], etag: "\"1\"")
        page.headers = [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]
        room.site.set("/w", page)
        try await room.pass(lists)
        page.headers = []
        room.site.set("/w", page)
        for _ in 1...2 {
            room.advance(60)
            #expect(try await room.pass(lists).unchanged == 1)
        }
        #expect(room.site.requests("/w").last?.header("If-Modified-Since") == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func `existing entries are announced when asked for`() async throws {
        let room = try Newsroom()
        room.site.set("/w", document(["c", "b", "a"]))
        try await room.pass(try room.lists(["World": ["/w"]])) { $0.announceExisting = .newest(2) }
        #expect(room.hub.titles == ["b", "c"])
    }

    @Test func `an edit, a changed id, a changed scheme and a second feed repeat nothing`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w", "/other"], "Sports": ["/s"]])
        for path in ["/w", "/other", "/s"] { room.site.set(path, document(["x", "y", "z"])) }
        try await room.pass(lists)
        func items(_ first: Item...) -> FakeSite.Document {
            FakeSite.Document(body: FakeSite.rss(first + ["x", "y", "z"].map { Item($0) }))
        }
        let link = "https://news.example/story"
        for item in [
            Item("story", id: "http://news.example/1", link: link),
            Item("story, edited", id: "http://news.example/1", link: link),
            Item("story", id: "https://www.news.example/1", link: link + "-new"),
            Item("story, edited", id: "another", link: link + "?utm_source=rss"),
        ] {
            room.site.set("/w", items(item))
            room.site.set("/other", items(Item("the same elsewhere", id: "o1", link: link)))
            room.advance(60)
            try await room.pass(lists)
        }
        #expect(room.hub.messages.count == 1)
        // In another category it is another agent's news.
        room.site.set("/s", items(Item("story", id: "s1", link: link)))
        room.advance(60)
        try await room.pass(lists)
        #expect(room.hub.messages.map(\.tags) == ["World", "Sports"])
    }

    @Test func `beyond the cap one digest follows, for each category`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"], "Sports": ["/s"]])
        for path in ["/w", "/s"] { room.site.set(path, document([])) }
        try await room.pass(lists)
        room.site.set("/w", document((1...9).reversed().map { "w\($0)" }))
        room.site.set("/s", document((1...3).reversed().map { "s\($0)" }))
        room.advance(60)
        let report = try await room.pass(lists)
        #expect((report.sent, report.digests, report.pending) == (9, 1, 0))
        let world = room.hub.messages.filter { $0.tags == "World" }
        #expect(world.map(\.title) == ["w5", "w6", "w7", "w8", "w9", "4 more World stories"])
        #expect(world.last?.text == "4 more World stories: w1; w2; w3; w4")
        #expect(room.hub.messages.filter { $0.tags == "Sports" }.map(\.title) == ["s1", "s2", "s3"])
        room.advance(60)
        #expect(try await room.pass(lists).sent == 0)
    }

    @Test func `passes of a minute send no more than the cap in ten minutes, then the newest and one digest`()
        async throws
    {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document([]))
        try await room.pass(lists)
        for number in 1...9 {
            room.site.set("/w", document((1...number * 2).reversed().map { "n\($0)" }))
            room.advance(60)
            try await room.pass(lists)
        }
        #expect(room.hub.titles == ["n1", "n2", "n3", "n4", "n6", "1 more World story"])
        room.advance(240)
        try await room.pass(lists)
        let later = ["n14", "n15", "n16", "n17", "n18", "7 more World stories"]
        #expect(room.hub.titles.dropFirst(6) == later[...])
    }

    @Test func `without a cap each entry is sent on its own`() async throws {
        let room = try Newsroom()
        room.site.set("/w", document((1...20).map { "w\($0)" }))
        try await room.pass(try room.lists(["World": ["/w"]])) {
            $0.cap = nil
            $0.announceExisting = .all
        }
        #expect(room.hub.messages.count == 20)
    }

    @Test func `the hub away keeps the rows, and the same bytes follow with the same key`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document([]))
        try await room.pass(lists)
        room.hub.answer { _ in 0 }
        room.site.set("/w", document(["b", "a"]))
        room.advance(60)
        var report = try await room.pass(lists)
        #expect((report.exit, report.sent, report.pending) == (.tryLater, 0, 2))
        #expect(room.lines().count == 1)
        #expect(room.pauses == [.seconds(1), .seconds(4)])
        room.advance(60)
        #expect(try await room.pass(lists).exit == .tryLater)
        #expect(room.lines() == [], "cron hears of one outage once")

        room.hub.answer { _ in 201 }
        room.advance(60)
        report = try await room.pass(lists)
        #expect((report.exit, report.sent, report.pending) == (.done, 2, 0))
        #expect(room.lines() == ["notice: hub '\(room.hub.client.address)' accepts messages again"])
        #expect(room.hub.titles == ["a", "b"])
        #expect(Set(room.hub.attempts.map(\.key)).count == 2)
        #expect(room.hub.conflicts == 0)
    }

    @Test func `an answer that is lost repeats nothing`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"]))
        room.hub.loseAnswers(true)
        #expect(try await room.pass(lists) { $0.announceExisting = .all }.exit == .tryLater)
        room.hub.loseAnswers(false)
        room.advance(86_400)
        try await room.pass(lists)
        #expect(room.hub.titles == ["a"])
        #expect(room.hub.conflicts == 0)
    }

    @Test func `what waited too long becomes one digest`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["c", "b", "a"]))
        room.hub.answer { _ in 503 }
        try await room.pass(lists) { $0.announceExisting = .all }
        room.hub.answer { _ in 201 }
        room.site.set("/w", document(["d", "c", "b", "a"]))
        room.advance(7 * 3_600)
        let report = try await room.pass(lists)
        #expect(report.pending == 0)
        // The first was tried already, so the hub may have it: it goes as it is.
        #expect(room.hub.titles == ["a", "d", "2 more World stories"])
    }

    @Test(arguments: [400, 413, 422])
    func `a message that the hub refuses is given up with one line, and the rest go on`(status: Int) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["c", "b", "a"]))
        room.hub.answer { $0.title == "b" ? status : 201 }
        let report = try await room.pass(lists) { $0.announceExisting = .all }
        #expect((report.exit, report.sent, report.refused, report.pending) == (.done, 2, 1, 0))
        #expect(room.hub.titles == ["a", "c"])
        let lines = room.lines()
        #expect(lines.count == 1 && lines[0].contains("'b'") && lines[0].contains("\(status)"), "\(lines)")
        room.advance(60)
        try await room.pass(lists)
        #expect(room.lines() == [])
        #expect(room.hub.attempts.count == 3)
    }

    @Test(arguments: [401, 403, 404])
    func `a hub that refuses us stops the pass and keeps the rows`(status: Int) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["b", "a"]))
        room.hub.answer { _ in status }
        let report = try await room.pass(lists) { $0.announceExisting = .all }
        #expect((report.exit, report.pending) == (.badConfiguration, 2))
        #expect(room.hub.attempts.count == 1)
        let lines = room.lines()
        #expect(lines.count == 2 && lines[0].hasPrefix("error: ") && lines[1].hasPrefix("hint: "), "\(lines)")
    }

    @Test(arguments: [429, 500, 502, 503])
    func `a hub that is busy is tried again in the pass, then later`(status: Int) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"]))
        room.hub.answer([("Retry-After", "7")]) { _ in status }
        #expect(try await room.pass(lists) { $0.announceExisting = .all }.exit == .tryLater)
        #expect(room.pauses == [.seconds(7), .seconds(7)])
        room.hub.answer([("Retry-After", "3600")]) { _ in status }
        try await room.pass(lists)
        #expect(room.pauses.count == 2, "an hour is for another pass")
        room.hub.answer { _ in 201 }
        try await room.pass(lists)
        #expect(room.hub.titles == ["a"])
    }

    @Test func `the hub gets the categories when they change, and a hub without such a route is not an error`()
        async throws
    {
        let room = try Newsroom()
        let lists = try room.lists(["World": [], "Art": []])
        try await room.pass(lists)
        try await room.pass(lists)
        #expect(room.hub.categories == [["Art", "World"]])
        try await room.pass(try room.lists(["World": []]))
        #expect(room.hub.categories.count == 2)
        room.hub.dropOwnRoutes()
        #expect(try await room.pass(lists).exit == .done)
        #expect(room.lines() == [])
    }

    @Test func `a dry run shows messages and recipients, and changes nothing`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document((1...7).reversed().map { "w\($0)" }, etag: "\"1\""))
        var preview = try await room.preview(lists) { $0.announceExisting = .all }
        #expect(!FileManager.default.fileExists(atPath: room.storePath))
        #expect(preview.messages.map(\.title) == ["w3", "w4", "w5", "w6", "w7", "2 more World stories"])
        #expect(preview.messages.allSatisfy { $0.tags == "World" && $0.recipients == 3 && !$0.body.isEmpty })
        #expect(preview.report.announced == 7)
        #expect(room.hub.attempts == [])
        #expect(room.hub.categories == [])

        try await room.pass(lists)
        room.site.set("/w", document(["w8", "w7"], etag: "\"2\""))
        room.advance(60)
        preview = try await room.preview(lists)
        #expect(preview.messages.last?.title == "w8")
        try await room.pass(lists)
        #expect(room.hub.titles == ["w8"])
    }

    @Test func `a feed that moved in its list keeps its memory`() async throws {
        let room = try Newsroom()
        room.site.set("/old", FakeSite.Document(status: 301, headers: [("Location", room.site.url("/new"))]))
        room.site.set("/new", document(["b", "a"]))
        try await room.pass(try room.lists(["World": ["/old"]]))
        room.site.set("/new", document(["c", "b", "a"]))
        room.advance(60)
        try await room.pass(try room.lists(["World": ["/new"]]))
        #expect(room.hub.titles == ["c"])
    }

    @Test func `credentials written into an address after a 401 are used at once`() async throws {
        func list(_ url: String) throws -> FeedLists {
            try FeedLists.parse([(file: "w.yaml", text: "category: World\nfeeds:\n  - url: \(url)")])
        }
        let room = try Newsroom(isProxied: true)
        let (before, after) = ("http://a.example/w", "http://me:password@a.example/w")
        room.site.set(before, document(["a"], etag: "\"1\""))
        try await room.pass(try list(before))
        room.site.set(before, FakeSite.Document(status: 401))
        try await room.pass(try list(before)) { $0.force = true }
        room.site.set(before, document(["b", "a"], etag: "\"1\""))
        #expect(try await room.pass(try list(before)).polled == 0)
        #expect(try await room.pass(try list(after)).polled == 1)
        #expect(room.hub.titles == ["b"], "the entries are known as before")
    }

    @Test func `a move is believed after a week and some polls, and said once`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/old"]])
        room.site.set("/old", FakeSite.Document(status: 301, headers: [("Location", room.site.url("/new"))]))
        room.site.set("/new", document(["a"]))
        for _ in 1...3 {
            try await room.pass(lists)
            room.advance(4 * 86_400)
        }
        let lines = room.lines()
        #expect(lines.count == 1 && lines[0].hasPrefix("hint: ") && lines[0].contains("moved permanently"), "\(lines)")
    }
}

@Suite struct PublishSourcesTests {
    @Test func `a file of one's own is a feed`() async throws {
        let room = try Newsroom()
        let path = room.folder.file("own.xml")
        let list = "category: World\nevery: 1m\nfeeds:\n  - url: file://\(path)\n    local: true"
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        func publish(_ titles: [String]) throws {
            try FakeSite.rss(titles.map { FakeSite.Item($0) }).write(toFile: path, atomically: true, encoding: .utf8)
        }
        try await room.pass(lists)
        #expect(room.lines().count == 1, "it is not there yet")
        try publish(["a"])
        room.advance(86_400)
        try await room.pass(lists)
        try publish(["b", "a"])
        room.advance(86_400)
        try await room.pass(lists)
        #expect(room.hub.titles == ["b"])
    }

    @Test func `a private address needs the list's word for it`() async throws {
        let room = try Newsroom()
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([FakeSite.Item("a")])))
        let list = "category: World\nfeeds:\n  - url: \(room.site.url("/w"))"
        let report = try await room.pass(try FeedLists.parse([(file: "w.yaml", text: list)]))
        #expect(report.failedFeeds == 1)
        let lines = room.lines()
        #expect(lines.count == 1 && lines[0].contains("needs 'local: true'"), "\(lines)")
        #expect(room.site.requests("/w").isEmpty)
    }

    @Test func `a pass that is cancelled leaves its work to the next`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([FakeSite.Item("a"), FakeSite.Item("b")])))
        let pass = Task { try await room.pass(lists) { $0.announceExisting = .all } }
        pass.cancel()
        #expect(try await pass.value.sent == 0)
        #expect(room.lines() == [])
        try await room.pass(lists) { $0.announceExisting = .all }
        #expect(room.hub.titles == ["b", "a"])
    }

    @Test func `an archive of five thousand entries is a silent first reading`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        let items = (0..<5_000).map { FakeSite.Item("t\($0)", link: "https://news.example/\($0)") }
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss(items)))
        #expect(try await room.pass(lists).recorded == 5_000)
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([FakeSite.Item("new")] + items)))
        room.advance(60)
        try await room.pass(lists)
        #expect(room.hub.titles == ["new"])
    }
}
