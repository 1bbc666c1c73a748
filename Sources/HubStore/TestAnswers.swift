import GRDB
package import HubProtocol

/// Stores the responses to test sends, for clients that repeat a request with the same idempotency key.
extension Transaction {
    /// Maximum number of responses kept for all hubs together; a response has at most 30 KB.
    package static let maximumTestAnswers = 1_000

    /// Stores a response with its message, and deletes the oldest ones beyond `limit`.
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
    /// The response to a test send; `nil` if it is unknown or no longer stored.
    package func testAnswer(of sequence: LogSequence) async throws -> String? {
        try await value(TestAnswerQuery.one, [sequence])
    }
}

/// Statements about responses, in one place so that a test can check their query plans.
enum TestAnswerQuery {
    static let one = "SELECT answer FROM testAnswer WHERE sequence = ?"
    static let forget = """
        DELETE FROM testAnswer WHERE sequence <= (
            SELECT sequence FROM testAnswer ORDER BY sequence DESC LIMIT 1 OFFSET ?)
        """
}
