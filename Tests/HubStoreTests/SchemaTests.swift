import Foundation
import GRDB
import HubProtocol
import Testing

@testable import HubStore

struct SchemaTests {
    @Test func `a new file is migrated from nothing, and opened again as it is`() async throws {
        let scratch = try Scratch()
        var (store, hub) = try await scratch.store()
        try await store.append(hub)
        try store.close()
        (store, hub) = try await scratch.store()
        #expect(try await store.hubs().map(\.name.text) == ["news"])
        #expect(try await store.extent().top == 1)
        #expect(try await store.accessRules(hub: hub).map(\.name) == ["Listen"])
    }

    @Test func `a file of a newer version is refused and left alone`() async throws {
        let scratch = try Scratch()
        try HubStore(path: scratch.path).close()
        let queue = try DatabaseQueue(path: scratch.path)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99 of tomorrow')") }
        try queue.close()
        let error = #expect(throws: HubStoreError.self) { try HubStore(path: scratch.path) }
        #expect(error.map { "\($0)".contains("newer version") } == true)
        let applied = try await scratch.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_migrations") }
        #expect(applied == Schema.migrator.migrations.count + 1)
    }

    @Test(arguments: [
        ("owed rows", Query.owedRows), ("messages", Query.messages), ("installation", Query.installation),
        ("accepted message", Query.acceptedMessage), ("expired keys", Query.dropKeys),
        ("unused owed row", Query.unusedOwedRow), ("owed sizes", Query.owedSizes), ("owed before", Query.dropOwed),
        ("oldest rows", Query.oldestRows), ("bytes added", Query.bytesAfter),
        ("message by id", Inquiry.message), ("newest messages", Inquiry.newestMessages),
        ("sent message", Inquiry.sent), ("installation of a secret", Query.installationOfDigest),
        ("scheduled message", ScheduledQuery.one), ("due messages", ScheduledQuery.due),
        ("waiting messages", ScheduledQuery.waiting), ("next due", ScheduledQuery.nextDue),
        ("too many canceled", ScheduledQuery.boundCanceled),
        ("change after", Inquiry.change), ("changes after", Inquiry.changes), ("progress", Inquiry.progress),
    ])
    func `no hot statement scans or sorts a table`(name: String, sql: String) async throws {
        let scratch = try Scratch()
        _ = try await scratch.store()
        let plan = try await scratch.read { db in
            // Parameters that are not given are NULL, which EXPLAIN does not mind.
            let statement = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
            statement.setUncheckedArguments(StatementArguments())
            return try Row.fetchAll(statement).map { $0["detail"] as String }
        }
        let allowed =
            switch name {
            // They are read in the order of the table, up to a limit.
            case "oldest rows": ["SCAN log"]
            // Of the changes alone, when an operator asks.
            case "changes after": ["USE TEMP B-TREE FOR GROUP BY"]
            default: [String]()
            }
        for step in plan where !allowed.contains(step) {
            #expect(!step.hasPrefix("SCAN") && !step.contains("TEMP B-TREE"), "\(plan)")
        }
    }
}
