import HubProtocol
import SharedLog
import Testing

@testable import HubStore

/// Databases that followed a log which was started again since.
struct FormerLogTests {
    /// A database with `entries` entries of a log.
    private func former(_ scratch: Scratch, entries: Int) async throws {
        let store = try await HubStore.joined(scratch.path, MemoryLog(incarnation: "former").node("a"))
        for number in 0..<entries {
            let name = try HubName("hub\(number)")
            _ = try await store.change { transaction in
                _ = try transaction.beginEpoch(named: "former", at: 0)
                return try transaction.insertHub(name, rules: [], at: 0)
            }
        }
        try store.close()
    }

    /// A log with `entries` entries, and the error of a database that joins it.
    private func refusal(
        _ scratch: Scratch,
        beginner: String?,
        entries: Int
    ) async throws -> OrderedLogError? {
        let (log, other) = (MemoryLog(incarnation: "new", beginner: beginner), try Scratch())
        let store = try await HubStore.joined(other.path, log.node("b"))
        for number in 0..<entries {
            let name = try HubName("other\(number)")
            _ = try await store.change { try $0.insertHub(name, rules: [], at: 0) }
        }
        do {
            let joining = try await HubStore.joined(scratch.path, log.node("a"))
            try await joining.follow { _ in }
            return nil
        } catch let error as OrderedLogError {
            return error
        }
    }

    @Test(arguments: [0, 1, 3, 5])
    func `after a log was started again, a former node is asked to take a copy, never to start it again`(entries: Int)
        async throws
    {
        let scratch = try Scratch()
        try await former(scratch, entries: 3)
        let error = try await refusal(scratch, beginner: "b", entries: entries)
        #expect(error == .startedAgain(beginner: "b"))
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("copy the database") && text.contains("newswire hub backup") && !text.contains("reseed"))
        #expect(error?.isFinal == true)
    }

    @Test func `a log with as many entries as the database has is not taken for its own`() async throws {
        let scratch = try Scratch()
        try await former(scratch, entries: 3)
        #expect(try await refusal(scratch, beginner: nil, entries: 3) == .forked(number: 3))
        #expect(try await refusal(scratch, beginner: nil, entries: 5) == .forked(number: 3))
        // Nobody has started it again yet: its servers have lost their disks.
        #expect(try await refusal(scratch, beginner: nil, entries: 0) == .truncated(number: 3))
    }

    @Test func `the database that a log was started again from, and its copies, follow it`() async throws {
        let scratch = try Scratch()
        try await former(scratch, entries: 3)
        try LogMembership.begin(scratch.path, incarnation: "new", at: 0)
        #expect(try await refusal(scratch, beginner: "a", entries: 0) == nil)
    }
}
