import GRDB
import HubProtocol
import Testing

@testable import HubStore

/// Rows that an earlier version stored, which accepted 512 levels of JSON.
struct StoredLevelsTests {
    @Test(arguments: [(511, true), (512, false)])
    func `a stored document is read with up to 512 levels`(levels: Int, isRead: Bool) async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let report = PublisherReport(
            schedule: .watch,
            lastPass: "2026-11-27T00:00:00Z",
            exitCode: 0,
            outbox: 3,
            feeds: []
        )
        try await store.change { try $0.setReport(report, publisher: "desk", hub: hub, at: 1) }
        let value = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        try await DatabaseQueue(path: scratch.path).write { db in
            try db.execute(
                sql: """
                    UPDATE publisherReport SET report = '{"more":' || ? || ',' || substr(report, 2),
                    summary = '{"more":' || ? || ',' || substr(summary, 2)
                    """,
                arguments: [value, value]
            )
        }
        #expect(try await store.publishers(hub: hub, since: 0).map(\.publisher) == (isRead ? ["desk"] : []))
        let status = try? await store.report(hub: hub, publisher: "desk", since: 0)
        #expect(status?.report.outbox == (isRead ? 3 : nil))
    }
}
