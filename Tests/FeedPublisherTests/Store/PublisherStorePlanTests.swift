import Foundation
import GRDB
import HubTestServer
import Synchronization
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct PublisherStorePlanTests {
    private final class Statements: Sendable {
        let seen = Mutex<Set<String>>([])
    }

    /// Read whole once a pass: small tables, and rows of which a bounded number is kept.
    private static let readWhole = [
        "SCAN feed", "SCAN hostWait", "SCAN websub", "SCAN reading",
        "SCAN outbox USING COVERING INDEX outbox_by_state",
        "SCAN outbox USING INDEX outbox_finished",
        // The categories, one after another.
        "SCAN other",
    ]

    @Test func `no statement of a pass scans a table that grows`() async throws {
        let room = try Newsroom()
        let lists = try room.lists(["World": ["/w"]])
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss([])))
        let statements = Statements()
        let store = try PublisherStore(path: room.storePath) { sql in
            statements.seen.withLock { _ = $0.insert(sql) }
        }
        _ = try await room.pass(lists, store: store)
        let items = (1...8).map { FakeSite.Item("t\($0)", link: "https://news.example/\($0)") }
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss(items)))
        room.advance(60)
        _ = try await room.pass(lists, store: store)
        let offer = [("Link", "<http://127.0.0.1:1/hub>; rel=hub, <http://127.0.0.1:1/topic>; rel=self")]
        room.site.set("/w", FakeSite.Document(body: FakeSite.rss(items + [FakeSite.Item("more")]), headers: offer))
        let watch = room.watch(lists, store: store)
        for _ in 1...2 {
            room.advance(600)
            try await watch.step()
        }
        _ = watch.answer("0123", query: "")
        let queries = statements.seen.withLock { $0 }.filter { $0 != "BEGIN" && $0 != "COMMIT" }
        #expect(queries.count > 20)
        try await DatabaseQueue(path: room.storePath).read { db in
            for sql in queries.union([JudgedQuery.announcement]) {
                let statement = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
                statement.setUncheckedArguments(StatementArguments())
                for row in try Row.fetchAll(statement) {
                    let detail: String = row["detail"]
                    let isScan = detail.hasPrefix("SCAN") && !Self.readWhole.contains { detail.hasPrefix($0) }
                    #expect(!isScan, "\(detail): \(sql)")
                    #expect(!detail.contains("TEMP B-TREE"), "\(detail): \(sql)")
                }
            }
        }
    }
}
