import Foundation
import GRDB
import SQLiteFiles
import Synchronization
import Testing

@testable import AppBackend

/// Checks that no statement goes through a table.
enum QueryPlans {
    private final class Statements: Sendable {
        private let texts = Mutex<Set<String>>([])

        var all: Set<String> { texts.withLock { $0 } }

        func add(_ sql: String) { texts.withLock { _ = $0.insert(sql) } }
    }

    /// Runs work on a database, and explains each of its statements.
    static func check(
        _ store: BackendStore,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ work: @escaping @Sendable (TableTransaction) throws -> Void
    ) async throws {
        let plans = try await store.write { tables -> [String: [String]] in
            let db = tables.database
            let statements = Statements()
            db.trace(options: .statement) { event in
                if case .statement(let statement) = event { statements.add(statement.sql) }
            }
            try work(tables)
            db.trace(options: .statement, nil)
            var plans: [String: [String]] = [:]
            for sql in statements.all {
                let statement = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
                statement.setUncheckedArguments(StatementArguments())
                plans[sql] = try Row.fetchAll(statement).map { $0["detail"] as String }
            }
            return plans
        }
        #expect(!plans.isEmpty, sourceLocation: sourceLocation)
        for (sql, steps) in plans {
            let slow = steps.filter { step in
                // Counting payloads reads the smallest index.
                step.hasPrefix("SCAN") && step != "SCAN CONSTANT ROW" && !step.contains("COVERING INDEX")
                    || step.hasSuffix("PRIMARY KEY (kind=?)")
            }
            #expect(slow.isEmpty, "\(sql): \(steps)", sourceLocation: sourceLocation)
        }
    }
}
