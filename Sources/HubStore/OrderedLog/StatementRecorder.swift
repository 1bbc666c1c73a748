import GRDB
import Synchronization

/// A write statement with its values.
package struct RecordedStatement: Sendable, Equatable {
    let sql: String
    let values: [DatabaseValue]
    /// Number of rows that it changed where it was recorded, excluding those changed by triggers and cascades.
    let changes: Int
}

/// Collects the statements of one group commit in order.
///
/// One recorder belongs to one transaction, and is used on the database's thread only.
final class StatementRecorder {
    private(set) var statements: [RecordedStatement] = []

    /// Adds a statement unless it changed nothing, because it then changes nothing elsewhere either.
    ///
    /// - Throws: ``HubStoreError/notDeterministic(sql:reason:)``.
    func add(_ sql: String, _ values: [(any DatabaseValueConvertible)?], changes: Int) throws {
        try Self.check(sql)
        guard changes > 0 else { return }
        statements.append(
            RecordedStatement(sql: sql, values: values.map { $0?.databaseValue ?? .null }, changes: changes)
        )
    }

    /// Removes the statements after the first `count`: their savepoint was rolled back.
    func removeStatements(after count: Int) { statements.removeLast(statements.count - count) }

    // MARK: - The check

    /// Statements that were found deterministic; the store has about a hundred.
    private static let checked = Mutex<Set<String>>([])

    private static func check(_ sql: String) throws {
        guard !checked.withLock({ $0.contains(sql) }) else { return }
        if let fault = DeterministicSQL.fault(in: sql) {
            throw HubStoreError.notDeterministic(sql: sql, reason: fault)
        }
        checked.withLock { _ = $0.insert(sql) }
    }
}
