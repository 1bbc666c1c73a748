import Foundation
import HubTestServer
import Synchronization
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Documents that end the program that reads them.
@Suite struct InterruptedReadingTests {
    private struct Ended: Error {}

    /// Ends the program, as far as anybody else can see, when a body with a certain word is read: nothing more is written.
    private final class Trap: Sendable {
        private let hasStruck = Mutex(false)

        func strike() { hasStruck.withLock { $0 = true } }

        var hook: PublisherStore.StatementHook {
            { _ in if self.hasStruck.withLock({ $0 }) { throw Ended() } }
        }
    }

    /// Runs a pass in a program of its own.
    ///
    /// - Returns: True if a document ended it.
    private func ends(
        _ room: Newsroom,
        _ lists: FeedLists,
        on word: String = "TRAP",
        trapped: Int64? = nil,
        isForced: Bool = false
    ) async throws -> Bool {
        let trap = Trap()
        room.whenReading { body in if String(decoding: body, as: UTF8.self).contains(word) { trap.strike() } }
        let store = try PublisherStore(path: room.storePath, hook: trap.hook)
        defer { try? store.close() }
        do {
            _ = try await room.pass(lists, store: store) { options in
                options.trappedFeed = trapped
                options.force = isForced
            }
            return false
        } catch is Ended {
            return true
        }
    }

    private func number(of path: String, _ room: Newsroom) throws -> Int64 {
        let store = try room.store()
        defer { try? store.close() }
        return try #require(try store.feeds()[room.site.url(path)]).id
    }

    /// Three feeds, of which the second will end the program.
    private func room() async throws -> (Newsroom, FeedLists) {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/a", "/b", "/c"]])
        for path in ["/a", "/b", "/c"] { room.site.set(path, FakeSite.Document(body: FakeSite.rss([]))) }
        try await room.pass(lists)
        publish(room, "/a", ["a1"])
        publish(room, "/b", ["TRAP", "b1"])
        publish(room, "/c", ["c1"])
        room.advance(60)
        _ = room.lines()
        return (room, lists)
    }

    private func publish(_ room: Newsroom, _ path: String, _ titles: [String]) {
        room.site.set(path, FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) })))
    }

    @Test func `the pass after a trap skips the document, reports the feed and publishes the rest`() async throws {
        let (room, lists) = try await room()
        #expect(try await ends(room, lists))
        _ = room.lines()
        room.advance(60)
        #expect(try await !ends(room, lists, trapped: try number(of: "/b", room)))
        #expect(room.hub.titles.sorted() == ["a1", "c1"])
        let lines = room.lines()
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.contains("/b' sent a document that crashed this program") == true, "\(lines)")
        let health = try lists.health(storePath: room.storePath, now: room.now)
        #expect(health.map(\.state) == [.well, .failing, .well])
        #expect(health[1].problem?.contains("crashed this program") == true)
        // Said once; the feed is asked for at its own interval, and all others go on.
        publish(room, "/c", ["c2", "c1"])
        let asked = room.site.requests("/b").count
        for _ in 1...3 {
            room.advance(70)
            #expect(try await !ends(room, lists))
        }
        #expect(room.lines().isEmpty)
        #expect(room.site.requests("/b").count == asked + 3)
        #expect(room.hub.titles.sorted() == ["a1", "c1", "c2"])
    }

    @Test func `a document that ended the program is read again when it has changed`() async throws {
        let (room, lists) = try await room()
        #expect(try await ends(room, lists))
        room.advance(60)
        #expect(try await !ends(room, lists, trapped: try number(of: "/b", room)))
        _ = room.lines()
        publish(room, "/b", ["b2", "b1"])
        room.advance(70)
        #expect(try await !ends(room, lists))
        #expect(room.hub.titles.sorted() == ["a1", "b1", "b2", "c1"])
        #expect(room.lines().contains { $0.contains("/b' can be read again") })
        #expect(try room.store().interruptedReadings().isEmpty)
    }

    @Test func `another version of the program reads the document again`() async throws {
        let (room, lists) = try await room()
        #expect(try await ends(room, lists))
        room.advance(60)
        #expect(try await !ends(room, lists, trapped: try number(of: "/b", room)))
        room.setProgram("2")
        room.advance(70)
        #expect(try await !ends(room, lists, on: "repaired"))
        #expect(room.hub.titles.contains("b1"))
    }

    @Test func `an operator can have the document read again`() async throws {
        let (room, lists) = try await room()
        #expect(try await ends(room, lists))
        room.advance(60)
        #expect(try await !ends(room, lists, trapped: try number(of: "/b", room)))
        #expect(try await !ends(room, lists, on: "repaired", isForced: true))
        #expect(room.hub.titles.contains("b1"))
    }

    @Test func `a publisher killed while it reads loses none of the feed's entries`() async throws {
        let (room, lists) = try await room()
        #expect(try await ends(room, lists))
        _ = room.lines()
        // Not due to the document: it is read now, and last.
        room.advance(60)
        #expect(try await !ends(room, lists, on: "repaired"))
        #expect(room.hub.titles.sorted() == ["TRAP", "a1", "b1", "c1"])
        let lines = room.lines()
        #expect(lines.count == 1 && lines.first?.contains("the last run was ended while it read") == true, "\(lines)")
        #expect(try room.store().interruptedReadings().isEmpty)
    }

    @Test func `a document whose reading may have ended the program is read after all else was sent`() async throws {
        let (room, lists) = try await room()
        #expect(try await ends(room, lists))
        for round in 2...InterruptedReading.patience {
            publish(room, "/a", ["a\(round)"])
            room.advance(600)
            #expect(try await ends(room, lists))
            #expect(room.hub.titles.contains("a\(round)") && room.hub.titles.contains("c1"))
        }
        // From here it is skipped, for a day.
        _ = room.lines()
        room.advance(600)
        #expect(try await !ends(room, lists))
        let lines = room.lines()
        let times = "this program was ended \(InterruptedReading.patience) times"
        #expect(lines.contains { $0.contains(times) }, "\(lines)")
        room.advance(90_000)
        #expect(try await !ends(room, lists, on: "repaired"))
        #expect(room.hub.titles.contains("b1"))
    }

    @Test func `a feed whose every document ends the program is left alone for longer and longer`() async throws {
        let (room, lists) = try await room()
        var ended = 0
        for round in 1...100 {
            publish(room, "/b", ["TRAP \(round)"])
            publish(room, "/a", ["a\(round)"])
            ended += try await ends(room, lists) ? 1 : 0
            room.advance(600)
        }
        #expect(ended > InterruptedReading.patience && ended < 12, "\(ended) passes were ended")
        publish(room, "/b", ["b1"])
        room.advance(90_000)
        #expect(try await !ends(room, lists))
        #expect(room.hub.titles.contains("b1") && room.hub.titles.contains("a100"))
    }

    @Test func `a document that cannot be read leaves no mark`() async throws {
        let (room, lists) = try await room()
        room.site.set("/b", FakeSite.Document(body: "no feed"))
        #expect(try await !ends(room, lists))
        let store = try room.store()
        defer { try? store.close() }
        #expect(try store.settleReadings(trapped: nil).isEmpty)
    }

    @Test func `a dry run skips what ended the program and changes nothing`() async throws {
        let (room, lists) = try await room()
        #expect(try await ends(room, lists))
        room.advance(60)
        #expect(try await !ends(room, lists, trapped: try number(of: "/b", room)))
        room.advance(70)
        let before = try room.store().interruptedReadings()
        let preview = try await room.preview(lists)
        let state = try #require(preview.feeds.first { $0.address.text.hasSuffix("/b") }).state
        guard case .failed(let line) = state else {
            Issue.record("\(state)")
            return
        }
        #expect(line.text.contains("crashed this program"))
        #expect(try room.store().interruptedReadings() == before && before.count == 1)
    }

    @Test func `a publisher that stays reads a suspected document after all others`() async throws {
        let (room, lists) = try await room()
        #expect(try await ends(room, lists))
        room.advance(60)
        let read = Mutex<[String]>([])
        room.whenReading { body in
            let text = String(decoding: body, as: UTF8.self)
            read.withLock { $0.append(text.contains("TRAP") ? "b" : "other") }
        }
        let store = try room.store()
        defer { try? store.close() }
        _ = try store.settleReadings(trapped: nil)
        try await room.watch(lists, store: store, callback: nil).step()
        #expect(read.withLock { $0 }.last == "b")
        #expect(try store.interruptedReadings().isEmpty)
    }
}
