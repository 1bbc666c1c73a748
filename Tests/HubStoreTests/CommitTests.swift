import Foundation
import GRDB
import HubProtocol
import HubRouting
import SQLiteFiles
import Testing

@testable import HubStore

struct CommitTests {
    @Test func `one member that fails is undone alone`() async throws {
        let failed = try await commit { _ in throw Refused() }
        #expect(throws: Refused.self) { try failed.get() }
    }

    @Test func `a statement that SQLite cannot run fails its member alone`() async throws {
        let failed = try await commit { try $0.db.execute(sql: "SELECT json('{')") }
        let failure = #expect(throws: DatabaseFileError.self) { try failed.get() }
        #expect(failure?.isTemporary == false && failure?.reason == "malformed JSON")
    }

    @Test func `a broken rule of the schema fails its member alone`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let id = MessageID.random()
        let results = try await store.commit([
            append(hub, [1], id: id),
            append(hub, [2], id: id),
            append(hub, [3]),
        ])
        #expect(throws: DatabaseError.self) { try results[1].get() }
        #expect(try await bodies(store, hub) == [[1], [3]])
    }

    @Test func `a full disk keeps nothing of any member, and there is space again after something was dropped`()
        async throws
    {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store(maximumPages: 140)
        let body = [UInt8](repeating: 7, count: 3_000)
        var stored = 0
        while (try? await store.change(append(hub, body, at: 1))) != nil { stored += 1 }
        try #require(stored > 3)
        let large = [UInt8](repeating: 8, count: 100_000)
        await #expect(throws: DatabaseError.self) {
            _ = try await store.commit([
                append(hub, [1]),
                append(hub, large),
                append(hub, [2]),
            ])
        }
        #expect(try await bodies(store, hub).count == stored)
        try await store.change { _ = try $0.dropOldest(expiredBefore: 2, maximumBytes: .max, limit: 100) }
        try await store.append(hub, "again")
        #expect(try await bodies(store, hub).map { $0.count } == [5])
    }

    @Test func `every commit is synchronous FULL`() async throws {
        let scratch = try Scratch()
        let (store, _) = try await scratch.store()
        #expect(try await store.change { try Int.fetchOne($0.db, sql: "PRAGMA synchronous") } == 2)
        #expect(try await store.change { try Int.fetchOne($0.db, sql: "PRAGMA foreign_keys") } == 1)
    }

    @Test func `a cancelled task commits nothing, and the next commit works`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await store.append(hub)
        }
        await #expect(throws: (any Error).self) { try await task.value }
        #expect(try await bodies(store, hub).isEmpty)
        try await store.append(hub)
        #expect(try await bodies(store, hub).count == 1)
    }

    /// Commits three members, of which the second fails after its own change, and expects the changes of the others.
    private func commit(
        failing fail: @escaping @Sendable (Transaction) throws -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Result<LogSequence, any Error> {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let results = try await store.commit([
            append(hub, [1]),
            { @Sendable transaction in
                let sequence = try append(hub, [2])(transaction)
                try fail(transaction)
                return sequence
            },
            append(hub, [3]),
        ])
        #expect(try results[0].get() == 1, sourceLocation: sourceLocation)
        #expect(try results[2].get() == 2, sourceLocation: sourceLocation)
        #expect(try await bodies(store, hub) == [[1], [3]], sourceLocation: sourceLocation)
        return results[1]
    }

    private func bodies(_ store: HubStore, _ hub: HubKey) async throws -> [[UInt8]] {
        try await store.pendingMessages(hub: hub, ordinal: 0, after: 0, through: .end, limit: 10_000).messages.map(
            \.body
        )
    }
}

private func append(
    _ hub: HubKey,
    _ body: [UInt8],
    id: MessageID = .random(),
    at: Timestamp = 5
) -> @Sendable (Transaction) throws -> LogSequence {
    { try $0.appendMessage(MessageRecord(id: id, tags: nil, body: body), hub: hub, at: at) }
}
