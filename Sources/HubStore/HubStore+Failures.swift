import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension HubStore {
    /// The deliveries of a message, one for each platform, ordered by platform name.
    package func deliveries(of sequence: LogSequence) async throws -> [Delivery] {
        try await rows(DeliveryQuery.ofMessage, [sequence], Delivery.init(row:))
    }

    /// Failed targets of a delivery, ordered by ordinal, after a given one.
    package func failedTargets(
        of key: DeliveryKey,
        after ordinal: Ordinal = 0,
        limit: Int
    ) async throws -> [FailedTarget] {
        try await read { transaction in
            guard let delivery = try transaction.delivery(key) else { return [] }
            let arguments: StatementArguments = [key.sequence, key.platform, ordinal, limit]
            let kept = try transaction.db.rows(DeliveryQuery.failures, arguments) {
                FailedTarget(failure: DeliveryFailure(row: $0), at: $0["at"])
            }
            let left = try transaction.left(of: delivery, after: ordinal, limit: limit)
            let all = (kept + left).sorted { $0.failure.ordinal < $1.failure.ordinal }.prefix(limit)
            return try all.map { delivery.isDirect ? $0 : try transaction.identified($0) }
        }
    }
}

// MARK: - Dead handles

/// A day in UTC on which push services reported dead handles.
package struct DeadHandleDay: Sendable, Equatable {
    /// Days since 1970.
    package let day: Int64
    package let count: Int
}

/// A handle that its push service reported dead when a message was sent to it.
package struct DeadHandleReport: Sendable, Equatable {
    package let message: MessageID
    package let platform: Platform
    package let target: FailedTarget
}

extension HubStore {
    /// The most recent days with reports of a hub, newest first; reports are dropped with their messages.
    package func deadHandleDays(hub: HubKey, limit: Int) async throws -> [DeadHandleDay] {
        try await rows(FailureQuery.deadDays, [hub, limit]) {
            DeadHandleDay(day: $0["day"], count: $0["count"])
        }
    }

    /// Reports of a hub from one instant up to, but not including, another, in order of arrival; `offset` and `limit`
    /// count all of them, but those of handles that were registered again are left out.
    package func deadHandles(
        hub: HubKey,
        from start: Timestamp,
        to end: Timestamp,
        offset: Int,
        limit: Int
    ) async throws -> [DeadHandleReport] {
        try await snapshot { db in
            let transaction = Transaction(db)
            let arguments: StatementArguments = [hub, start, end, limit, offset]
            return try Row.fetchAll(db.cachedStatement(sql: FailureQuery.dead), arguments: arguments).compactMap {
                row in
                let isBack = try transaction.registrations(hub: hub, handle: row["handle"])
                    .contains { !$0.isChannelExpired }
                guard !isBack else { return nil }
                let target = FailedTarget(failure: DeliveryFailure(row: row), at: row["at"], handle: row["handle"])
                return DeadHandleReport(
                    message: try MessageID(row["messageID"]),
                    platform: row["platform"],
                    target: row["isDirect"] ? target : try transaction.identified(target)
                )
            }
        }
    }
}

/// Statements about failures, in one place so that a test can check their query plans.
enum FailureQuery {
    static let deadDays = """
        SELECT at / 86400000 AS day, count(*) AS count FROM deliveryFailure
        WHERE hubID = ? AND handle IS NOT NULL GROUP BY day ORDER BY day DESC LIMIT ?
        """
    static let dead = """
        SELECT failure.ordinal, outcome, reason, failure.at, handle, failure.platform, messageID, isDirect
        FROM deliveryFailure AS failure
        JOIN delivery ON delivery.sequence = failure.sequence AND delivery.platform = failure.platform
        JOIN log ON log.sequence = failure.sequence
        WHERE failure.hubID = ? AND handle IS NOT NULL AND failure.at >= ? AND failure.at < ?
        ORDER BY failure.at, failure.sequence, failure.platform, failure.ordinal LIMIT ? OFFSET ?
        """
}

extension Transaction {
    /// Targets that had no outcome of their own when the delivery ended.
    fileprivate func left(of delivery: Delivery, after ordinal: Ordinal, limit: Int) throws -> [FailedTarget] {
        guard let outcome = delivery.endedAs, let at = delivery.endedAt else { return [] }
        var found: [Ordinal] = []
        var last = ordinal.block - 1
        while found.count < limit, let next = try nextBlock(of: delivery.key, after: last) {
            last = next.number
            guard let block = next.block else { continue }
            let left = block.targets.subtracting(block.done)
            found += left.ordinals(above: ordinal, limit: limit - found.count)
        }
        return found.map { ordinal in
            let failure = DeliveryFailure(ordinal: ordinal, outcome: outcome, reason: delivery.endReason)
            return FailedTarget(failure: failure, at: at)
        }
    }

    /// Adds the identity and the handle of a target that is, or was, a registration.
    func identified(_ target: FailedTarget) throws -> FailedTarget {
        var target = target
        let ordinal = target.failure.ordinal
        if let stored = try registrations(ordinals: [ordinal]).first {
            target.registration = stored.registration.id
            target.installation = stored.installation?.id
            target.handle = stored.registration.pushChannel.handle
        } else if let former = try lastState(of: ordinal) {
            target.registration = former.id
            target.handle = former.pushChannel.handle
        }
        if let dead = target.failure.deadHandle { target.handle = dead }
        return target
    }

    /// The last state of a registration before it was removed; `nil` if no message of the log needs it any more.
    private func lastState(of ordinal: Ordinal) throws -> Registration? {
        try db.row(RegistrationQuery.lastFormer, [ordinal]) { try? Registration(former: $0) } ?? nil
    }
}

extension DeliveryFailure {
    init(row: Row) {
        self.init(
            ordinal: row["ordinal"],
            outcome: OutcomeName(rawValue: row["outcome"]),
            reason: row["reason"],
            deadHandle: row["handle"]
        )
    }
}
