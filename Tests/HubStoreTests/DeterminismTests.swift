import Foundation
import GRDB
import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct DeterminismTests {
    @Test(
        arguments: [
            ("UPDATE t SET a = random()", "it calls random()"),
            ("INSERT INTO t VALUES (hex(randomblob(16)))", "it calls randomblob()"),
            ("DELETE FROM t WHERE at < unixepoch()", "it calls unixepoch()"),
            ("UPDATE t SET at = strftime('%s', 'now')", "it calls strftime()"),
            ("INSERT INTO t VALUES (julianday (?1))", "it calls julianday()"),
            ("INSERT INTO t VALUES (CURRENT_TIMESTAMP)", "it names current_timestamp"),
            ("UPDATE t SET a = last_insert_rowid()", "it calls last_insert_rowid()"),
            ("UPDATE hub SET about = sealed(about, hubID)", "it calls sealed()"),
            ("UPDATE t SET a = (SELECT group_concat(b) FROM u)", "it calls group_concat()"),
            ("UPDATE t SET a = format('%d', 'NOW')", "it reads the clock by 'now'"),
            ("DELETE FROM t WHERE a = ? LIMIT 10", "it limits rows in no stated order"),
            ("DELETE FROM t WHERE a IN (SELECT a FROM t LIMIT 10)", "it limits rows in no stated order"),
            (
                "DELETE FROM t WHERE a IN (SELECT a FROM (SELECT a FROM t ORDER BY a) LIMIT 10)",
                "it limits rows in no stated order"
            ),
            ("INSERT INTO t SELECT a FROM u", "it inserts rows in no stated order"),
            ("INSERT OR REPLACE INTO clock VALUES (1, ?)", "it names 'clock', which each node writes for itself"),
            ("DELETE FROM streamProgress", "it names 'streamProgress', which each node writes for itself"),
        ]
    )
    func `a statement that another node could not repeat is found`(sql: String, fault: String) {
        #expect(DeterministicSQL.fault(in: sql) == fault)
    }

    @Test(
        arguments: [
            "INSERT INTO t VALUES (?, ?, x'')", "UPDATE t SET date = ?, changes = changes + 1 WHERE time < ?",
            "DELETE FROM t WHERE a IN (SELECT a FROM t WHERE b = ?1 ORDER BY a LIMIT ?2)",
            "DELETE FROM t WHERE a < (SELECT a FROM t ORDER BY a DESC LIMIT 1 OFFSET ?)",
            "INSERT INTO t SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM u WHERE a = ?1)",
            "INSERT INTO t SELECT a FROM u ORDER BY a", "UPDATE t SET name = 'deleted:' || a, note = 'known now'",
        ]
    )
    func `a statement that another node can repeat is accepted`(sql: String) {
        #expect(DeterministicSQL.fault(in: sql) == nil)
    }

    @Test func `a hub that rehearses refuses a statement that is not deterministic`() async throws {
        let scratch = try Scratch()
        let store = try HubStore(path: scratch.path, rehearses: true)
        let name = try HubName("news")
        let hub = try await store.change { try $0.insertHub(name, rules: [], at: 0) }.id
        await #expect(throws: HubStoreError.self) {
            try await store.change { try $0.execute("UPDATE hub SET updatedAt = random() WHERE hubID = ?", [hub]) }
        }
        #expect(try await store.hub(id: hub)?.updatedAt == 0, "the member was undone")
    }
}
