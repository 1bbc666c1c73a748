import Foundation
import Testing

@testable import FeedPublisher

@Suite struct OutboxPlanTests {
    private let now = Date(timeIntervalSince1970: 1_780_000_000)

    private func row(_ id: Int64, hoursOld: Double = 0, attempted: Bool = false, digest: Bool = false) -> OutboxRow {
        OutboxRow(
            id: id,
            message: OutboxMessage(
                category: "World",
                tags: "World",
                body: [],
                idempotencyKey: "\(id)",
                headlines: "\(id)",
                entries: digest ? 3 : 1,
                isDigest: digest
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
        #expect(plan([row(1), row(2), row(3), row(4)]) == [[1, 2], [3, 4]])
        #expect(plan([row(1), row(2), row(3)], cap: nil) == [[1, 2, 3], []])
        #expect(plan([row(1), row(2)], cap: 0) == [[], [1, 2]])
    }

    @Test func `what is old folds, whatever the cap`() {
        #expect(plan([row(1, hoursOld: 7), row(2, hoursOld: 5), row(3)], cap: nil) == [[2, 3], [1]])
    }

    @Test func `what may have reached the hub is sent as it is, and counts`() {
        #expect(plan([row(1, hoursOld: 70, attempted: true), row(2), row(3)]) == [[1, 2], [3]])
    }

    @Test func `a digest left over goes into the next one, or goes alone`() {
        #expect(plan([row(1, digest: true), row(2)]) == [[2, 1], []])
        #expect(plan([row(1, digest: true), row(2), row(3), row(4)]) == [[2, 3], [1, 4]])
    }

    @Test func `a clock set back makes nothing old`() {
        #expect(plan([row(1, hoursOld: -24)]) == [[1], []])
    }
}
