import GRDB
import HubTestServer
import SQLiteFiles
import Testing

@testable import AppBackend

@Suite struct BackendStoreTests {
    private let scratch: ScratchFolder
    private let store: BackendStore

    init() throws {
        scratch = try ScratchFolder()
        store = try BackendStore(path: scratch.file("backend.sqlite"))
    }

    @Test func `a commit survives a power cut`() async throws {
        let (synchronous, mode) = try await store.write { db in
            (
                try Int.fetchOne(db.database, sql: "PRAGMA synchronous"),
                try String.fetchOne(db.database, sql: "PRAGMA journal_mode")
            )
        }
        #expect(synchronous == 2 && mode == "wal")
    }

    @Test func `readers do not wait for a writer, and see what was committed before`() async throws {
        try await store.write { try $0.database.execute(sql: "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)") }
        let (isHeld, gate) = (Gate(), Gate())
        let writer = Task {
            try await store.write { db in
                try db.database.execute(sql: "INSERT INTO t VALUES (2)")
                isHeld.open()
                gate.blockUntilOpen()
            }
        }
        await isHeld.opened()
        let before = try await store.read { try Int.fetchOne($0.database, sql: "SELECT max(n) FROM t") }
        gate.open()
        try await writer.value
        let after = try await store.read { try Int.fetchOne($0.database, sql: "SELECT max(n) FROM t") }
        #expect(before == 1 && after == 2)
    }

    /// A file of the first schema, one that was brought from it to the second, and one whose first schema had senders.
    @Test(arguments: [("1", false), ("2", false), ("2", true)])
    func `a file of an earlier schema keeps its users`(version: String, hasSenders: Bool) async throws {
        let path = scratch.file("\(version)-\(hasSenders).sqlite")
        let first = try DatabaseQueue(path: path)
        try BackendStore.migrator.migrate(first, upTo: version)
        try await first.write { db in
            if hasSenders { try BackendStore.addSenders(db) }
            try db.execute(
                sql: """
                    INSERT INTO account (key, name, rounds, blockSize, parallelism, salt, hash, mayNotifyOthers, createdAt,
                        passwordAt) VALUES ('alice', 'Alice', 1, 8, 1, x'00', x'00', 1, 1, 1)
                    """
            )
        }
        try first.close()
        let store = try BackendStore(path: path)
        let accounts = try await store.accounts()
        let senders = try await store.read { try Int.fetchOne($0.database, sql: "SELECT count(sender) FROM payload") }
        #expect(senders == 0)
        #expect(accounts.map(\.name.text) == ["Alice"] && accounts.allSatisfy(\.mayNotifyOthers))
    }
}
