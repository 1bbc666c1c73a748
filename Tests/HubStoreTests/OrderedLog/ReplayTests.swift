import Foundation
import GRDB
import HubProtocol
import HubRouting
import SharedLog
import Testing

@testable import HubStore

struct ReplayTests {
    @Test func `every kind of change, repeated on another database, makes it equal`() async throws {
        let (first, second, log) = (try Scratch(), try Scratch(), MemoryLog())
        try await record(on: first, in: log)
        let follower = try await HubStore.joined(second.path, log.node("b"))
        try await follower.follow { _ in }
        let (one, other) = (try await first.replicated(), try await second.replicated())
        #expect(one.keys.sorted() == other.keys.sorted())
        for (table, rows) in one { #expect(rows == other[table], "\(table)") }
        let filled = one.filter { !$0.value.isEmpty }.keys
        // The tests of pages compare what other modules write.
        let foreign = Schema.version26.matches(of: /CREATE TABLE ([A-Za-z]+)/).map { String($0.output.1) }
        #expect(
            Set(one.keys).subtracting(filled).isSubset(of: ["loss", "testAnswer"] + foreign),
            "what is compared has rows, but for what is dropped at the end"
        )
        #expect(try await first.place() == second.place())
    }

    @Test func `what each node keeps for itself stays where it is`() async throws {
        let (first, second, log) = (try Scratch(), try Scratch(), MemoryLog())
        try await record(on: first, in: log)
        let follower = try await HubStore.joined(second.path, log.node("b"))
        try await follower.follow { _ in }
        for table in DeterministicSQL.nodeLocalTables.subtracting(["logPlace"]) {
            let sql = "SELECT count(*) FROM \(table)"
            #expect(try await first.read { try Int.fetchOne($0, sql: sql) } ?? 0 > 0, "\(table)")
            #expect(try await second.read { try Int.fetchOne($0, sql: sql) } == 0, "\(table)")
        }
    }

    @Test func `the record has each way in which the store writes a table`() async throws {
        let (scratch, log) = (try Scratch(), MemoryLog())
        try await record(on: scratch, in: log)
        let recorded = try Set(log.entries.flatMap(\.statements).flatMap { Self.writes($0.sql) })
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/HubStore")
        let sources = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }
        let known = try Set(sources.flatMap { Self.writes(try String(contentsOf: $0, encoding: .utf8)) })
            .filter { write in !DeterministicSQL.nodeLocalTables.contains { write.hasSuffix(" \($0)") } }
        try #require(known.count > 40)
        #expect(known.subtracting(recorded).sorted() == [])
    }

    /// Statements in a text, by what they do to which table.
    private static func writes(_ text: String) -> [String] {
        let statements = text.matches(of: /(INSERT(?: OR REPLACE)? INTO|UPDATE|DELETE FROM) ([A-Za-z_]+)/)
            .filter { $0.output.2 != "SET" && $0.output.2 != "OF" }
            .map { "\($0.output.1) \($0.output.2)" }
        let inserted = text.matches(of: /insert\(\s*into: "([A-Za-z]+)"/).map { "INSERT INTO \($0.output.1)" }
        let updated = text.matches(of: /update\(\s*"([A-Za-z]+)"/).map { "UPDATE \($0.output.1)" }
        return statements + inserted + updated
    }

    @Test func `an entry that does something else here is refused, and nothing of it is kept`() async throws {
        let (first, second, log) = (try Scratch(), try Scratch(), MemoryLog())
        let writer = try await HubStore.joined(first.path, log.node("a"))
        let name = try HubName("news")
        let hub = try await writer.change { try $0.insertHub(name, rules: [], at: 0) }.id
        let follower = try await HubStore.joined(second.path, log.node("b"))
        try await follower.follow { _ in }
        let before = try await second.place()
        try await follower.pool.write { try $0.execute(sql: "UPDATE hub SET hubID = 77") }
        try await writer.change { transaction in
            try transaction.putNamespaceRule(.generated(name: "n", rights: .send), at: 1)
            try transaction.deleteHub(id: hub, at: 1)
        }
        let error = await #expect(throws: OrderedLogError.self) { try await follower.follow { _ in } }
        guard case .diverged(let number, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(number == 2)
        #expect(try await second.place() == before)
        #expect(try await follower.namespaceRules().isEmpty)
    }

    /// Makes every kind of change; an older version has written one credential.
    private func record(on scratch: Scratch, in log: MemoryLog) async throws {
        let description = NotificationHubDescription(
            credentials: [PlatformCredential(.wns, [.init(name: "SecretKey", value: "open sesame")])]
        )
        let older = try await HubStore.joined(scratch.path, log.node("a"))
        let name = try HubName("news")
        let hub = try await older.change { try $0.insertHub(name, description, at: 0) }.record.id
        try older.close()
        let store = try HubStore(
            path: scratch.path,
            secrets: SecretBox(key: Array(repeating: 7, count: SecretBox.keyBytes)),
            log: log.node("a"),
            rehearses: true
        )
        try await store.change { try $0.sealSecrets() }
        try await EveryChange(store: store).make(on: hub)
        try store.close()
    }
}

extension Scratch {
    /// The rows of all tables that nodes share, in their order, and `sqlite_sequence`.
    func replicated() async throws -> [String: [[DatabaseValue]]] {
        try await read { db in
            let names = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            var tables: [String: [[DatabaseValue]]] = [:]
            for name in names where !DeterministicSQL.nodeLocalTables.contains(name) && name != "grdb_migrations" {
                let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(name)")
                tables[name] = rows.map { Array($0.databaseValues) }
            }
            return tables
        }
    }

    /// How far the database has followed the log.
    func place() async throws -> LogPlace { try await read { try Transaction($0).logPlace() } }
}
