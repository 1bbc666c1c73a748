import GRDB
package import HubProtocol
import SQLiteFiles

/// An operator's action on the pages.
package struct OperatorAction: Sendable, Equatable, Decodable, FetchableRecord {
    /// The action's number; later actions have larger numbers.
    package let id: Int64
    package let at: Timestamp
    /// The first characters of the name of an operator's session, or `user NAME` for an account at the desk.
    package let who: String
    /// The network that the request came from.
    package let network: String
    package let action: String
    package let detail: String
    /// The outcome; `begun` if the server stopped before the action ended, or could not record its end.
    package let outcome: String
}

/// An operator, or an account at the desk, who acts on the pages now.
struct ActingOperator: Sendable {
    /// The name in the audit log.
    let who: String
    /// The network that the request came from.
    let network: String
    let hub: HubName
    let at: Timestamp
}

extension PageStore {
    /// The largest number of stored actions of all hubs; the oldest are deleted first.
    static let maximumActions = 10_000
    /// The largest number of characters of a detail or an outcome.
    private static let maximumActionText = 500

    /// Records an action of an operator before it is carried out.
    ///
    /// - Returns: The action's number, for ``finish(_:outcome:)``.
    func note(_ action: String, _ detail: String, by acting: ActingOperator) async throws -> Int64 {
        try await write { try Self.insertAction(action, detail, by: acting, outcome: "begun", in: $0) }
    }

    /// Inserts an action, and deletes the oldest above the limit.
    static func insertAction(
        _ action: String,
        _ detail: String,
        by acting: ActingOperator,
        outcome: String,
        in db: TableTransaction
    ) throws -> Int64 {
        try db.execute(
            """
            INSERT INTO operatorAction (at, hub, operator, network, action, detail, outcome)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                acting.at, acting.hub.folded, acting.who, acting.network, action,
                String(detail.prefix(maximumActionText)), outcome,
            ]
        )
        let id = db.lastInsertedRowID
        try db.execute("DELETE FROM operatorAction WHERE actionID <= ?", [id - Int64(maximumActions)])
        return id
    }

    func finish(_ action: Int64, outcome: String) async throws {
        let outcome = String(outcome.prefix(Self.maximumActionText))
        try await execute("UPDATE operatorAction SET outcome = ? WHERE actionID = ?", [outcome, action])
    }

    /// The latest actions of a hub's operators, newest first.
    ///
    /// - Parameters:
    ///   - hub: The hub.
    ///   - before: The number of an action; only earlier actions are returned.
    ///   - limit: The largest number of actions to return.
    /// - Returns: The actions.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func actions(of hub: HubName, before: Int64? = nil, limit: Int) async throws -> [OperatorAction] {
        try await read { db in
            let rows = try db.rows(
                """
                SELECT *, actionID AS id, operator AS who FROM operatorAction
                WHERE hub = ? AND actionID < ? ORDER BY actionID DESC LIMIT ?
                """,
                [hub.folded, before ?? .max, limit]
            )
            return try rows.map(OperatorAction.init(row:))
        }
    }
}
