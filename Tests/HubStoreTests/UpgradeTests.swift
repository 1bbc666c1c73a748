import Foundation
import GRDB
import HubProtocol
import HubRouting
import SQLiteFiles
import Testing

@testable import HubStore

struct UpgradeTests {
    /// Written when the first schema was the present one: two starts, a changed agent, messages before and between,
    /// a stream, a key and a category.
    private static let dataOfFirstSchema = """
        INSERT INTO hub VALUES (1, 'news', 5);
        INSERT INTO accessRule VALUES (1, 'Listen', 'one', 'two', 1);
        INSERT INTO epoch VALUES (1, 'a', 1, 10), (2, 'b', 4, 20);
        INSERT INTO log (sequence, hubID, at, messageID, tags, body, ordinal) VALUES
            (1, 1, 100, 'm1', NULL, '{"title":"first"}', NULL),
            (2, 1, 110, NULL, NULL, NULL, 1),
            (3, 1, 120, 'm2', 'World', '{"title":"second"}', NULL),
            (4, 1, 130, NULL, NULL, NULL, 1),
            (5, 1, 140, 'm3', 'Sports', '{"title":"third"}', NULL);
        DELETE FROM log WHERE sequence = 1;
        UPDATE retention SET throughSequence = 1, bySize = 1, countedThrough = 5, countedBytes = 50;
        INSERT INTO idempotencyKey VALUES (1, 'k', x'01', 'm3', 140);
        INSERT INTO installation VALUES (1, 1, 'a', CAST(:new AS BLOB), x'0a', 2);
        INSERT INTO owed VALUES (1, 2, CAST(:old AS BLOB)), (1, 4, CAST(:new AS BLOB));
        INSERT INTO streamProgress VALUES (1, 3, 'a-3', 115, NULL);
        INSERT INTO category VALUES (1, 'p', 0, 'Weather');
        INSERT INTO clock VALUES (1, 150);
        """

    private static func record(_ tag: String) -> String {
        #"{"id":"a","platform":"stream","pushChannelExpired":false,"pushVariables":{},"secondaryTiles":{},"#
            + #""tags":["\#(tag)"],"templates":{"newswire":{"body":"{\"title\":\"$(title)\"}","headers":{},"tags":[]}}}"#
    }

    @Test(arguments: Schema.migrator.migrations)
    func `a file of any released schema is taken over with all that is in it`(schema: String) async throws {
        let scratch = try Scratch()
        let queue = try DatabaseQueue(path: scratch.path)
        let first = try #require(Schema.migrator.migrations.first)
        try Schema.migrator.migrate(queue, upTo: first)
        try await queue.write { db in
            let records = ["new": Self.record("Sports"), "old": Self.record("World")]
            for statement in Self.dataOfFirstSchema.split(separator: ";\n") {
                var sql = String(statement)
                for (name, record) in records { sql = sql.replacing(":\(name)", with: "'\(record)'") }
                try db.execute(sql: sql)
            }
        }
        try Schema.migrator.migrate(queue, upTo: schema)
        try queue.close()

        let (store, hub) = try await scratch.store()
        #expect(try await store.hubs().map(\.name.text) == ["news"])
        #expect(try await store.accessRules(hub: hub).map(\.primaryKey) == ["one"])
        let described = try #require(try await store.hub(id: hub))
        #expect(described.description.registrationTimeToLive == .unlimited && described.createdAt.milliseconds == 5)
        #expect(described.description.rules.map(\.createdAt.milliseconds) == [5], "a rule is as old as its hub")
        #expect(try await store.namespaceRules().isEmpty)
        #expect(try await store.epochs().map(\.firstSequence) == [1, 4])
        #expect(try await store.extent() == LogExtent(top: 6, droppedThrough: 1))
        #expect(try await store.logSize().droppedBySize == 1)
        #expect(try await store.categories(hub: hub) == ["Weather"])
        #expect(try await store.lastSeenClock() == 150)
        let targets = try await store.reduceTargets(into: [Target]()) { targets, _, target in targets.append(target) }
        #expect(targets.map(\.tags) == ["$InstallationId:{a},Sports", "$InstallationId:{a},Sports,newswire"])
        #expect(targets.map(\.isTemplate) == [false, true])
        #expect(targets.map(\.isMain) == [true, false])
        let pending = try await store.pendingMessages(hub: hub, ordinal: 1, after: 0, through: .end, limit: 9)
        #expect(try pending.messages.map { try $0.id.text } == ["m2", "m3"])
        #expect(try pending.rows.map { try $0.installation.tags.map(\.text) } == [["World"], ["Sports"], ["Sports"]])
        #expect(
            try pending.rows.map { try $0.installation.templates["newswire"]?.tags.map(\.text) } == [
                [], [], ["newswire"],
            ],
            "the name of a template counts for messages from now on"
        )
        let stream = StreamProgress(ordinal: 1, written: 3, resumedFrom: "a-3", connectedAt: 115)
        #expect(try await store.progress(ordinal: 1) == stream)
        let message = try await store.message(hub: hub, id: MessageID("m2"), through: .end)
        #expect(message?.at == 120)
        #expect(message?.matched == nil, "what was not counted is not known")
        #expect(try await store.change { try $0.acceptedMessage(hub: hub, key: "k")?.id.text } == "m3")
        // It goes on from there.
        #expect(try await store.append(hub) == 7)
        let revoked = StreamProgress(ordinal: 1, written: 7, revokedAt: 160)
        try await store.change { try $0.note(revoked) }
        #expect(try await store.progress(ordinal: 1)?.revokedAt == 160)
        #expect(try await store.progress(ordinal: 1)?.resumedFrom == "a-3")
    }

    @Test func `a file that got the later tables of deliveries with the first goes on`() async throws {
        let scratch = try Scratch()
        let queue = try DatabaseQueue(path: scratch.path)
        let deliveries = try #require(Schema.migrator.migrations.first { $0.hasPrefix("12 ") })
        try Schema.migrator.migrate(queue, upTo: deliveries)
        try await queue.write { db in
            try Schema.version13(db)
            try db.execute(sql: Schema.version14)
            try Schema.version15(db)
            try db.execute(sql: Schema.version16)
            try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('13 reports of publishers')")
        }
        try queue.close()
        _ = try HubStore(path: scratch.path)
        let applied = try await scratch.read { try Schema.migrator.appliedMigrations($0) }
        #expect(applied == Schema.migrator.migrations)
    }

    @Test func `a value of a wrong type stops an upgrade, which leaves the file as it was`() async throws {
        let scratch = try Scratch()
        let queue = try DatabaseQueue(path: scratch.path)
        let migrations = Schema.migrator.migrations
        let strict = try #require(migrations.firstIndex { $0.hasPrefix("11 ") })
        try Schema.migrator.migrate(queue, upTo: migrations[strict - 1])
        // The hubs have been copied by then.
        try await queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO hub (hubID, name, createdAt) VALUES (1, 'news', 5);
                    INSERT INTO accessRule (hubID, name, primaryKey, secondaryKey, rights)
                        VALUES (1, 'Listen', 'one', 'two', 'many')
                    """
            )
        }
        try queue.close()
        let error = #expect(throws: DatabaseFileError.self) { try HubStore(path: scratch.path) }
        #expect(error?.reason == "cannot store TEXT value in INTEGER column accessRule.rights")
        let kept = try await scratch.read { db in
            try String.fetchOne(db, sql: "SELECT hub.name || rights FROM accessRule JOIN hub USING (hubID)")
        }
        #expect(kept == "newsmany")
        let strictTables = try await scratch.read { db in
            try String.fetchAll(db, sql: "SELECT name FROM pragma_table_list WHERE strict AND schema = 'main'")
        }
        #expect(strictTables == [])
        #expect(try await scratch.read { try Schema.migrator.appliedMigrations($0).count } == strict)
    }
}
