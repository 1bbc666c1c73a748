import GRDB
import SQLiteFiles
import HTTPTypes
import HubTestServer
import Synchronization
import Testing

@testable import AppBackend

@Suite struct SharedTransactionsTests {
    private struct Refused: Error, Equatable {
        let number: Int
    }

    private let scratch: ScratchFolder
    private let database: DatabasePool

    init() async throws {
        scratch = try ScratchFolder()
        database = try DatabasePool(path: scratch.file("shared.sqlite"))
        try await database.write { try $0.execute(sql: "CREATE TABLE t (n INTEGER UNIQUE)") }
    }

    /// Counts transactions, and lets the first one wait.
    private final class Transactions: Sendable {
        let isHeld = Gate()
        let gate = Gate()
        private let count = Mutex(0)
        private let database: DatabasePool

        init(_ database: DatabasePool) { self.database = database }

        var number: Int { count.withLock { $0 } }

        func run(_ body: @escaping SharedTransactions.Body) async throws -> [SharedTransactions.Answer] {
            try await database.write { db in try self.wait(db, body) }
        }

        func wait(_ db: Database, _ body: SharedTransactions.Body) throws -> [SharedTransactions.Answer] {
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst {
                isHeld.open()
                gate.blockUntilOpen()
            }
            return try body(TableTransaction(db))
        }
    }

    private func stored() async throws -> [Int] {
        try await database.read { try Int.fetchAll($0, sql: "SELECT n FROM t ORDER BY n") }
    }

    /// Runs pieces of work for 1, 2, … side by side while the first transaction waits.
    private func results(
        _ transactions: Transactions,
        count: Int,
        failing: Set<Int> = []
    ) async throws -> [Result<Int, any Error>] {
        let shared = SharedTransactions(transactions.run)
        let first = Task { try await shared.run { try $0.database.execute(sql: "INSERT INTO t VALUES (0)") } }
        await transactions.isHeld.opened()
        let tasks = (1...count).map { number in
            Task.immediate {
                try await shared.run { db in
                    try db.execute("INSERT INTO t VALUES (?)", [number])
                    if failing.contains(number) { throw Refused(number: number) }
                    return number
                }
            }
        }
        #expect(shared.waitingCount == count)
        transactions.gate.open()
        try await first.value
        var results: [Result<Int, any Error>] = []
        for task in tasks { results.append(await task.result) }
        return results
    }

    @Test func `requests that wait together share a transaction`() async throws {
        let transactions = Transactions(database)
        let results = try await results(transactions, count: 50)
        let numbers = try results.map { try $0.get() }
        let rows = try await stored()
        #expect(numbers == Array(1...50) && rows == Array(0...50))
        #expect(transactions.number == 2)
    }

    @Test func `a piece of work that fails undoes nothing of the others`() async throws {
        let transactions = Transactions(database)
        let results = try await results(transactions, count: 5, failing: [2, 5])
        for (index, result) in results.enumerated() {
            let number = index + 1
            switch result {
            case .success(let value): #expect(value == number && ![2, 5].contains(number))
            case .failure(let error): #expect(error as? Refused == Refused(number: number))
            }
        }
        let rows = try await stored()
        #expect(rows == [0, 1, 3, 4])
        // The one that waited, and the shared one.
        #expect(transactions.number == 2)
    }

    @Test func `pieces of work that fail cost no further transaction`() async throws {
        let transactions = Transactions(database)
        let failing = Set(1...49)
        let results = try await results(transactions, count: 50, failing: failing)
        let succeeded = results.compactMap { try? $0.get() }
        let rows = try await stored()
        #expect(succeeded == [50] && rows == [0, 50])
        #expect(transactions.number == 2)
    }

    @Test func `reads that fail fail alone`() async throws {
        let reads = Transactions(database)
        let shared = SharedTransactions { [database] body in
            try await database.read { db in try reads.wait(db, body) }
        }
        let first = Task { try await shared.run { try Int.fetchOne($0.database, sql: "SELECT 1") } }
        await reads.isHeld.opened()
        let good = Task.immediate { try await shared.run { try Int.fetchOne($0.database, sql: "SELECT 2") } }
        let bad = Task.immediate {
            try await shared.run { try Int.fetchOne($0.database, sql: "SELECT 3 FROM nothing") }
        }
        #expect(shared.waitingCount == 2)
        reads.gate.open()
        let (one, two) = (try await first.value, try await good.value)
        #expect(one == 1 && two == 2)
        await #expect(throws: DatabaseError.self) { try await bad.value }
    }

    @Test func `a transaction that fails is a failure of all of its work`() async throws {
        let shared = SharedTransactions { _ in throw Refused(number: 7) }
        for _ in 0..<2 {
            await #expect(throws: Refused(number: 7)) { try await shared.run { _ in } }
        }
        #expect(shared.waitingCount == 0)
    }

    @Test func `a cancelled request does not undo what others have written`() async throws {
        let transactions = Transactions(database)
        let shared = SharedTransactions(transactions.run)
        let first = Task { try await shared.run { try $0.database.execute(sql: "INSERT INTO t VALUES (0)") } }
        await transactions.isHeld.opened()
        first.cancel()
        transactions.gate.open()
        try await first.value
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await shared.run { try $0.database.execute(sql: "INSERT INTO t VALUES (1)") }
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        let rows = try await stored()
        #expect(rows == [0])
    }

    @Test func `work that waits is bounded`() async throws {
        let transactions = Transactions(database)
        let shared = SharedTransactions(transactions.run)
        let first = Task { try await shared.run { _ in } }
        await transactions.isHeld.opened()
        let others = (0..<SharedTransactions.maximumWaiting).map { _ in Task.immediate { try await shared.run { _ in } }
        }
        #expect(shared.waitingCount == SharedTransactions.maximumWaiting)
        let refusal = await #expect(throws: BackendRefusal.self) { try await shared.run { _ in } }
        #expect(refusal?.status == .serviceUnavailable)
        transactions.gate.open()
        try await first.value
        for task in others { try await task.value }
    }
}
