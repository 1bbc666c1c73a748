import Formats
internal import FoundationEssentials
internal import HubClient
internal import HubProtocol

/// Sends pending rows category by category, oldest first.
///
/// A row is marked before its bytes can reach the hub, and finished after the hub's reply. If the program is killed in
/// between, the row stays marked: the next pass sends the same bytes with the same key, and the hub recognizes them.
struct OutboxSender: Sendable {
    /// Number of attempts for one message in one pass.
    private static let tries = 3
    private static let firstPause: Duration = .seconds(1)
    /// Longest pause within a pass; after a longer `Retry-After`, a later pass sends the message.
    private static let maximumPause: Duration = .seconds(30)
    /// Maximum number of rows of one category that wait while the hub is not available; older ones become a digest
    /// early.
    private static let maximumPending = 10_000
    /// Statuses that concern one message, not the sender.
    private static let refusals: Set<Int> = [400, 413, 422]

    /// Sends the body of a message, or shows it; returns the message's id, if the hub reports one.
    ///
    /// Throws ``HubError``.
    typealias Delivery = @Sendable (_ body: [UInt8], _ message: OutboxMessage) async throws -> String?

    let pass: PublishPass
    let deliver: Delivery
    let now: Date
    /// False if the pass may find more; rows that exceed the cap wait for it.
    let isLast: Bool

    struct Outcome: Sendable {
        /// Numbers of sent messages, digests and refused messages; other figures are not set.
        var report = PublishReport()
        /// The error that stopped sending early.
        var problem: HubError?
        var wasContacted = false
        var waitsUntil: Date?
    }

    /// - Throws: ``SQLiteFiles/DatabaseFileError``. Messages sent before are marked, except for at most one, which is
    ///   sent again with the same key.
    func run() async throws -> Outcome {
        var outcome = Outcome()
        let waiting = try pass.store.pending()
        outcome.waitsUntil = waiting.filter { !$0.isReleased(at: now) }.compactMap(\.message.notBefore).min()
        let pending = try waiting.filter { $0.isReleased(at: now) }.filter { try !drop($0, ifExpiredAt: now) }
        // Rows that may have arrived already come first, regardless of their category: they are the oldest.
        for row in pending where row.wasAttempted {
            guard try await send(row, &outcome) else { return try stop(outcome) }
        }
        for category in categories(of: pending) {
            let plan = OutboxPlan(
                pending.filter { $0.message.category == category && !$0.wasAttempted },
                cap: pass.options.cap,
                recent: try pass.store.recentMessages(of: category, at: pass.environment.now()),
                announceWithin: pass.options.announceWithin,
                now: now
            )
            outcome.waitsUntil = [outcome.waitsUntil, plan.waitsUntil].compactMap(\.self).min()
            for row in plan.single {
                guard try await send(row, &outcome) else { return try stop(outcome) }
            }
            guard isLast, !plan.folded.isEmpty else { continue }
            guard let digest = try fold(plan.folded) else {
                outcome.waitsUntil = [outcome.waitsUntil, now].compactMap(\.self).min()
                continue
            }
            note(plan, digest)
            guard try await send(digest, &outcome) else { return try stop(outcome) }
        }
        if outcome.wasContacted { try pass.store.forgetFinished() }
        return outcome
    }

    /// - Returns: True if sending continues.
    private func send(_ row: OutboxRow, _ outcome: inout Outcome) async throws -> Bool {
        guard !Task.isCancelled else {
            outcome.problem = .cancelled
            return false
        }
        // The rows before it may have taken minutes.
        if try drop(row, ifExpiredAt: pass.environment.now()) { return true }
        // Since the row was read, a concurrent poll may have added another feed to the message, or removed it.
        guard let body = try row.wasAttempted ? row.message.body : pass.store.markAttempted(row.id) else { return true }
        for attempt in 1... {
            do {
                let id = try await deliver(body, row.message)
                try pass.store.finish(row.id, .sent(messageID: id), now: pass.environment.now())
                outcome.wasContacted = true
                outcome.report.sent += 1
                outcome.report.digests += row.message.isDigest ? 1 : 0
                return true
            } catch let error as HubError {
                if case .refused(let status, _, let detail, _) = error, Self.refusals.contains(status) {
                    try refuse(row, status, detail)
                    outcome.wasContacted = true
                    outcome.report.refused += 1
                    return true
                }
                guard attempt < Self.tries, let pause = pause(before: attempt + 1, after: error) else {
                    outcome.problem = error
                    return false
                }
                // Only cancellation shortens a pause.
                guard (try? await pass.environment.sleep(pause)) != nil else {
                    outcome.problem = .cancelled
                    return false
                }
            }
        }
        return false
    }

    /// Removes an alert that expired before it could be sent.
    ///
    /// - Returns: True if it has expired.
    private func drop(_ row: OutboxRow, ifExpiredAt time: Date) throws -> Bool {
        guard !row.wasAttempted, row.message.expires.map({ $0 <= time }) ?? false,
            try pass.store.expire(row.id, now: time)
        else { return false }
        pass.reporter.say(
            .notice,
            "the alert '\(row.message.headlines)' for \(row.message.category) expired before it could be sent"
        )
        return true
    }

    private func refuse(_ row: OutboxRow, _ status: Int, _ detail: String) throws {
        try pass.store.finish(row.id, .failed(reason: "\(status) \(detail)"), now: pass.environment.now())
        let headline = row.message.headlines.split(separator: "\n").first.map(String.init) ?? ""
        pass.reporter.say(
            .warning,
            "the hub refused the message '\(headline)' for \(row.message.category) with status \(status): \(detail); "
                + "it is not sent again"
        )
    }

    /// Returns the pause before another attempt; `nil` if another attempt in this pass is useless.
    private func pause(before attempt: Int, after error: HubError) -> Duration? {
        switch error {
        case .refused(let status, _, _, let retryAfter):
            guard !error.isPermanent, status == 429 || status >= 500 else { return nil }
            let pause = retryAfter ?? Self.firstPause * (1 << (2 * (attempt - 2)))
            return pause <= Self.maximumPause ? pause : nil
        case .unreachable, .malformedReply:
            return Self.firstPause * (1 << (2 * (attempt - 2)))
        case .unsupported, .cancelled:
            return nil
        }
    }

    private func fold(_ rows: [OutboxRow]) throws -> OutboxRow? {
        let digest = MessageComposer.digest(
            of: rows.map(\.message),
            page: try pass.store.page(of: rows.map(\.id)),
            idempotencyKey: pass.environment.idempotencyKey()
        )
        return try pass.store.fold(rows, into: digest, now: now)
    }

    private func note(_ plan: OutboxPlan, _ digest: OutboxRow) {
        guard let preview = pass.preview else { return }
        for row in plan.folded {
            guard let reason = plan.reasons[row.id] else { continue }
            preview.fold(row.message.idempotencyKey, reason, into: digest.message.idempotencyKey)
        }
    }

    /// Limits the outbox while the hub is not available.
    private func stop(_ outcome: Outcome) throws -> Outcome {
        let pending = try pass.store.pending()
        for category in categories(of: pending) {
            let rows = pending.filter {
                $0.message.category == category && !$0.wasAttempted && $0.message.replaces.isEmpty
            }
            let excess = rows.prefix(max(0, rows.count - Self.maximumPending))
            if excess.count > 1 { _ = try fold(Array(excess)) }
        }
        return outcome
    }

    /// Returns the categories in the order of their oldest rows.
    private func categories(of rows: [OutboxRow]) -> [String] {
        rows.map(\.message.category).distinct()
    }
}
