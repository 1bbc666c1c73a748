import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct OutboxPlanTests {
    private let now = Date(timeIntervalSince1970: 1_780_000_000)

    private func row(
        _ id: Int64,
        hoursOld: Double = 0,
        attempted: Bool = false,
        digest: Bool = false,
        urgent: Bool = false,
        published: Date? = nil
    ) -> OutboxRow {
        OutboxRow(
            id: id,
            message: OutboxMessage(
                category: "World",
                tags: "World",
                body: Array("{\(published.map { "\"published\": \"\($0.formatted(.iso8601))\"" } ?? "")}".utf8),
                idempotencyKey: "\(id)",
                headlines: "\(id)",
                entries: digest ? 3 : 1,
                isDigest: digest,
                urgency: urgent ? MessageUrgency.critical.rawValue : nil
            ),
            created: now - hoursOld * 3_600,
            wasAttempted: attempted
        )
    }

    private func plan(_ rows: [OutboxRow], cap: Int? = 2) -> [[Int64]] {
        let plan = OutboxPlan(rows, cap: cap, announceWithin: .seconds(6 * 3_600), now: now)
        return [plan.single.map(\.id), plan.folded.map(\.id)]
    }

    @Test func `what exceeds the cap folds`() {
        #expect(plan([row(1), row(2)]) == [[1, 2], []])
        #expect(plan([row(1), row(2), row(3), row(4)]) == [[3, 4], [1, 2]])
        #expect(plan([row(1), row(2), row(3)], cap: nil) == [[1, 2, 3], []])
        #expect(plan([row(1), row(2)], cap: 0) == [[], [1, 2]])
    }

    @Test func `what is old folds, whatever the cap`() {
        #expect(plan([row(1, hoursOld: 7), row(2, hoursOld: 5), row(3)], cap: nil) == [[2, 3], [1]])
    }

    @Test func `the newest go singly, by the dates that readers see`() {
        let old = row(3, published: now - 7_200)
        #expect(plan([row(1), row(2), old], cap: 2) == [[1, 2], [3]])
        #expect(plan([row(1, hoursOld: 1), old, row(4)], cap: 1) == [[4], [1, 3]])
    }

    @Test func `what was sent within the window counts once, and not when the clock was ahead`() throws {
        let recent = RecentMessages(times: [now - 10])
        let plan = OutboxPlan([row(2), row(3)], cap: 2, recent: recent, announceWithin: .seconds(3_600), now: now)
        #expect(plan.single.map(\.id) == [3] && plan.folded.map(\.id) == [2])
        let folder = try ScratchFolder()
        let store = try PublisherStore(path: folder.file("p.db"))
        _ = try store.transaction { try $0.insert(row(1).message, feed: nil, now: now) }
        let sent = try #require(try store.pending().first)
        try store.finish(sent.id, .sent(messageID: "m"), now: now + 365 * 86_400)
        let window = try store.recentMessages(of: "World", at: now)
        #expect(window.times == [] && window.endOfWait == nil)
    }

    @Test func `a digest left over goes into the next one, or goes alone`() {
        #expect(plan([row(1, digest: true), row(2)]) == [[2, 1], []])
        #expect(plan([row(1, digest: true), row(2), row(3), row(4)]) == [[3, 4], [1, 2]])
    }

    @Test func `what is urgent has room first, however old, and some beyond the cap`() {
        #expect(plan([row(1), row(2), row(3, urgent: true)]) == [[2, 3], [1]])
        #expect(plan([row(1), row(2), row(3, hoursOld: 30, urgent: true)], cap: 1) == [[3], [1, 2]])
        #expect(plan((1...9).map { row($0, urgent: true) }) == [Array(3...9), [1, 2]])
        let more = OutboxPlan(
            (1...9).map { row($0, urgent: true) },
            cap: 2,
            recent: RecentMessages(times: Array(repeating: now - 10, count: 6)),
            announceWithin: .seconds(6 * 3_600),
            now: now
        )
        #expect(more.single.map(\.id) == [9])
    }

    @Test func `after a digest the others collect for the rest of the ten minutes, but not what is urgent`() {
        let recent = RecentMessages(times: [now - 100, now - 50], digest: now - 40)
        func plan(_ rows: [OutboxRow]) -> OutboxPlan {
            OutboxPlan(rows, cap: 2, recent: recent, announceWithin: .seconds(6 * 3_600), now: now)
        }
        let later = plan([row(1), row(2, hoursOld: 8)])
        #expect(later.single.isEmpty && later.folded.isEmpty && later.waitsUntil == now - 100 + 585)
        let urgent = plan((1...6).map { row($0, urgent: true) } + [row(7)])
        #expect(urgent.single.map(\.id) == [2, 3, 4, 5, 6] && urgent.folded.map(\.id) == [1, 7])
    }

    @Test func `a clock set back makes nothing old`() {
        #expect(plan([row(1, hoursOld: -24)]) == [[1], []])
    }
}
