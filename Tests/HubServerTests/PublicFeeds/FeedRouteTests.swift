import Feeds
import Foundation
import HubProtocol
import HubRouting
import HubStore
import Hummingbird
import Testing
import WebEdge
import WebPages

@testable import HubServer

struct FeedRouteTests {
    /// Runs a hub whose feeds everybody may read.
    private static func run(
        _ scratch: Scratch? = nil,
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (TestHub) async throws -> Void
    ) async throws {
        try await TestHub.runWithFeeds(try scratch ?? Scratch()) { configuration in
            configuration.pages = .public
            configure(&configuration)
        } _: { hub in
            try await body(hub)
        }
    }

    // MARK: What is in a feed

    @Test(arguments: [
        ("rss", "application/rss+xml"), ("atom", "application/atom+xml"), ("json", "application/feed+json"),
    ])
    func `a feed has the news of its category in the order of the log`(type: String, mediaType: String) async throws {
        try await Self.run { hub in
            for title in ["one", "two"] { _ = try await hub.post(["title": title], tags: "World") }
            _ = try await hub.post(["title": "elsewhere"], tags: "Sports")
            let reply = try await hub.send("GET", "/-/news/feeds/World.\(type)", as: nil)
            #expect(reply.status == 200)
            #expect(reply.headers["content-type"]?.hasPrefix(mediaType) == true)
            #expect(reply.headers["x-content-type-options"] == "nosniff")
            let feed = try reply.feed
            #expect(feed.entries.map(\.title) == ["two", "one"])
            #expect(feed.selfURL == "https://h/-/news/feeds/World.\(type)")
            #expect(feed.link == "https://h/-/news/")
        }
    }

    @Test func `only what everybody may read is in a feed`() async throws {
        try await Self.run { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            _ = try await hub.post(["title": "broadcast"])
            _ = try await hub.post(["title": "tag"], tags: "World")
            _ = try await hub.post(["title": "one of two"], tags: "World || Sports")
            _ = try await hub.post(["title": "not the other"], tags: "!Sports")
            try await hub.accept(native: "native", tags: "World")
            let shown = ["native", "not the other", "one of two", "tag", "broadcast"]
            for (title, tags) in [
                ("to a user", "username:bob"), ("to a user, too", "World || username:bob"),
                ("to all but one", "World && !username:bob"), ("to a device", "$InstallationId:{a}"),
                ("to a narrower circle", "World && Sports"), ("elsewhere", "Sports"),
            ] {
                #expect(try await hub.post(["title": title], tags: tags).status == 201)
            }
            _ = try await hub.post(["title": "secret", "secureId": "17"], tags: "World")
            try await hub.accept(native: "direct", handles: ["a"])
            try await hub.send(format: "apple", #"{"aps":{"alert":"for phones"}}"#, tags: "World")
            _ = try await hub.send(
                "POST",
                "messages?test",
                as: hub.full,
                headers: [HeaderName.format: "template", HeaderName.tags: "World"],
                #"{"title":"test"}"#
            )
            #expect(try await hub.titles() == shown)
        }
    }

    @Test func `only categories have feeds, and they go by any spelling of their name`() async throws {
        try await Self.run { hub in
            _ = try await hub.post(["title": "flood"], tags: "Harbour:North#1")
            let path = "/-/news/feeds/harbour%3anorth%231.RSS"
            #expect(try await hub.send("GET", path, as: nil).status == 404)
            let list = #"{"categories":["Harbour:North#1","username:bob"]}"#
            #expect(try await hub.send("PUT", "categories/me", as: hub.full, list).status == 200)
            let feed = try await hub.send("GET", path, as: nil).feed
            #expect(feed.title == "Harbour:North#1")
            #expect(feed.selfURL == "https://h/-/news/feeds/Harbour%3ANorth%231.rss")
            #expect(feed.entries.map(\.title) == ["flood"])
            for path in [
                "username%3Abob.rss", "Nothing.rss", "World.xml", "World", ".rss", "%24UserId:%7Bu%7D.rss", "%FF.rss",
            ] {
                #expect(try await hub.send("GET", "/-/news/feeds/\(path)", as: nil).status == 404, "\(path)")
            }
        }
    }

    @Test func `a correction changes its entry, and a withdrawal takes it away`() async throws {
        try await Self.run { hub in
            _ = try await hub.post(["title": "fire", "story": "s"], tags: "World")
            let first = try #require(try await hub.feed().entries.first)
            hub.clock.advance(by: 60)
            _ = try await hub.post(["title": "no fire", "story": "s", "status": "correction"], tags: "World")
            let corrected = try #require(try await hub.feed().entries.first)
            #expect(corrected.id == first.id && corrected.title == "no fire")
            #expect(
                corrected.published == first.published && corrected.updated == first.updated?.addingTimeInterval(60)
            )
            _ = try await hub.post(["title": "Withdrawn", "story": "s", "status": "withdrawn"], tags: "World")
            #expect(try await hub.feed().entries.isEmpty)
        }
    }

    @Test func `ids and entries are the same after a restart`() async throws {
        let scratch = try Scratch()
        var entries: [Entry] = []
        try await Self.run(scratch) { hub in
            for number in 1...60 { _ = try await hub.post(["title": "\(number)"], tags: "World") }
            entries = try await hub.feed().entries
            #expect(entries.count == NewsTimeline.maximumStories)
        }
        try await Self.run(scratch) { hub in
            let read = try await hub.feed().entries
            #expect(read == entries)
        }
    }

    @Test func `a feed that followed the log is the one that a restart reads from its end`() async throws {
        let scratch = try Scratch()
        var titles: [String?] = []
        try await Self.run(scratch) { hub in
            for number in 1...120 {
                var properties: [MessageProperty: String] = ["title": "\(number)", "story": "s\(number % 70)"]
                if number % 9 == 0 { properties[.status] = "withdrawn" }
                _ = try await hub.post(properties, tags: "World")
                titles = try await hub.titles()
            }
        }
        try await Self.run(scratch) { hub in
            let read = try await hub.titles()
            #expect(read == titles)
        }
    }

    @Test func `what the log has dropped is in no feed`() async throws {
        let time = TestTime()
        try await Self.run { hub in
            _ = try await hub.post(["title": "old"], tags: "World")
            #expect(try await hub.titles() == ["old"])
            try await hub.pass(72 * 3_600 - 60, of: time)
            _ = try await hub.post(["title": "new"], tags: "World")
            #expect(try await hub.titles() == ["new", "old"])
            try await hub.pass(120, of: time)
            #expect(try await hub.titles() == ["new"])
        }
    }

    @Test func `hostile texts do no harm`() async throws {
        try await Self.run { hub in
            let body =
                #"{"title":"<script>x</script>\u0000\u202e\uffff","messageParam":"]]> & <b>","link":"javascript:x"}"#
            #expect(try await hub.send(format: "template", body, tags: "World").text.isEmpty == false)
            _ = try await hub.post(["title": String(repeating: "é\u{202E}", count: 10_000)], tags: "World")
            for type in FeedFileType.allCases {
                let reply = try await hub.send("GET", "/-/news/feeds/World.\(type)", as: nil)
                #expect(
                    !reply.body.unicodeScalars.contains { $0.value == 0x202E || $0.value == 0 || $0.value == 0x206F }
                )
                let entries = try reply.feed.entries
                #expect(entries.map { $0.title?.count } == [NewsText.maximumTitle, "<script>x</script>".count])
                #expect(entries[1].title == "<script>x</script>" && entries[1].summary == "]]> & <b>")
                #expect(entries[1].link == nil)
            }
        }
    }

    // MARK: Conditional requests

    @Test func `a reader that has the feed is answered with 304`() async throws {
        try await Self.run { hub in
            _ = try await hub.post(["title": "one"], tags: "World")
            hub.clock.advance(by: 1)
            let first = try await hub.send("GET", Self.path, as: nil)
            let tag = try #require(first.headers["etag"])
            let date = try #require(first.headers["last-modified"])
            #expect(date == "Sun, 17 Mar 2030 17:46:40 GMT")
            #expect(first.headers["cache-control"] == "public, max-age=60")
            for headers in [
                ["If-None-Match": tag], ["If-None-Match": "\"x\", W/\(tag)"], ["If-None-Match": "*"],
                ["If-Modified-Since": date],
                ["If-None-Match": tag, "If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"],
            ] {
                let reply = try await hub.send("GET", Self.path, as: nil, headers: headers)
                #expect(reply.status == 304 && reply.body.isEmpty, "\(headers)")
                #expect(reply.headers["etag"] == tag && reply.headers["cache-control"] == "public, max-age=60")
            }
            for headers in [
                ["If-None-Match": "\"x\""], ["If-None-Match": "\"x\"", "If-Modified-Since": date],
                ["If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"], ["If-None-Match": ""],
            ] {
                #expect(try await hub.send("GET", Self.path, as: nil, headers: headers).status == 200, "\(headers)")
            }
            _ = try await hub.post(["title": "two"], tags: "World")
            let reply = try await hub.send("GET", Self.path, as: nil, headers: ["If-None-Match": tag])
            #expect(reply.status == 200)
            #expect(reply.headers["last-modified"] == nil, "another change may come in the same second")
            #expect(reply.headers["etag"] != tag)
        }
    }

    @Test func `a HEAD has the headers of a GET and no body`() async throws {
        try await Self.run { hub in
            let get = try await hub.send("GET", Self.path, as: nil)
            let head = try await hub.send("HEAD", Self.path, as: nil)
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.headers["etag"] == get.headers["etag"])
            #expect(head.headers["content-length"] == get.headers["content-length"])
        }
    }

    @Test func `a feed that everybody may read can be read by pages of any origin, but not with Manage`() async throws {
        try await Self.run { hub in
            let origin = ["Origin": "https://reader.example"]
            let get = try await hub.send("GET", Self.path, as: nil, headers: origin)
            #expect(get.status == 200 && get.headers["access-control-allow-origin"] == "*")
            let validator = ["If-None-Match": get.headers["etag"] ?? ""]
            let same = try await hub.send("GET", Self.path, as: nil, headers: origin.merging(validator) { $1 })
            #expect(same.status == 304 && same.headers["access-control-allow-origin"] == "*")
            #expect(get.headers["cache-control"] == "public, max-age=60")
            let manage = try await hub.send("GET", Self.path, as: hub.full, headers: origin)
            #expect(manage.status == 200 && manage.headers["access-control-allow-origin"] == nil)
            // A shared cache would hand it to the page.
            #expect(manage.headers["cache-control"] == "private, max-age=60")
            let unchanged = try await hub.send("GET", Self.path, as: hub.full, headers: validator)
            #expect(unchanged.status == 304 && unchanged.headers["cache-control"] == "private, max-age=60")
            let nothing = "/-/news/feeds/Nothing.rss"
            for (rule, allowed) in [(nil, "*"), (hub.listen, "*"), (hub.full, nil)] {
                let refused = try await hub.send("GET", nothing, as: rule, headers: origin)
                #expect(refused.status == 404 && refused.headers["access-control-allow-origin"] == allowed)
            }
            let exposed = try await hub.send("GET", nothing, as: nil).headers["access-control-expose-headers"] ?? ""
            #expect(exposed == "ETag, Link, Retry-After")
            let other = try await hub.send("POST", Self.path, as: nil, headers: origin)
            #expect(other.status == 404 && other.headers["access-control-allow-origin"] == nil)
        }
        try await Self.run(configure: { $0.pages = .invited }) { hub in
            let listen = try await hub.send("GET", Self.path, as: hub.listen)
            #expect(listen.status == 200 && listen.headers["access-control-allow-origin"] == nil)
            let refused = try await hub.send("GET", Self.path, as: nil)
            #expect(refused.status == 404 && refused.headers["access-control-allow-origin"] == nil)
        }
    }

    @Test func `a feed names the operator's WebSub hub`() async throws {
        try await Self.run(configure: { $0.webSubHub = "https://push.example/" }) { hub in
            let reply = try await hub.send("GET", Self.path, as: nil)
            #expect(
                reply.headers["link"]
                    == #"<https://h/-/news/feeds/World.rss>; rel="self", <https://push.example/>; rel="hub""#
            )
            #expect(try reply.feed.hubs == ["https://push.example/"])
        }
    }

    @Test func `a thousand polls cost one document, and other messages none`() async throws {
        try await Self.run { hub in
            _ = try await hub.post(["title": "one"], tags: "World")
            let feeds = hub.hub.publicFeeds
            let tag = try Tag("World")
            for _ in 1...10 {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 1...100 {
                        group.addTask { _ = try? await feeds.page(of: tag, as: .rss, in: hub.hub) }
                    }
                }
            }
            #expect(await feeds.renderings == 1)
            _ = try await hub.post(["title": "elsewhere"], tags: "Sports")
            _ = try await hub.titles()
            #expect(await feeds.renderings == 1)
            let readings = await feeds.logReadings
            for number in 1...3 { try await hub.register(Agent("a\(number)")) }
            _ = try await hub.titles()
            #expect(await feeds.logReadings == readings, "registrations are no news")
            _ = try await hub.post(["title": "two"], tags: "World")
            _ = try await hub.titles()
            #expect(await feeds.renderings == 2)
        }
    }

    @Test func `a long log is read over several requests`() async throws {
        try await Self.run { hub in
            _ = try await hub.post(["title": "first"], tags: "World")
            let key = hub.hub.record.id
            for _ in 1...6 {
                try await hub.hub.perform { transaction, _ in
                    for _ in 1...2_000 {
                        let body = MessageProperties(["title": "x"]).encoded()
                        let record = try MessageRecord(id: .random(), tags: "Sports", body: body)
                        _ = try transaction.appendMessage(record, hub: key, at: hub.hub.configuration.timestamp)
                    }
                    return ((), [])
                }
            }
            _ = try await hub.post(["title": "last"], tags: "World")
            #expect(try await hub.titles() == ["last"])
            #expect(try await hub.titles() == ["last", "first"])
        }
    }

    private static let path = "/-/news/feeds/World.rss"
}

extension TestHub {
    /// Runs a hub with an application that passes requests for feeds on, as the pages do.
    static func runWithFeeds(
        _ scratch: Scratch,
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (TestHub) async throws -> Void
    ) async throws {
        try await run(
            scratch,
            configure: configure,
            mounting: { service in
                let router = Router(context: WebContext<Never>.self, options: .autoGenerateHeadEndpoints)
                router.add(middleware: HeadMiddleware())
                router.get("/-/:hub/feeds/:file") { request, context in
                    let (hub, file) = (context.parameters.get("hub") ?? "", context.parameters.get("file") ?? "")
                    let channel = context.client.channel
                    return await service.feeds.answer(request, of: hub, file, on: channel, isProven: false)
                }
                return [MountedApplication("feeds", below: "-", responder: router.buildResponder())]
            },
            body
        )
    }

    /// The feed of World.
    func feed() async throws -> Feed { try await send("GET", "/-/news/feeds/World.rss", as: nil).feed }

    func titles() async throws -> [String?] { try await feed().entries.map(\.title) }
}

extension Reply {
    var feed: Feed {
        get throws {
            try FeedReader.read(Array(body.utf8), url: "https://h/", contentType: headers["content-type"])
        }
    }
}
