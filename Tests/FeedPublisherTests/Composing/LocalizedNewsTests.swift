import Foundation
import HubProtocol
import HubTestServer
import Synchronization
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Stories in several languages through real passes.
@Suite struct LocalizedNewsTests {
    private typealias Item = FakeSite.Item

    /// A room with an English, a French and a German feed, read once while they were empty.
    private func room(_ keys: String = "") async throws -> (Newsroom, FeedLists) {
        let room = try Newsroom()
        let list = """
            category: World
            language: English
            every: 1m
            \(keys)
            templates:
              French: "Flash : $(title)"
            feeds:
              - url: \(room.site.url("/en"))
                local: true
              - url: \(room.site.url("/fr"))
                local: true
                language: French
              - url: \(room.site.url("/de"))
                local: true
                language: German
            """
        let lists = try FeedLists.parse([(file: "w.yaml", text: list)])
        for path in ["/en", "/fr", "/de"] { publish(room, path) }
        try await room.pass(lists)
        room.advance(60)
        return (room, lists)
    }

    private func publish(_ room: Newsroom, _ path: String, _ items: Item...) {
        let title = "Example\(path)"
        let body = FakeSite.rss(items).replacing("<title>Example</title>", with: "<title>\(title)</title>")
        room.site.set(path, FakeSite.Document(body: body))
    }

    private func item(_ title: String, _ path: String, id: String? = nil) -> Item {
        Item(title, id: id, link: "https://news.example/\(path)")
    }

    /// What recipients of each language read of each message; `-` where it says nothing to them.
    private func read(_ room: Newsroom) throws -> [String] {
        try room.hub.messages.map { message in
            let properties = try MessageProperties(json: message.body)
            return ["messageParam", "News_English", "News_French", "News_German"]
                .map { properties[$0] ?? "-" }.joined(separator: " | ")
        }
    }

    @Test func `an alert in several languages is one message in those of the list`() async throws {
        let (room, lists) = try await room()
        let parts = [("de-DE", "Sturm"), ("en-GB", "Gale"), ("fr", "Tempête"), ("it", "Burrasca")].map {
            language,
            title in
            """
            <info><language>\(language)</language><category>Met</category><event>Wind</event><urgency>Expected</urgency>
            <severity>Severe</severity><certainty>Likely</certainty><headline>\(title)</headline></info>
            """
        }
        let alert = """
            <alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>1</identifier><sender>met@x.example</sender>
            <sent>2026-05-28T20:00:00+00:00</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope>
            \(parts.joined())</alert>
            """
        room.site.set("/en", FakeSite.Document(body: alert))
        try await room.pass(lists)
        #expect(
            try read(room) == [
                "Breaking World News : Gale | Breaking World News : Gale | Flash : Tempête | Breaking World News : Sturm"
            ]
        )
    }

    @Test func `matching stories of one pass are one message, others go out in their own language`() async throws {
        let (room, lists) = try await room()
        publish(room, "/en", item("Mayor resigns", "en/mayor"), item("Only here", "en/only"))
        publish(room, "/fr", item("Le maire part", "fr/mayor"), item("Seulement ici", "fr/seul"))
        publish(room, "/de", item("Bürgermeister geht", "mayor?lang=de"))
        let report = try await room.pass(lists)
        #expect(
            try read(room).sorted() == [
                "- | - | Flash : Seulement ici | -",
                "Breaking World News : Mayor resigns | Breaking World News : Mayor resigns | Flash : Le maire part"
                    + " | Breaking World News : Bürgermeister geht",
                "Breaking World News : Only here | Breaking World News : Only here | - | -",
            ]
        )
        #expect(report.announced == 5 && report.recorded == 0 && report.sent == 3)
        let mayor = try #require(room.hub.messages.first { $0.title == "Mayor resigns" })
        let properties = try MessageProperties(json: mayor.body)
        #expect(properties["link"] == "https://news.example/en/mayor" && properties["feed"] == "Example/en")
        #expect(properties["Link_French"] == "https://news.example/fr/mayor" && properties["alsoFrom"] == nil)
        room.advance(60)
        try await room.pass(lists)
        #expect(room.hub.messages.count == 3 && room.hub.conflicts == 0)
    }

    @Test func `a translation that waits for the hub joins its message, in either order`() async throws {
        for paths in [["/en", "/fr"], ["/fr", "/en"]] {
            let (room, lists) = try await room()
            let stories = ["/en": item("Mayor resigns", "en/1"), "/fr": item("Le maire part", "fr/1")]
            room.hub.answer { _ in 503 }
            // A message before it, so that its own has not been attempted.
            publish(room, "/de", item("Zuerst", "de/0"))
            try await room.pass(lists)
            for path in paths {
                publish(room, path, try #require(stories[path]))
                room.advance(60)
                try await room.pass(lists)
            }
            room.hub.answer { _ in 201 }
            room.advance(60)
            try await room.pass(lists)
            #expect(
                try read(room) == [
                    "- | - | - | Breaking World News : Zuerst",
                    "Breaking World News : Mayor resigns | Breaking World News : Mayor resigns | Flash : Le maire part | -",
                ],
                "\(paths)"
            )
            #expect(room.hub.messages.last?.title == "Mayor resigns")
            #expect(room.hub.conflicts == 0)
        }
    }

    @Test func `a translation of a later pass is sent on its own, once`() async throws {
        let (room, lists) = try await room()
        publish(room, "/en", item("Mayor resigns", "en/1"))
        try await room.pass(lists)
        publish(room, "/fr", item("Le maire part", "fr/1"))
        publish(room, "/de", item("Bürgermeister geht", "de/1"))
        for _ in 1...2 {
            room.advance(60)
            try await room.pass(lists)
        }
        #expect(room.hub.messages.count == 2)
        #expect(
            try read(room).last == "- | - | Flash : Le maire part | Breaking World News : Bürgermeister geht",
            "those that come together match each other"
        )
    }

    @Test func `the languages of a story do not repeat it in the first`() async throws {
        let (room, lists) = try await room()
        publish(room, "/fr", item("Le maire part", "fr/1"))
        try await room.pass(lists)
        publish(room, "/en", item("Mayor resigns", "en/1"))
        room.advance(60)
        try await room.pass(lists)
        #expect(
            try read(room) == [
                "- | - | Flash : Le maire part | -",
                "Breaking World News : Mayor resigns | Breaking World News : Mayor resigns | - | -",
            ]
        )
    }

    @Test func `titles match within a language and never across`() async throws {
        let (room, lists) = try await room()
        let title = "Angela Merkel Emmanuel Macron Berlin Paris"
        publish(room, "/en", item(title, "en/1"))
        publish(room, "/fr", item(title, "fr/2"))
        try await room.pass(lists)
        #expect(room.hub.messages.count == 2)
    }

    @Test func `an identifier matches where the list says so, and links do not`() async throws {
        let (room, lists) = try await room("match: id")
        publish(room, "/en", item("Mayor resigns", "en/a", id: "s1"), item("Other", "en/b", id: "s2"))
        publish(room, "/fr", item("Le maire part", "fr/z", id: "s1"), item("Autre", "fr/b", id: "s3"))
        try await room.pass(lists)
        #expect(
            try read(room).sorted() == [
                "- | - | Flash : Autre | -",
                "Breaking World News : Mayor resigns | Breaking World News : Mayor resigns | Flash : Le maire part | -",
                "Breaking World News : Other | Breaking World News : Other | - | -",
            ]
        )
    }

    @Test func `an address that two entries of a document share matches neither`() async throws {
        let (room, lists) = try await room()
        publish(room, "/en", item("Mayor resigns", "en/1"))
        publish(room, "/fr", item("Un", "fr/1"), item("Deux", "1?lang=fr"))
        try await room.pass(lists)
        #expect(room.hub.messages.count == 3)
    }

    @Test func `a dry run names the story that an entry translates`() async throws {
        let (room, lists) = try await room()
        publish(room, "/en", item("Mayor resigns", "en/1"))
        publish(room, "/fr", item("Le maire part", "fr/1"))
        let preview = try await room.preview(lists)
        let entries = preview.feeds.flatMap(\.entries)
        #expect(entries.map(\.fate) == [.message(0), .message(0)])
        let originals = Set(entries.map(\.translationOf))
        // Whichever feed was read first.
        #expect(originals == [nil, "Mayor resigns"] || originals == [nil, "Le maire part"])
        #expect(preview.messages.map(\.languages) == [["English", "French"]])
        #expect(preview.messages.map(\.text) == ["Breaking World News : Mayor resigns"])
    }

    @Test func `over the cap each language gets its own digest in one message`() async throws {
        let (room, lists) = try await room()
        publish(room, "/en", item("One", "en/1"), item("Two", "en/2"))
        publish(room, "/fr", item("Un", "fr/1"), item("Trois", "fr/3"))
        try await room.pass(lists) { $0.cap = 0 }
        #expect(room.hub.messages.count == 1)
        let properties = try MessageProperties(json: try #require(room.hub.messages.first).body)
        #expect(properties["title"] == "2 more World stories")
        #expect(properties["News_French"]?.hasPrefix("World (2): ") == true)
        #expect(properties["News_German"] == nil)
        publish(room, "/fr", item("Cinq", "fr/5"), item("Quatre", "fr/4"))
        // The next digest goes at the end of the cap's window.
        room.advance(660)
        try await room.pass(lists) { $0.cap = 0 }
        #expect(try read(room).last?.hasPrefix("- | - | World (2): ") == true)
    }

    // MARK: Kills

    private struct Killed: Error {}

    /// Both languages of a story, each pass killed at some statement: each reader reads it once, whether in one message
    /// or in two.
    @Test func `a pass killed at any statement tells each language once`() async throws {
        var statement = 0
        var wasKilled = true
        while wasKilled {
            statement += 1
            let (room, lists) = try await room()
            publish(room, "/en", item("Mayor resigns", "en/1"))
            publish(room, "/fr", item("Le maire part", "fr/1"))
            let limit = statement
            let count = Counter()
            let store = try PublisherStore(path: room.storePath) { _ in if count.next() >= limit { throw Killed() } }
            do {
                _ = try await room.pass(lists, store: store)
                wasKilled = false
            } catch is Killed {}
            try store.close()
            for _ in 1...2 {
                room.advance(60)
                try await room.pass(lists)
            }
            let texts = try room.hub.messages.map { try MessageProperties(json: $0.body) }
            let english = texts.compactMap { $0["messageParam"] }
            let french = texts.compactMap { $0["News_French"] }
            #expect(english == ["Breaking World News : Mayor resigns"], "killed at statement \(statement)")
            #expect(french == ["Flash : Le maire part"], "killed at statement \(statement)")
            #expect(room.hub.conflicts == 0)
            guard english.count == 1, french.count == 1 else { break }
        }
        #expect(statement > 25, "the pass had only \(statement) statements")
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    @Test func `rows of before languages are sent, matched and folded`() async throws {
        let folder = try ScratchFolder()
        let message = OutboxMessage(
            category: "World",
            tags: "World",
            body: Array(#"{"messageParam":"m","title":"t","News_French":"m"}"#.utf8),
            idempotencyKey: "k",
            headlines: "t",
            entries: 1,
            isDigest: false
        )
        #expect(message.allShares.keys.sorted() == ["", "French"])
        let store = try PublisherStore(path: folder.file("p.db"))
        _ = try store.transaction { try $0.insert(message, feed: nil, now: Date()) }
        #expect(try store.pending().map(\.message) == [message])
        var amended = message
        amended.urgency = MessageUrgency.critical.rawValue
        amended.shares = ["French": LanguageShare(entries: 2, headlines: "a\nb")]
        try store.transaction { try $0.amend(1, amended) }
        #expect(try store.pending().map(\.message) == [amended])
        try store.close()
    }
}
