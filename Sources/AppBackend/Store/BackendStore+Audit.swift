import GRDB
package import HubProtocol
package import SQLiteFiles
import WebEdge

extension AuditEvent {
    /// Stores the event in the transaction of its change.
    package func insert(at now: Timestamp, in db: TableTransaction) throws {
        try insert(at: now, until: now, count: 1, in: db)
    }

    /// Counts the event in a recent row of equal events, if there is one, in the transaction of its change.
    ///
    /// Use it for changes that a user can repeat at will: with a row for each, they would push out other events.
    func count(at now: Timestamp, in db: TableTransaction) throws {
        _ = try CountedEvent(event: self, first: now, last: now, count: 1).store(in: db)
    }

    fileprivate func insert(at first: Timestamp, until last: Timestamp, count: Int, in db: TableTransaction) throws {
        try db.execute(
            "INSERT INTO audit (at, lastAt, count, who, what, outcome, network) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [first, last, count, who?.key, what.rawValue, outcome.rawValue, network?.description]
        )
    }

    /// Adds to a row of equal events from `time` on, if there is one.
    fileprivate func add(count: Int, until last: Timestamp, since time: Timestamp, in db: TableTransaction) throws
        -> Bool
    {
        try db.execute(
            """
            UPDATE audit SET count = count + ?, lastAt = max(lastAt, ?)
            WHERE auditID = (
                SELECT auditID FROM audit
                WHERE what = ? AND who IS ? AND outcome = ? AND network IS ? AND at > ?
                ORDER BY at DESC LIMIT 1
            )
            """,
            [count, last, what.rawValue, who?.key, outcome.rawValue, network?.description, time]
        )
        return db.changesCount == 1
    }
}

extension CountedEvent {
    /// - Returns: True if a new row was inserted, because no row of equal events was recent enough.
    fileprivate func store(in db: TableTransaction) throws -> Bool {
        let since = first - AuditLog.span(of: event.outcome)
        if try event.add(count: count, until: last, since: since, in: db) { return false }
        try event.insert(at: first, until: last, count: count, in: db)
        return true
    }
}

extension BackendStore {
    /// Stores collected events, each in a recent row of equal events or in a new row.
    ///
    /// - Returns: The number of new rows.
    func insert(_ events: [CountedEvent]) async throws -> Int {
        try await write { db in
            try events.reduce(into: 0) { newRows, event in if try event.store(in: db) { newRows += 1 } }
        }
    }

    /// Deletes the oldest rows above the limits.
    func boundAudit() async throws {
        try await write { db in
            for outcome in [AuditEvent.Outcome.refused, .slowed] {
                try db.execute(
                    """
                    DELETE FROM audit WHERE outcome = ? AND auditID <= (
                        SELECT auditID FROM audit WHERE outcome = ? ORDER BY auditID DESC LIMIT 1 OFFSET ?
                    )
                    """,
                    [outcome.rawValue, outcome.rawValue, AuditLog.maximumRefusals]
                )
            }
            try db.execute(
                """
                DELETE FROM audit WHERE auditID <= (
                    SELECT auditID FROM audit ORDER BY auditID DESC LIMIT 1 OFFSET ?
                )
                """,
                [AuditLog.maximumRows]
            )
        }
    }

    /// True if the audit log has a sign-in of a user from a network.
    ///
    /// A network is thus known for as long as the log keeps its last sign-in (``AuditLog/retention``).
    func hasSignedIn(_ name: UserName, from network: ClientNetwork) async throws -> Bool {
        try await readShortly { db in
            try db.exists(
                "SELECT 1 FROM audit WHERE what = ? AND who = ? AND outcome = ? AND network = ?",
                [AuditEvent.Kind.signIn.rawValue, name.key, AuditEvent.Outcome.done.rawValue, network.description]
            )
        }
    }

    /// The time of the newest event; `nil` without events.
    func newestEvent() async throws -> Timestamp? {
        try await read { try $0.value("SELECT max(lastAt) FROM audit") }
    }

    /// Deletes rows whose last event was before `time`.
    func deleteAudit(before time: Timestamp) async throws {
        try await execute("DELETE FROM audit WHERE lastAt < ?", [time])
    }

    /// The latest rows, for one user or all users, oldest first.
    func audit(of name: UserName?, limit: Int) async throws -> [AuditRecord] {
        try await read { db in
            let condition = name == nil ? "" : "WHERE who = ?"
            let rows = try db.rows(
                "SELECT * FROM audit \(condition) ORDER BY auditID DESC LIMIT ?",
                (name.map { [$0.key] } ?? []) + [limit]
            )
            return try rows.reversed().map(AuditRecord.init(row:))
        }
    }
}
