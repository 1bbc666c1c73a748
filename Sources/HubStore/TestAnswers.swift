import GRDB
package import HubProtocol

/// What senders were answered to test sends, for those who ask again with the same idempotency key.
extension Transaction {
    /// Answers that are kept, of all hubs together; one has 30 KB at most.
    package static let maximumTestAnswers = 1_000

    /// Keeps an answer with its message, and forgets the oldest ones beyond `limit`.
    package func keep(
        testAnswer: String,
        of sequence: LogSequence,
        limit: Int = Self.maximumTestAnswers
    ) throws {
        try execute("INSERT OR REPLACE INTO testAnswer VALUES (?, ?)", [sequence, testAnswer])
        try execute(TestAnswerQuery.forget, [limit])
    }
}

extension HubStore {
    /// What a test send was answered; `nil` if that is not known, or not known any more.
    package func testAnswer(of sequence: LogSequence) async throws -> String? {
        try await pool.read { db in
            try String.fetchOne(try db.cachedStatement(sql: TestAnswerQuery.one), arguments: [sequence])
        }
    }
}

/// The statements of answers, apart so that a test can ask for their plans.
enum TestAnswerQuery {
    static let one = "SELECT answer FROM testAnswer WHERE sequence = ?"
    static let forget = """
        DELETE FROM testAnswer WHERE sequence <= (
            SELECT sequence FROM testAnswer ORDER BY sequence DESC LIMIT 1 OFFSET ?)
        """
}
