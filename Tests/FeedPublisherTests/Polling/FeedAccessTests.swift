import Foundation
import HubTestServer
import OutboundHTTP
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Keys of a feed that control how it is requested, certificates, codings and redirects.
@Suite struct FeedAccessTests {
    private func document(_ titles: [String], headers: [(String, String)] = []) -> FakeSite.Document {
        FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) }), headers: headers)
    }

    private func lists(_ feed: String) throws -> FeedLists {
        try FeedLists.parse([(file: "w.yaml", text: "category: World\nevery: 1m\nfeeds:\n  - \(feed)\n")])
    }

    @Test func `a feed's headers are sent to its own address, and to no other that it moves to`() async throws {
        let room = try Newsroom(isProxied: true)
        let file = room.folder.file("secret")
        try "X-Token: secret-1\n".write(toFile: file, atomically: true, encoding: .utf8)
        let (own, moved) = ("http://a.example/w", "http://b.example/w")
        let keys =
            "{url: \"\(own)\", headers: {Accept: x/y, X-A: b}, headers-file: \"\(file)\", user-agent: Special/1, cookies: true}"
        let lists = try lists(keys)
        room.site.set(own, document(["a"]))
        try await room.pass(lists)
        let first = try #require(room.site.requests(own).first)
        #expect(first.header("X-Token") == "secret-1" && first.header("X-A") == "b")
        #expect(first.header("Accept") == "x/y" && first.header("User-Agent") == "Special/1")

        // The file is read for each request; the secret is in no record and no line.
        try "X-Token: secret-2\n".write(toFile: file, atomically: true, encoding: .utf8)
        room.site.set(own, FakeSite.Document(status: 301, headers: [("Location", moved), ("Set-Cookie", "a=1")]))
        room.site.set(moved, document(["b", "a"]))
        for _ in 1...4 {
            room.advance(4 * 86_400)
            try await room.pass(lists)
        }
        #expect(room.site.requests(own).last?.header("X-Token") == "secret-2")
        let others = room.site.requests(moved)
        #expect(others.count == 4 && room.site.requests(own).count == 4, "the move is followed in the end")
        for request in others {
            #expect(["X-Token", "X-A", "Cookie"].allSatisfy { request.header($0) == nil })
            #expect(request.header("User-Agent") == "newswire-tests")
        }
        try FileManager.default.removeItem(atPath: file)
        room.site.set(own, document(["c"]))
        _ = room.lines()
        let again = try self.lists(keys.replacing("/w\"", with: "/v\""))
        let report = try await room.pass(again)
        #expect(
            report.failedFeeds == 1 && room.site.requests("http://a.example/v").isEmpty,
            "never without its headers"
        )
        let lines = room.lines()
        #expect(lines.count == 1 && lines[0].contains("cannot open") || lines[0].contains("no such file"), "\(lines)")
        #expect(!lines[0].contains("secret-"))
    }

    @Test func `a local feed may be redirected to another port of its host`() async throws {
        let room = try Newsroom()
        let other = try FakeSite()
        let lists = try room.lists(["World": ["/w", "/x"]])
        room.site.set("/w", FakeSite.Document(status: 302, headers: [("Location", other.url("/w"))]))
        let name = other.url("/w").replacing("127.0.0.1", with: "localhost")
        room.site.set("/x", FakeSite.Document(status: 302, headers: [("Location", name)]))
        other.set("/w", document(["a"]))
        let report = try await room.pass(lists) { $0.announceExisting = .all }
        #expect(room.hub.titles == ["a"])
        #expect(report.failedFeeds == 1 && other.requests("/w").count == 1, "another name is another host")
        #expect(room.lines().first?.contains("a redirect to another host must lead to a public address") == true)
    }

    @Test(arguments: ["UTF-8", "aws-chunked", "binary"])
    func `a document with a coding that does not exist is read`(coding: String) async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"], headers: [("Content-Encoding", coding)]))
        try await room.pass(lists) { $0.announceExisting = .all }
        #expect(room.hub.titles == ["a"])
    }

    @Test func `a feed whose server always answers 304 is read again after a week`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        let body = FakeSite.rss([FakeSite.Item("a")])
        room.site.set("/w", FakeSite.Document(body: body, etag: "\"1\""))
        try await room.pass(lists)
        room.site.set(
            "/w",
            FakeSite.Document(body: FakeSite.rss([FakeSite.Item("b"), FakeSite.Item("a")]), etag: "\"1\"")
        )
        for _ in 1...6 {
            room.advance(86_400)
            #expect(try await room.pass(lists).unchanged == 1)
        }
        room.advance(86_400)
        try await room.pass(lists)
        #expect(room.hub.titles == ["b"])
        room.advance(86_400)
        #expect(try await room.pass(lists).unchanged == 1, "the next week begins")
        #expect(room.site.requests("/w").map { $0.header("If-None-Match") == nil }.count { $0 } == 2)
    }

    @Test func `a flapping feed is one line for an outage, and one at its end`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", document(["a"]))
        try await room.pass(lists)
        var lines: [String] = []
        for status in [503, 500, 502, 504, 500, 500] {
            room.site.set("/w", FakeSite.Document(status: status))
            room.advance(900)
            try await room.pass(lists) { $0.force = true }
            let failing = try lists.health(storePath: room.storePath, now: room.now)[0]
            #expect(failing.state == .failing && failing.problem?.contains("answered \(status)") == true)
            room.site.set("/w", document(["a"]))
            room.advance(900)
            try await room.pass(lists) { $0.force = true }
            let well = try lists.health(storePath: room.storePath, now: room.now)[0]
            #expect(well.state == .well && well.problem == nil)
            lines += room.lines()
        }
        #expect(lines.count == 1 && lines[0].contains("answered 503"), "\(lines)")
        for _ in 1...4 {
            room.advance(900)
            try await room.pass(lists) { $0.force = true }
        }
        #expect(room.lines() == ["notice: feed '\(room.site.url("/w"))' can be read again"])
        room.site.set("/w", FakeSite.Document(status: 500))
        room.advance(900)
        try await room.pass(lists) { $0.force = true }
        #expect(room.lines().count == 1, "another outage")
        room.site.set("/w", FakeSite.Document(status: 404))
        room.advance(900)
        try await room.pass(lists) { $0.force = true }
        #expect(room.lines().count == 1, "for which the operator can do something")
    }
}
