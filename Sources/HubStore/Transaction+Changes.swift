import GRDB
import HubProtocol
package import HubRouting

/// How much room registry changes take in the file of all hubs.
package struct ChangeSize: Sendable, Equatable {
    /// Rows of the log.
    package let rows: Int
    /// Of those rows, and of what installations wanted before their last change.
    package let bytes: Int64
}

extension Transaction {
    func changeSize() throws -> ChangeSize {
        guard let row = try Row.fetchOne(try db.cachedStatement(sql: ChangeQuery.size)) else {
            return ChangeSize(rows: 0, bytes: 0)
        }
        return ChangeSize(rows: row["changeRows"], bytes: row["changeBytes"])
    }

    /// Drops the oldest registry changes of a hub, with what installations wanted before them.
    ///
    /// Messages stay. An agent that was away since before a dropped change gets a gap for the messages that it had
    /// wanted then.
    ///
    /// - Returns: Number of changes that were dropped; less than `limit` means that there are no more.
    package func dropChanges(hub: HubKey, limit: Int) throws -> Int {
        let oldest = try Row.fetchAll(try db.cachedStatement(sql: ChangeQuery.oldest), arguments: [hub, limit])
        for row in oldest {
            let (sequence, ordinal): (LogSequence, Ordinal) = (row["sequence"], row["ordinal"])
            try execute(Query.dropOwed, [ordinal, sequence])
            try execute(ChangeQuery.drop, [sequence])
        }
        return oldest.count
    }

    /// Forgets the changes of an installation that goes: nothing asks for them any more.
    func forgetChanges(of installation: StoredInstallation) throws {
        try execute(ChangeQuery.forget, [installation.ordinal])
        try execute(ChangeQuery.forgetCreation, [installation.createdSequence, installation.ordinal])
    }
}

extension HubStore {
    package func changeSize() async throws -> ChangeSize {
        try await pool.read { db in try Transaction(db).changeSize() }
    }
}

/// The statements of registry changes, apart so that a test can ask for their plans.
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
