import HubProtocol
import HubStore
package import SQLiteFiles

/// The tables of the app backend and the pages in a hub's own file, which the hub's writer changes and its log records.
struct HubTables: TableDatabase {
    let store: HubStore
    let writer: HubWriter

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value {
        try await store.readTables { tables in
            try Self.checkComplete(tables)
            return try body(tables)
        }
    }

    /// - Throws: 503 if the hub cannot write its file or follow its log, and the errors of `body`.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value {
        try await writer.perform { transaction, _ in
            try Self.checkComplete(transaction.tables)
            return (try body(transaction.tables), [])
        }
    }

    /// - Throws: 503 while a file is being copied into the tables.
    static func checkComplete(_ tables: TableTransaction) throws {
        guard try TableImport.isRunning(tables) else { return }
        throw ProtocolError.unavailable(
            "Accounts and sessions are being copied into the hub's file; try again shortly."
        )
    }

    var failure: String? { writer.health.failureReason }

    /// The hub itself tries again.
    func check() async -> String? { failure }
}

/// The tables of app backend and pages while a hub starts, before anything else uses them.
package struct StartTables: TableDatabase {
    let store: HubStore
    let secrets: SecretBox

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value { try await store.readTables(body) }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value { try await store.commit([{ try body($0.tables) }])[0].get() }

    package var failure: String? { nil }

    package func check() async -> String? { nil }

    /// A key of all nodes for one purpose.
    package func derivedKey(_ purpose: String) -> [UInt8] { secrets.derivedKey(purpose) }
}
