import HubProtocol
package import Logging
import SQLiteFiles
import Signals
import Synchronization

/// An event with the number of times it happened between two writes.
struct CountedEvent: Sendable {
    let event: AuditEvent
    let first: Timestamp
    var last: Timestamp
    var count: Int
}

/// Collects events of requests and writes them together, so that wrong passwords do not keep the disk busy.
///
/// Equal events become one row with a count. ``AccountUpkeep`` writes them every second. An event that belongs to a
/// change is stored in the change's own transaction (``AuditEvent/insert(at:in:)``).
package final class AuditLog: Sendable {
    /// The age of a row's last event after which the row is deleted.
    package static let retention = Duration.seconds(90 * 86_400)
    /// The largest number of rows, about 50 MB; the oldest are deleted first.
    package static let maximumRows = 500_000
    /// The largest number of rows of each kind of refusal, so that wrong passwords cannot push out other events.
    package static let maximumRefusals = 100_000
    /// The largest number of different refusals between two writes; further ones are counted without user and network.
    static let maximumPending = 1_000
    /// The largest number of different events of all outcomes between two writes.
    ///
    /// Refusals cannot use the second half, so that nobody can hide a user's actions among wrong tokens.
    static let maximumPendingOfAll = 2 * maximumPending
    /// The number of new rows after which the limits are enforced.
    static let rowsBetweenBounds = 10_000

    /// The period in which equal events share a row: a day for successful actions, an hour for refusals.
    static func span(of outcome: AuditEvent.Outcome) -> Duration { .seconds(outcome == .done ? 86_400 : 3_600) }

    private struct State {
        var pending: [AuditEvent: CountedEvent] = [:]
        var newRows = 0
        var isFailing = false
    }

    private let store: BackendStore
    private let clock: BackendClock
    private let logger: Logger
    private let state = Mutex(State())
    private let writing = SingleFlight<SingleKey, Void>()
    /// Numbers of events recorded since the start, without user and network.
    let totals = PairCounts()

    package init(store: BackendStore, clock: BackendClock = .system, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Number of different events that wait to be written.
    var pendingCount: Int { state.withLock { $0.pending.count } }

    /// Records an event, to be written soon.
    package func note(_ event: AuditEvent) {
        let now = clock.now()
        state.withLock { state in
            Self.merge(CountedEvent(event: event, first: now, last: now, count: 1), into: &state.pending)
        }
        totals.add(event.what.rawValue, event.outcome.rawValue)
    }

    /// Writes the recorded events, also for a cancelled task.
    ///
    /// If that fails, the events are kept for the next write, and the failure is logged once.
    package func flush() async {
        // A write that has begun may lack the last events.
        _ = await writing.current?.result
        _ = await writing.join { await self.write() }.result
    }

    private func write() async {
        let events = state.withLock { state in
            defer { state.pending = [:] }
            return Array(state.pending.values)
        }
        guard !events.isEmpty else { return }
        do {
            let newRows = try await store.insert(events.sorted { $0.first < $1.first })
            let isDue = state.withLock { state in
                state.isFailing = false
                state.newRows += newRows
                defer { if state.newRows >= Self.rowsBetweenBounds { state.newRows = 0 } }
                return state.newRows >= Self.rowsBetweenBounds
            }
            // If this fails, ``AccountUpkeep`` does it within the hour.
            if isDue { try? await store.boundAudit() }
        } catch {
            putBack(events, error)
        }
    }

    private func putBack(_ events: [CountedEvent], _ error: any Error) {
        let isFirst = state.withLock { state in
            for event in events { Self.merge(event, into: &state.pending) }
            defer { state.isFailing = true }
            return !state.isFailing
        }
        guard isFirst else { return }
        let reason = DatabaseFileError.reason(error)
        logger.error("the audit log cannot be written", metadata: ["error.reason": "\(reason)"])
    }

    private static func merge(_ new: CountedEvent, into pending: inout [AuditEvent: CountedEvent]) {
        let limit = new.event.outcome == .done ? maximumPendingOfAll : maximumPending
        let hasRoom = pending[new.event] != nil || pending.count < limit
        let event = hasRoom ? new.event : AuditEvent(nil, new.event.what, new.event.outcome, nil)
        let old = pending[event]
        pending[event] = CountedEvent(
            event: event,
            first: min(old?.first ?? new.first, new.first),
            last: max(old?.last ?? new.last, new.last),
            count: (old?.count ?? 0) + new.count
        )
    }
}
