import GRDB
import HubProtocol
package import HubRouting
import SQLiteFiles

/// The size of the registry changes of all hubs.
package struct ChangeSize: Sendable, Equatable {
    /// Rows of the log.
    package let rows: Int
    /// Bytes of those rows, and of former choices of installations.
    package let bytes: Int64
}

extension Transaction {
    func changeSize() throws -> ChangeSize {
        try db.row(ChangeQuery.size) { ChangeSize(rows: $0["changeRows"], bytes: $0["changeBytes"]) }
            ?? ChangeSize(rows: 0, bytes: 0)
    }

    /// Drops the oldest registry changes of a hub, with the choices that were in force before them.
    ///
    /// Messages stay. An agent that was last connected before a dropped change gets a gap instead of the messages of
    /// its former choice.
    ///
    /// - Returns: Number of dropped changes; fewer than `limit` if there are no more.
    package func dropChanges(hub: HubKey, limit: Int) throws -> Int {
        let oldest: [(LogSequence, Ordinal)] = try db.rows(ChangeQuery.oldest, [hub, limit]) {
            ($0["sequence"], $0["ordinal"])
        }
        for (sequence, ordinal) in oldest {
            try execute(Query.dropPending, [ordinal, sequence])
            try execute(ChangeQuery.drop, [sequence])
        }
        return oldest.count
    }

    /// Drops the changes of an installation that is about to be removed.
    func forgetChanges(of installation: StoredInstallation) throws {
        try execute(ChangeQuery.forget, [installation.ordinal])
        try execute(ChangeQuery.forgetCreation, [installation.createdSequence, installation.ordinal])
    }
}

extension HubStore {
    package func changeSize() async throws -> ChangeSize { try await read { try $0.changeSize() } }
}

/// Statements about registry changes, in one place so that a test can check their query plans.
enum ChangeQuery {
    static let size = "SELECT changeRows, changeBytes FROM retention"
    static let oldest = """
        SELECT sequence, ordinal FROM log WHERE hubID = ? AND ordinal IS NOT NULL ORDER BY sequence LIMIT ?
        """
    static let drop = "DELETE FROM log WHERE sequence = ?"
    static let forget = """
        DELETE FROM log WHERE sequence IN (SELECT afterSequence FROM owed WHERE ordinal = ?1) AND ordinal = ?1
        """
    static let forgetCreation = "DELETE FROM log WHERE sequence = ? AND ordinal = ?"
}
