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
        #expect(record.validators == FeedValidators(etag: [0x22, 0x31, 0xFF, 0x22], lastModified: [0x31]))
        #expect(record.pace == FeedPace())
        let rows = try store.pending()
        let messages = rows.map(\.message)
        #expect(messages.map(\.headlines) == ["a", "b", "c"])
        #expect(messages.map(\.story) == [nil, "s", nil] && messages.map(\.urgency) == [nil, "critical", nil])
        #expect(messages.map(\.isUrgent) == [false, true, false])
        #expect(rows.map(\.wasAttempted) == [false, false, true])
        #expect(try store.hostWaits().keys.sorted() == ["news.example"])
        #expect(try store.note(.hubProblem) == "unreachable")

        let key = try #require(EntryKey(bytes: Array(UInt8(0)...15)))
        let link = try #require(EntryKey(bytes: Array((UInt8(0)...15).reversed())))
        record.readings = 6
        let now = Date(timeIntervalSince1970: 1_780_001_000)
        try store.transaction { [record] store in
            let entries = [EntryMark(key: key, content: link)]
            var state = try store.seen(entries, of: record)
            #expect(state.known == [SeenKey(.entry, key)] && state.edited.isEmpty && state.unknown.isEmpty)
            try store.seen([SeenKey(.title, key)], of: record.id, into: &state)
            #expect(state.known.contains(SeenKey(.title, key)))
            var known = KnownStory(feed: nil, announced: Date(timeIntervalSince1970: 1_780_000_000))
            known.name = "k000000000000003"
            #expect(try store.stories([link], in: "world", hasLanguages: false) == [link: known])
            try store.mark([SeenMark(.entry, key, content: link)], of: record, now: now)
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

    @Test func `a database of before columns had the hub's style of names is taken over whole`() throws {
        let folder = try ScratchFolder()
        let queue = try DatabaseQueue(path: folder.file("p.db"))
        try PublisherStore.migrator.migrate(queue, upTo: "8 story and urgency of messages, one style of names")
        try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO feed (id, url, moved_url, move_url, move_first_seen, move_polls, last_modified, body_hash,
                        identical_answers, failing_since, trouble_kind, trouble, last_success, newest_entry, baseline,
                        readings, complete_reading, incomplete_readings, identity_rule, validator_url, skip_hours,
                        skip_days, last_update, held_until)
                    VALUES (7, 'https://news.example/feed', 'https://news.example/new', 'https://news.example/newer', 1000,
                        2, x'31', x'0102', 3, 2000, 'ended the program',
                        'it is skipped; ''newswire publish --force'' reads it again, and a report helps', 3000, 4000,
                        5000, 6, 5, 1, 1, 'https://news.example/new', 5, 2, 7000, 8000);
                    INSERT INTO seen (feed, kind, key, first_seen, last_reading)
                    VALUES (7, 0, x'000102030405060708090a0b0c0d0e0f', 1000, 5);
                    INSERT INTO outbox (id, feed, category, tags, idempotency_key, body, headlines, entries, is_digest, created,
                        is_attempted, not_before)
                    VALUES (11, 7, 'World', 'World', 'key', CAST('{"title":"a"}' AS BLOB), 'a', 1, 0, 1000, 1, 2000);
                    INSERT INTO story (category, key, first_seen, feed, outbox, name, is_withdrawn, alert_key, alert_sent)
                    VALUES ('world', x'0f0e0d0c0b0a09080706050403020100', 1000, 7, 11, 's', 1,
                        x'000102030405060708090a0b0c0d0e0f', 3000);
                    INSERT INTO websub (id, feed, hub, topic, callback, path_hash, created, state, due, lease_end,
                        last_delivery, missed_since)
                    VALUES (3, 7, 'https://hub.example/', 'https://news.example/feed', 'https://own.example/x',
                        zeroblob(32), 1000, 'active', 2000, 3000, 4000, 5000);
                    INSERT INTO reading (feed, body_hash, program, started, is_open, deaths, is_certain)
                    VALUES (7, zeroblob(32), '1.0', 1000, 0, 2, 1);
                    INSERT INTO host_wait VALUES ('news.example', 1000, 900000);
                    """
            )
        }
        try queue.close()

        let store = try PublisherStore(path: folder.file("p.db"))
        let seconds = { (number: Double) in Date(timeIntervalSince1970: number) }
        var record = FeedRecord(id: 7, url: "https://news.example/feed")
        record.movedURL = "https://news.example/new"
        record.move = MoveCandidate(url: "https://news.example/newer", firstSeen: seconds(1), polls: 2)
        record.validators = FeedValidators(lastModified: [0x31], url: "https://news.example/new")
        record.bodyHash = [1, 2]
        record.identicalAnswers = 3
        record.failingSince = seconds(2)
        record.problem = FeedProblem(kind: FeedProblem.endedProgram, line: "it is skipped")
        (record.lastSuccess, record.newestEntry, record.baseline) = (seconds(3), seconds(4), seconds(5))
        (record.readings, record.completeReading, record.incompleteReadings) = (6, 5, 1)
        record.identityRule = try #require(IdentityRule(rawValue: 1))
        (record.pace.skipHours, record.pace.skipDays) = ([0, 2], [1])
        (record.lastUpdate, record.heldUntil) = (seconds(7), seconds(8))
        record.bodyReceived = seconds(3 - 7 * 7_919)
        #expect(try store.feeds() == [record.url: record])

        let row = try #require(try store.pending().first)
        #expect(row.wasAttempted && !row.message.isDigest && row.message.idempotencyKey == "key")
        #expect(row.created == seconds(1) && row.message.notBefore == seconds(2))
        let key = try #require(EntryKey(bytes: Array(UInt8(0)...15)))
        let link = try #require(EntryKey(bytes: Array((UInt8(0)...15).reversed())))
        let (seen, story) = try store.read { store in
            var state = SeenState()
            try store.seen([SeenKey(.entry, key)], of: 7, into: &state)
            return (state.known, try store.stories([link], in: "world", hasLanguages: false)[link])
        }
        #expect(seen == [SeenKey(.entry, key)])
        #expect(story?.isWithdrawn == true && story?.alert == LastAlert(key: key, sent: seconds(3)))
        let subscription = try #require(try store.subscriptions().first?.subscription)
        #expect(
            [subscription.leaseEnd, subscription.lastDelivery, subscription.missedSince]
                == [seconds(3), seconds(4), seconds(5)]
        )
        let reading = try #require(try store.interruptedReadings()[7])
        #expect(reading.isCertain && reading.deaths == 2 && reading.hash == Array(repeating: 0, count: 32))
        #expect(
            try store.hostWaits().mapValues(\.due) == ["news.example": DueTime(at: seconds(1), wait: .seconds(900))]
        )
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
