import Foundation
import GRDB
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Histories that begin with version 0.2.0 and continue with this one: nothing is announced twice, and nothing is lost.
@Suite struct JudgementUpgradeTests {
    private typealias Item = FakeSite.Item

    private static let site = "https://news.example/"

    private struct Desk {
        let room: Newsroom
        let lists: FeedLists

        init(_ rows: String, rules: String = "") throws {
            room = try Newsroom()
            let text = """
                category: World
                every: 1m
                \(rules)
                feeds:
                  - url: \(room.site.url("/w"))
                    local: true
                  - url: \(room.site.url("/other"))
                    local: true
                """
            lists = try FeedLists.parse([(file: "w.yaml", text: text)])
            let queue = try DatabaseQueue(path: room.storePath)
            try PublisherStore.migrator.migrate(queue, upTo: "10 judged entries")
            let sql = rows.replacing("$SITE", with: String(room.site.url("/").dropLast()))
            try queue.write { try $0.execute(sql: sql) }
            try queue.close()
            room.site.set("/other", FakeSite.Document(body: FakeSite.rss([])))
            // Ten minutes after the last reading.
            room.advance(1_200)
        }

        /// Publishes a document, and returns the titles and status of the messages sent since the last call.
        func bring(_ items: [Item], to path: String = "/w", after seconds: Double = 600) async throws -> [String] {
            let before = room.hub.messages.count
            room.site.set(path, FakeSite.Document(body: FakeSite.rss(items)))
            try await room.pass(lists)
            room.advance(seconds)
            return try room.hub.messages[before...].map { message in
                let found = try MessageProperties(json: message.body)
                return "\(found["title"] ?? "")\(found["status"].map { " [\($0)]" } ?? "")"
            }
        }
    }

    private static func date(_ hours: Double) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = .gmt
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: Date(timeIntervalSince1970: 1_780_000_000 + hours * 3_600))
    }

    private static func story(_ number: Int, link: String = site, id: String? = nil) -> Item {
        Item("story \(number)", id: id, link: "\(link)\(number)", date: date(-1 - 5 * Double(number)))
    }

    private static let usual = (0..<5).map { story($0) }
    private static let new = Item("new", link: site + "n", date: date(0.1))

    @Test func `known entries stay silent, and new ones are announced`() async throws {
        let desk = try Desk(FormerStores.usual)
        #expect(try await desk.bring([Self.new] + Self.usual) == [])
        let next = Item("next", link: Self.site + "next", date: Self.date(0.4))
        #expect(try await desk.bring([next, Self.new] + Self.usual) == ["next"])
        #expect(try await desk.bring([Item("new, edited", id: "id-new", link: Self.site + "n")] + Self.usual) == [])
    }

    @Test func `a document that grows, and old entries, stay silent`() async throws {
        let desk = try Desk(FormerStores.usual)
        let older = (5..<30).map { Self.story($0) }
        #expect(try await desk.bring([Self.new] + Self.usual + older) == [])
    }

    @Test func `another story under a known link is announced at once, and one with the same date is not`() async throws
    {
        let desk = try Desk(FormerStores.page)
        let warning = Item("TORNADO WARNING", id: "t:2", link: Self.site + "report", date: Self.date(0.2))
        #expect(try await desk.bring([warning]) == ["TORNADO WARNING"])
        #expect(try await desk.bring([warning]) == [])
        let saved = try Desk(FormerStores.page)
        let again = Item("No alerts in effect!", id: "t:2", link: Self.site + "report", date: Self.date(-5))
        #expect(try await saved.bring([again]) == [])
    }

    @Test func `entries with new ids or links stay silent`() async throws {
        let renamed = try Desk(FormerStores.renamed)
        #expect(try await renamed.bring((0..<5).map { Self.story($0, id: "new-\($0)") }) == [])
        let moved = try Desk(FormerStores.renamed)
        #expect(try await moved.bring((0..<5).map { Self.story($0, link: "https://moved.example/") }) == [])
        let both = try Desk(FormerStores.renamed)
        let items = (0..<5).map { Self.story($0, link: "https://moved.example/", id: "new-\($0)") }
        #expect(try await both.bring(items) == [])
    }

    @Test func `a story is known by its title as the former version compared it, until its twelve hours end`()
        async throws
    {
        for (wait, titles) in [(0.0, [String]()), (12 * 3_600, ["Mayor Zelensky resigns after row over budget"])] {
            let desk = try Desk(FormerStores.title)
            desk.room.advance(wait)
            let title = "Mayor Zelensky resigns after row over budget"
            let item = Item(title, link: "https://other.example/1", date: Self.date(0.3 + wait / 3_600))
            #expect(try await desk.bring([item], to: "/other") == titles)
        }
    }

    @Test func `an entry that the former version held is announced on its date, once`() async throws {
        let desk = try Desk(FormerStores.held, rules: "future: hold")
        let study = Item("study", link: Self.site + "s", date: Self.date(48))
        #expect(try await desk.bring([study] + Self.usual, after: 86_400) == [])
        #expect(try await desk.bring(Self.usual, after: 86_400) == [])
        #expect(try await desk.bring(Self.usual) == ["study"])
        #expect(try await desk.bring([study] + Self.usual) == [])
    }

    @Test func `an edit replaces the message of the former version`() async throws {
        let desk = try Desk(FormerStores.edited, rules: "updates: announce")
        func mill(_ title: String) -> Item { Item(title, id: "m", link: Self.site + "m", date: Self.date(0.1)) }
        #expect(try await desk.bring([mill("Fire at paper mill")] + Self.usual) == [])
        #expect(
            try await desk.bring([mill("Big fire at paper mill")] + Self.usual) == ["Big fire at paper mill [update]"]
        )
        #expect(try await desk.bring([mill("Big fire at paper mill")] + Self.usual, after: 7_200) == [])
    }

    @Test func `a correction replaces the message of the former version`() async throws {
        let desk = try Desk(FormerStores.corrected, rules: "corrections: [correction]")
        let item = Item("Correction: Bank lifts key rate to 2 percent", id: "r", link: Self.site + "r")
        #expect(
            try await desk.bring([item] + Self.usual) == ["Correction: Bank lifts key rate to 2 percent [correction]"]
        )
        #expect(try await desk.bring([item] + Self.usual) == [])
    }

    @Test func `waiting messages stay byte for byte, and are sent once`() async throws {
        let desk = try Desk(FormerStores.waiting, rules: "notBefore: 23:00")
        let queue = try DatabaseQueue(path: desk.room.storePath)
        let bodies = try await queue.read { try Data.fetchAll($0, sql: "SELECT body FROM outbox ORDER BY id") }
        try queue.close()
        #expect(bodies.count == 1)
        #expect(try await desk.bring([Self.new] + Self.usual, after: 3 * 3_600) == [])
        #expect(try await desk.bring([Self.new] + Self.usual) == ["new"])
        #expect(desk.room.hub.messages.map { Data($0.body) } == bodies)
    }
}
