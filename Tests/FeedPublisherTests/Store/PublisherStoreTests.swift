import Feeds
import Foundation
import GRDB
import HubTestServer
import SQLiteFiles
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct PublisherStoreTests {
    private let now = Date(timeIntervalSince1970: 1_780_000_000.5)

    private func message(_ key: String) -> OutboxMessage {
        OutboxMessage(
            category: "World",
            tags: "World",
            body: [1, 2],
            idempotencyKey: key,
            headlines: key,
            entries: 1,
            isDigest: false
        )
    }

    private func key(_ number: UInt8) throws -> EntryKey {
        try #require(EntryKey(bytes: [UInt8](repeating: number, count: EntryKey.byteCount)))
    }

    /// Reads and records a document with these keys and messages, as a pass does.
    ///
    /// - Returns: What was known of it before.
    @discardableResult
    private func read(
        _ store: PublisherStore,
        _ record: FeedRecord,
        _ keys: [SeenKey],
        links: [EntryKey] = [],
        messages: [OutboxMessage] = []
    ) throws -> SeenState {
        try store.transaction { store in
            let entries = keys.filter { $0.kind == .entry }.map { EntryMark(key: $0.key) }
            var state = try store.seen(entries, of: record)
            try store.seen(keys.filter { $0.kind != .entry }, of: record.id, into: &state)
            state.stories = try store.stories(links, in: "world", hasLanguages: false)
            let stories = messages.map { ($0, StoryChange(name: $0.idempotencyKey, keys: links)) }
            let marks = keys.map { SeenMark($0.kind, $0.key) }
            try store.mark(marks, of: record, now: now)
            try store.forgetMarks(beside: marks, of: record)
            try store.record(ComposedMessages(stories: stories), of: record.id, in: "world", now: now)
            try store.save(record)
            return state
        }
    }

    @Test func `a feed's record comes back as it was stored, and its number stays`() throws {
        let folder = try ScratchFolder()
        let address = try FeedAddress(parsing: "https://news.example/feed", allowsFile: false)
        var record = FeedRecord(id: 0, url: "")
        do {
            let store = try PublisherStore(path: folder.file("p.db"))
            record = try #require(try store.enroll([address])[address.text])
            #expect(record == FeedRecord(id: record.id, url: address.text))
            record.movedURL = "https://news.example/new"
            record.move = MoveCandidate(url: "https://news.example/newer", firstSeen: now, polls: 2)
            record.validators = FeedValidators(
                etag: [0x22, 0xFF, 0x22],
                lastModified: Array("yesterday".utf8),
                url: "u"
            )
            record.bodyHash = [9, 8, 7]
            record.identicalAnswers = 2
            record.due = DueTime(after: .milliseconds(1_500), from: now)
            record.failures = 3
            record.failingSince = now
            record.problem = FeedProblem(kind: "html", line: "…")
            record.lastSuccess = now
            record.newestEntry = now
            record.baseline = now
            record.readings = 12
            record.completeReading = 11
            record.incompleteReadings = 1
            record.identityRule = .link
            record.retired = now
            record.lastUpdate = now
            record.heldUntil = now + 60
            record.pace.interval = .seconds(3_600)
            record.pace.skipHours = [0, 23]
            record.pace.skipDays = [6]
            record.title = "Example"
            record.format = "rss-2.0"
            try store.transaction { store in
                try store.save(record)
                try store.save(HostWait(host: "news.example", due: DueTime(after: .seconds(9), from: now)), now: now)
            }
            try store.close()
        }
        let store = try PublisherStore(path: folder.file("p.db"))
        #expect(try store.enroll([address]) == [address.text: record])
        #expect(try store.hostWaits().mapValues(\.due) == ["news.example": DueTime(after: .seconds(9), from: now)])
    }

    @Test func `a corrected address keeps the feed's number and baseline, and none of the old one's failures`()
        throws
    {
        let folder = try ScratchFolder()
        let store = try PublisherStore(path: folder.file("p.db"))
        let old = try FeedAddress(parsing: "http://news.example/feed", allowsFile: false)
        let new = try FeedAddress(parsing: "https://news.example/feed", allowsFile: false)
        var record = try #require(try store.enroll([old])[old.text])
        record.baseline = now
        record.readings = 7
        record.title = "Example"
        var expected = FeedRecord(id: record.id, url: new.text)
        (expected.baseline, expected.readings, expected.title) = (record.baseline, record.readings, record.title)
        record.retired = now
        record.due = DueTime(after: .seconds(86_400), from: now)
        (record.failures, record.failingSince) = (4, now)
        record.problem = FeedProblem(kind: "status 410", line: "…")
        record.move = MoveCandidate(url: "https://news.example/newer", firstSeen: now, polls: 2)
        record.validators = FeedValidators(etag: [0x22], lastModified: Array("yesterday".utf8), url: "u")
        (record.bodyHash, record.identicalAnswers) = ([9], 3)
        try store.transaction { try $0.save(record) }
        #expect(try store.enroll([new])[new.text] == expected)
    }

    @Test func `keys, links and rows of one fetch come together, and a fault takes all back`() throws {
        struct Fault: Error {}
        let folder = try ScratchFolder()
        let address = try FeedAddress(parsing: "https://news.example/feed", allowsFile: false)
        let store = try PublisherStore(path: folder.file("p.db"))
        var record = try #require(try store.enroll([address])[address.text])
        record.readings = 1
        let keys = [SeenKey(.entry, try key(1)), SeenKey(.loose, try key(1))]
        try store.close()
        let faulty = try PublisherStore(path: folder.file("p.db")) { sql in
            if sql.hasPrefix("UPDATE feed") { throw Fault() }
        }
        #expect(throws: Fault.self) {
            try read(faulty, record, keys, messages: [message("a")])
        }
        #expect(try faulty.pending() == [])
        #expect(try faulty.feeds()[address.text]?.readings == 0)
        try faulty.close()

        let whole = try PublisherStore(path: folder.file("p.db"))
        let links = [try key(5)]
        let unknown = try read(whole, record, keys, links: links, messages: [message("a"), message("b")])
        #expect(unknown.known.isEmpty && unknown.stories.isEmpty && unknown.unknown == [keys[0].key])
        #expect(try whole.pending().map(\.message.idempotencyKey) == ["a", "b"])
        record.readings = 2
        let known = try read(whole, record, keys, links: links)
        #expect(known.known == Set(keys) && Set(known.stories.keys) == Set(links) && known.unknown.isEmpty)
    }

    @Test func `rows are sent, refused or folded, once`() throws {
        let folder = try ScratchFolder()
        let address = try FeedAddress(parsing: "https://news.example/feed", allowsFile: false)
        let store = try PublisherStore(path: folder.file("p.db"))
        let record = try #require(try store.enroll([address])[address.text])
        try read(store, record, [], messages: ["a", "b", "c", "d"].map { message($0) })
        let rows = try store.pending()
        let ids = rows.map(\.id)
        #expect(try store.markAttempted(ids[0]) == rows[0].message.body)
        #expect(try store.pending().map(\.wasAttempted) == [true, false, false, false])
        try store.finish(ids[1], .failed(reason: "413 too large"), now: now)
        try store.finish(ids[2], .sent(messageID: "m1"), now: now)
        #expect(try store.markAttempted(ids[2]) == nil, "what waits no longer is not sent")
        #expect(try store.fold(rows, into: message("digest"), now: now) == nil, "what changed meanwhile is not folded")
        let digest = try #require(try store.fold([rows[3]], into: message("digest"), now: now))
        let states = try store.read { store in
            try store.values("SELECT state FROM outbox") { try $0.decode(String.self, forColumn: "state") }
        }
        #expect(states.sorted() == ["failed", "folded", "pending", "pending", "sent"])
        #expect(try store.pendingCount() == 2)
        #expect(try store.pending().map(\.id) == [ids[0], digest.id])
    }

    @Test func `bytes are frozen as they are when a row is marked, and no later version changes them`() throws {
        let folder = try ScratchFolder()
        let address = try FeedAddress(parsing: "https://news.example/feed", allowsFile: false)
        let store = try PublisherStore(path: folder.file("p.db"))
        let record = try #require(try store.enroll([address])[address.text])
        try read(store, record, [], messages: [message("a")])
        let row = try #require(try store.pending().first)
        func amend(_ body: [UInt8]) throws {
            var amended = row.message
            amended.body = body
            let composed = ComposedMessages(amended: [row.id: amended])
            try store.transaction { try $0.record(composed, of: record.id, in: "world", now: now) }
        }
        try amend([3])
        #expect(try store.markAttempted(row.id) == [3], "amended since the row was read")
        try amend([4])
        #expect(try store.pending().map(\.message.body) == [[3]])
    }

    @Test func `keys are kept for a thousand entries and long after they left`() throws {
        let folder = try ScratchFolder()
        let address = try FeedAddress(parsing: "https://news.example/feed", allowsFile: false)
        let store = try PublisherStore(path: folder.file("p.db"))
        var record = try #require(try store.enroll([address])[address.text])
        func keys(_ round: Int) throws -> [SeenKey] {
            try (0..<100).map { number in
                let bytes = [UInt8](repeating: 0, count: 12) + [UInt8(round), 0, 0, UInt8(number)]
                return SeenKey(.entry, try #require(EntryKey(bytes: bytes)))
            }
        }
        for round in 1...30 {
            record.readings += 1
            try read(store, record, try keys(round))
        }
        #expect(try read(store, record, try keys(21)).known.count == 100)
        #expect(try read(store, record, try keys(2)).known.isEmpty)
    }

    @Test func `a database of a newer version is not touched`() throws {
        let folder = try ScratchFolder()
        try "not a database, but long enough to be read as one".write(
            toFile: folder.file("p.db"),
            atomically: true,
            encoding: .utf8
        )
        let error = #expect(throws: DatabaseFileError.self) { try PublisherStore(path: folder.file("p.db")) }
        #expect(error?.description.contains("p.db") == true)
        #expect(error?.isTemporary == false)
    }

    @Test func `a directory that is not there is named`() throws {
        let folder = try ScratchFolder()
        let error = #expect(throws: DatabaseFileError.self) { try PublisherStore(path: folder.file("none/p.db")) }
        #expect(error?.description.contains("none/p.db") == true)
    }
}
