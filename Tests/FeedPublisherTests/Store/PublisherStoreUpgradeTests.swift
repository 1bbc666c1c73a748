import Feeds
import Foundation
import GRDB
import HubTestServer
import Testing

@testable import FeedPublisher

@Suite struct PublisherStoreUpgradeTests {
    /// A database as the first release left it, with something in every table.
    private static let firstRelease = """
        INSERT INTO feed (id, url, moved_url, etag, last_modified, body_hash, due, wait, failures, last_success, newest_entry,
            baseline, readings, complete_reading, title, format)
        VALUES (7, 'https://news.example/feed', 'https://news.example/new', x'2231ff22', x'31', x'0102', 1780000900000, 900000,
            2, 1780000000000, 1780000000000, 1780000000000, 5, 4, 'Example', 'rss-2.0');
        INSERT INTO seen (feed, kind, key, first_seen, last_reading)
        VALUES (7, 0, x'000102030405060708090a0b0c0d0e0f', 1780000000000, 5),
            (7, 3, x'000102030405060708090a0b0c0d0e0f', 1780000000000, 5);
        INSERT INTO story (id, category, link, first_seen)
        VALUES (3, 'world', x'0f0e0d0c0b0a09080706050403020100', 1780000000000);
        INSERT INTO outbox (id, feed, category, tags, idempotency_key, body, headlines, entries, is_digest, created)
        VALUES (11, 7, 'World', 'World', 'key', CAST('{"title":"a"}' AS BLOB), 'a', 1, 0, 1780000000000),
            (12, 7, 'World', 'World', 'key2', CAST('{"title":"b","story":"s","urgency":"critical"}' AS BLOB), 'b', 1, 0,
                1780000000000),
            (13, 7, 'World', 'World', 'key3', x'ff', 'c', 1, 0, 1780000000000);
        UPDATE outbox SET attempted = 1 WHERE id = 13;
        INSERT INTO host_wait VALUES ('news.example', 1780000900000, 900000);
        INSERT INTO note VALUES ('hubTrouble', 'unreachable');
        """

    private func oldDatabase(_ path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try PublisherStore.migrator.migrate(queue, upTo: "1 feeds, keys, outbox")
        try queue.write { try $0.execute(sql: Self.firstRelease) }
        try queue.close()
    }

    @Test func `a database of the first release is taken over whole`() throws {
        let folder = try ScratchFolder()
        try oldDatabase(folder.file("p.db"))
        let store = try PublisherStore(path: folder.file("p.db"))
        var record = try #require(try store.feeds()["https://news.example/feed"])
        #expect(record.id == 7 && record.failures == 2 && record.title == "Example")
        #expect(record.validators == Validators(etag: [0x22, 0x31, 0xFF, 0x22], lastModified: [0x31]))
        #expect(record.pace == FeedPace())
        let rows = try store.pending()
        let messages = rows.map(\.message)
        #expect(messages.map(\.headlines) == ["a", "b", "c"])
        #expect(messages.map(\.story) == [nil, "s", nil] && messages.map(\.urgency) == [nil, "critical", nil])
        #expect(messages.map(\.isUrgent) == [false, true, false])
        #expect(rows.map(\.wasAttempted) == [false, false, true])
        #expect(try store.hostWaits().keys.sorted() == ["news.example"])
        #expect(try store.note(.hubTrouble) == "unreachable")

        let key = try #require(EntryKey(bytes: Array(UInt8(0)...15)))
        let link = try #require(EntryKey(bytes: Array((UInt8(0)...15).reversed())))
        record.readings = 6
        let now = Date(timeIntervalSince1970: 1_780_001_000)
        try store.transaction { [record] store in
            let entries = [EntryMark(key: key, content: link)]
            let state = try store.seen(entries, of: record)
            #expect(state.known == [SeenKey(.entry, key)] && state.edited.isEmpty && state.unknown.isEmpty)
            #expect(try store.seen([SeenKey(.title, key)], of: record.id) == [SeenKey(.title, key)])
            var known = KnownStory(feed: nil, announced: Date(timeIntervalSince1970: 1_780_000_000))
            known.name = "k000000000000003"
            #expect(try store.stories([link], in: "world", hasLanguages: false) == [link: known])
            try store.mark([SeenKey(.entry, key)], entries, of: record, now: now)
            try store.save(record)
        }
        #expect(try store.feeds()["https://news.example/feed"] == record)
        try store.close()
    }

    @Test func `a story of before names were kept can be replaced`() throws {
        let folder = try ScratchFolder()
        let queue = try DatabaseQueue(path: folder.file("p.db"))
        try PublisherStore.migrator.migrate(queue, upTo: "3 stories by title, contents, held entries")
        try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO feed (id, url, baseline) VALUES (7, 'https://news.example/feed', 1);
                    INSERT INTO outbox (id, feed, category, tags, idempotency_key, body, headlines, entries, is_digest, created,
                        state) VALUES (11, 7, 'World', 'World', 'key', x'7b7d', 'a', 1, 0, 1780000000000, 'sent');
                    INSERT INTO story (category, key, first_seen, feed, outbox)
                    VALUES ('world', x'0f0e0d0c0b0a09080706050403020100', 1780000000000, 7, 11),
                        ('world', x'000102030405060708090a0b0c0d0e0f', 1780000000000, 7, 11);
                    """
            )
        }
        try queue.close()
        let store = try PublisherStore(path: folder.file("p.db"))
        let keys = [Array(UInt8(0)...15), (UInt8(0)...15).reversed()].compactMap { EntryKey(bytes: $0) }
        let stories = try store.read { try $0.stories(keys, in: "world", hasLanguages: false) }
        #expect(stories.count == 2)
        #expect(Set(stories.values.map(\.name)) == ["m000000000000011"])
        #expect(stories.values.allSatisfy { $0.showing == .singly && $0.headline == "a" && !$0.isWithdrawn })
        try store.close()
    }

    @Test func `a dry run reads a database of the first release without changing it`() throws {
        let folder = try ScratchFolder()
        try oldDatabase(folder.file("p.db"))
        let before = try Data(contentsOf: URL(filePath: folder.file("p.db")))
        let copy = try PublisherStore.scratchCopy(of: folder.file("p.db"))
        #expect(try copy.feeds().count == 1)
        try copy.close()
        #expect(try Data(contentsOf: URL(filePath: folder.file("p.db"))) == before)
    }
}
