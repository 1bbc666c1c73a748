import Foundation
import HubProtocol
import HubTestServer
import Synchronization
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// A publisher killed between any two statements of a pass, and again in the next.
@Suite struct PublishKillTests {
    private struct Killed: Error {}

    /// Throws at the n-th statement or commit, and at all that follow: a dead process does nothing more.
    private final class Executioner: Sendable {
        private let count = Mutex(0)
        private let limit: Int

        init(at limit: Int) { self.limit = limit }

        var hook: PublisherStore.StatementHook {
            { _ in
                let reached = self.count.withLock { count in
                    count += 1
                    return count
                }
                if reached >= self.limit { throw Killed() }
            }
        }

        var hasStruck: Bool { count.withLock { $0 >= limit } }
    }

    /// - Returns: Whether the pass was killed.
    private func kill(
        _ room: Newsroom,
        _ lists: FeedLists,
        cap: Int = 2,
        at statement: Int
    ) async throws -> Bool {
        let executioner = Executioner(at: statement)
        let store = try PublisherStore(path: room.storePath, hook: executioner.hook)
        do {
            _ = try await room.pass(lists, store: store) { $0.cap = cap }
        } catch is Killed {}
        try store.close()
        return executioner.hasStruck
    }

    /// The titles of all entries that agents were told of, singly or in a digest.
    private func announced(_ hub: FakeHub) throws -> [String] {
        try hub.messages.flatMap { message in
            let properties = try MessageProperties(json: message.body)
            guard message.title.contains(" more ") else { return [message.title] }
            return (properties["summary"] ?? "").components(separatedBy: "; ")
        }
    }

    /// With the longer wait, what is not known to have been sent becomes a digest.
    @Test(arguments: [60.0, 25_200.0])
    func `a pass killed at any statement loses nothing and repeats nothing`(wait: Double) async throws {
        typealias Item = FakeSite.Item
        let expected = ["s1", "w1", "w2", "w3", "w4"]
        var statement = 0
        var wasKilled = true
        while wasKilled {
            statement += 1
            let room = try Newsroom()
            let lists = try room.lists(["World": ["/w", "/missing"], "Sports": ["/s"]])
            room.site.set("/w", FakeSite.Document(body: FakeSite.rss([Item("w0")]), etag: "\"1\""))
            room.site.set("/s", FakeSite.Document(body: FakeSite.rss([Item("s0")])))
            try await room.pass(lists)
            // From here the server says 304 to whoever has the new validators.
            let items = ["w4", "w3", "w2", "w1", "w0"].map { Item($0, link: "https://news.example/\($0)") }
            room.site.set("/w", FakeSite.Document(body: FakeSite.rss(items), etag: "\"2\""))
            room.site.set("/s", FakeSite.Document(body: FakeSite.rss([Item("s1"), Item("s0")])))
            room.advance(60)
            wasKilled = try await kill(room, lists, at: statement)
            room.advance(wait)
            _ = try await kill(room, lists, at: statement * 7 % 23 + 1)
            for _ in 1...2 {
                room.advance(60)
                try await room.pass(lists) { $0.cap = 2 }
            }
            let announced = try announced(room.hub).sorted()
            #expect(announced == expected, "killed at statement \(statement)")
            #expect(room.hub.conflicts == 0)
            #expect(try room.store().pendingCount() == 0)
            guard announced == expected else { break }
        }
        #expect(statement > 40, "the pass had only \(statement) statements")
    }

    @Test func `a pass for two lists with one feed can be killed at any statement`() async throws {
        typealias Item = FakeSite.Item
        let expected = ["one", "one", "two", "two"]
        var statement = 0
        var wasKilled = true
        while wasKilled {
            statement += 3
            let room = try Newsroom()
            let lists = try room.lists(["World": ["/w"], "Top": ["/w"]])
            room.site.set("/w", FakeSite.Document(body: FakeSite.rss([])))
            try await room.pass(lists)
            room.site.set("/w", FakeSite.Document(body: FakeSite.rss([Item("one", id: "1"), Item("two", id: "2")])))
            room.advance(60)
            wasKilled = try await kill(room, lists, cap: 5, at: statement)
            for _ in 1...2 {
                room.advance(60)
                try await room.pass(lists)
            }
            let announced = try announced(room.hub).sorted()
            #expect(announced == expected, "killed at statement \(statement)")
            let stories = Set(try room.hub.messages.map { try MessageProperties(json: $0.body)["story"] })
            #expect(stories.count == 2, "killed at statement \(statement)")
            guard announced == expected else { break }
        }
        #expect(statement > 40, "the pass had only \(statement) statements")
    }

    @Test func `a pass that replaces, withdraws and holds can be killed at any statement`() async throws {
        typealias Item = FakeSite.Item
        let expected = ["Correction: a", "Retracted: b", "a", "b", "c", "night"]
        // No message goes into a digest: two were sent a minute before, and two replace them.
        let cap = 5
        var statement = 0
        var wasKilled = true
        while wasKilled {
            statement += 1
            let room = try Newsroom()
            func list(_ path: String, _ category: String, _ rules: String) -> (file: String, text: String) {
                let feed = "  - url: \(room.site.url(path))\n    local: true"
                return (file: category, text: "category: \(category)\nevery: 1m\n\(rules)\nfeeds:\n\(feed)")
            }
            let lists = try FeedLists.parse([
                list("/w", "World", "corrections: correction\nretractions: retracted"),
                list("/n", "Night", "notBefore: 23:00"),
            ])
            func publish(_ path: String, _ items: [Item]) {
                room.site.set(path, FakeSite.Document(body: FakeSite.rss(items)))
            }
            publish("/w", [])
            publish("/n", [])
            try await room.pass(lists)
            publish("/w", [Item("a", id: "a"), Item("b", id: "b")])
            room.advance(60)
            try await room.pass(lists)
            publish("/w", [Item("Correction: a", id: "a"), Item("Retracted: b", id: "b"), Item("c")])
            publish("/n", [Item("night")])
            room.advance(60)
            wasKilled = try await kill(room, lists, cap: cap, at: statement)
            room.advance(60)
            _ = try await kill(room, lists, cap: cap, at: statement * 7 % 23 + 1)
            room.advance(60)
            try await room.pass(lists) { $0.cap = cap }
            #expect(!room.hub.titles.contains("night"))
            // Gone from its feed, and the first pass of these is before the hour still.
            publish("/n", [])
            for _ in 1...2 {
                room.advance(7_200)
                try await room.pass(lists) { $0.cap = cap }
            }
            let titles = room.hub.titles.sorted()
            #expect(titles == expected, "killed at statement \(statement)")
            #expect(room.hub.conflicts == 0)
            #expect(try room.store().pendingCount() == 0)
            guard titles == expected else { break }
        }
        #expect(statement > 40, "the pass had only \(statement) statements")
    }
}
