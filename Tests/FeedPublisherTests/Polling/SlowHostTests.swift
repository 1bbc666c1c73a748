import Foundation
import HostSystem
import HubTestServer
import OutboundHTTP
import Synchronization
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Hosts that answer late or never, beside others.
@Suite struct SlowHostTests {
    private final class Log: Sendable {
        private let paths = Mutex<[String]>([])

        func append(_ path: String) -> Int {
            paths.withLock {
                $0.append(path)
                return $0.count
            }
        }

        var all: [String] { paths.withLock { $0 } }
    }

    /// A proxy that stands for all hosts; its paths are whole addresses.
    private func proxied(_ server: ScriptedHTTPServer) -> OutboundClient {
        OutboundClient(
            userAgent: "newswire-tests",
            proxies: ProxySettings { $0 == "http_proxy" ? server.baseURL : nil }
        )
    }

    private func lists(_ urls: [String]) throws -> FeedLists {
        let text = "category: World\nevery: 1m\nfeeds:\n" + urls.map { "  - url: \($0)\n" }.joined()
        return try FeedLists.parse([(file: "w.yaml", text: text)])
    }

    /// Keeps no connection: libcurl repeats a request when a kept connection ends without an answer, and here all hosts
    /// share the proxy's.
    private static func rss(_ titles: String...) -> ScriptedReply {
        .status(200, headers: [("Connection", "close")], body: FakeSite.rss(titles.map { FakeSite.Item($0) }))
    }

    @Test func `a host that gives no answer holds no news of others back`() async throws {
        let (release, ready) = (Gate(), Gate())
        let log = Log()
        let server = try ScriptedHTTPServer { request in
            switch request.path {
            case "http://slow.example/":
                release.blockUntilOpen()
                _ = log.append("the slow host")
                return .hangUp
            case "http://quick.example/2":
                // The first feed of this host is recorded by now.
                ready.open()
                return Self.rss()
            default: return Self.rss("news")
            }
        }
        let room = try Newsroom()
        room.setDeadlines([PublishPass.sendingInterval: ready])
        room.hub.answer { message in
            _ = log.append(message.title)
            release.open()
            return 201
        }
        let urls = ["http://slow.example/", "http://quick.example/1", "http://quick.example/2"]
        let report = try await room.pass(try lists(urls), http: proxied(server)) { $0.announceExisting = .all }
        #expect(log.all == ["news", "the slow host"])
        let lines = room.lines()
        #expect(lines.count == 1 && !lines[0].contains("took longer"), "nobody waited for it to time out: \(lines)")
        #expect((report.polled, report.sent, report.failedFeeds, report.exit) == (3, 1, 1, .done))
    }

    @Test func `what is sent before the pass ends counts in the cap, and the rest is one digest`() async throws {
        let (release, ready) = (Gate(), Gate())
        let server = try ScriptedHTTPServer { request in
            switch request.path {
            case "http://quick.example/1": return Self.rss("d", "c", "b", "a")
            case "http://quick.example/2":
                ready.open()
                return Self.rss()
            default:
                release.blockUntilOpen()
                return Self.rss("h", "g", "f", "e")
            }
        }
        let room = try Newsroom()
        room.setDeadlines([PublishPass.sendingInterval: ready])
        room.hub.answer { message in
            if message.title == "c" { release.open() }
            return 201
        }
        let urls = ["http://slow.example/", "http://quick.example/1", "http://quick.example/2"]
        let report = try await room.pass(try lists(urls), http: proxied(server)) {
            ($0.announceExisting, $0.cap) = (.all, 3)
        }
        #expect(room.hub.titles == ["b", "c", "d", "5 more World stories"])
        #expect((report.sent, report.digests, report.pending) == (4, 1, 0))
    }

    @Test func `what a pass has no time for is first in the next`() async throws {
        let spent = Gate()
        let log = Log()
        let server = try ScriptedHTTPServer { request in
            if log.append(request.path) == 3 { spent.open() }
            return Self.rss()
        }
        let room = try Newsroom()
        room.setDeadlines([PublishPass.pollingBudget: spent])
        let urls = (0..<300).map { "http://big.example/\($0)" }
        let lists = try lists(urls)
        let first = try await room.pass(lists, http: proxied(server)).polled
        #expect((3..<300).contains(first))
        room.advance(60)
        let second = try await room.pass(lists, http: proxied(server)).polled
        #expect(second == 300)
        #expect(Array(log.all.prefix(300)) == urls, "none is asked twice before all were")
        #expect(room.pauses.count == first + second - 2)
    }

    @Test func `a host that cannot be reached is left alone for the rest of the pass`() async throws {
        let server = try ScriptedHTTPServer { request in
            request.path.hasPrefix("http://dead.example/") ? .hangUp : Self.rss()
        }
        let room = try Newsroom()
        let urls = (1...3).flatMap { ["http://dead.example/\($0)", "http://live.example/\($0)"] }
        let lists = try lists(urls)
        let report = try await room.pass(lists, http: proxied(server))
        #expect((report.polled, report.failedFeeds) == (4, 1))
        room.advance(60)
        try await room.pass(lists, http: proxied(server))
        let dead = server.requests.map(\.path).filter { $0.hasPrefix("http://dead.example/") }
        #expect(dead == ["http://dead.example/1", "http://dead.example/2"], "another of its feeds is asked for next")
    }

    @Test func `the order of a lane is by turns missed, then the list's`() {
        #expect(HostLanes.sorted([3, 1, 2, 13, 11], by: { $0 / 10 }) == [13, 11, 3, 1, 2])
    }

    @Test func `slow routes of a host of one's own hold no ready one back`() async throws {
        let release = Gate()
        let server = try ScriptedHTTPServer { request in
            if request.path.hasPrefix("/slow") {
                release.blockUntilOpen()
                return .hangUp
            }
            return Self.rss("news")
        }
        let room = try Newsroom()
        room.letPass(PublishPass.localPatience)
        // Else the slow routes answer never.
        room.whenReading { _ in release.open() }
        let paths = ["/slow1", "/slow2", "/slow3", "/ready"]
        let feeds = paths.map { "  - url: \(server.url($0))\n    local: true\n" }.joined()
        let lists = try FeedLists.parse([(file: "w.yaml", text: "category: World\nfeeds:\n" + feeds)])
        let report = try await room.pass(lists) { $0.announceExisting = .all }
        #expect((report.polled, report.sent, report.failedFeeds) == (4, 1, 3))
        #expect(room.hub.titles == ["news"])
    }

    @Test func `a host's further slots open only while a turn keeps others waiting`() throws {
        var queue = HostQueue(["a", "b", "c", "d"], slots: 1, maximumSlots: 2)
        var begun = queue.begin()
        #expect(begun?.turn == "a" && begun?.isFirst == true)
        #expect(!queue.canBegin)
        let first = queue.beginWatch()
        let other = queue.beginWatch()
        #expect(first == 0 && other == nil, "one timer at a time")
        queue.finish()
        begun = queue.begin()
        #expect(begun?.turn == "b" && begun?.isFirst == false)
        queue.watchEnded(sawFinished: 0)
        #expect(!queue.canBegin, "a turn has ended meanwhile")
        let second = queue.beginWatch()
        #expect(second == 1)
        queue.watchEnded(sawFinished: 1)
        begun = queue.begin()
        #expect(begun?.turn == "c")
        let third = queue.beginWatch()
        #expect(third == nil, "there are no more slots")
        var single = HostQueue(["a", "b"])
        _ = single.begin()
        let none = single.beginWatch()
        #expect(none == nil, "a public host has one")
    }
}
