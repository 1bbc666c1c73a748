import HubProtocol
package import Logging
import Synchronization

/// An event as often as it happened between two writes.
struct CountedEvent: Sendable {
    let event: AuditEvent
    let first: Timestamp
    var last: Timestamp
    var count: Int
}

/// Collects events of requests and writes them together, so that wrong passwords do not make the disk busy.
///
/// Equal events become one row with their number. ``AccountUpkeep`` writes them every second; an event that belongs to a
/// change is stored in the change's own transaction (``AuditEvent/insert(at:in:)``).
package final class AuditLog: Sendable {
    /// Rows whose last event is older are deleted.
    package static let retention = Duration.seconds(90 * 86_400)
    /// Some 50 MB; the oldest go first.
    package static let maximumRows = 500_000
    /// Rows of each outcome that is a refusal, so that nobody can push out other events with wrong passwords.
    package static let maximumRefusals = 100_000
    /// Different refusals between two writes; those above are counted without user and network.
    static let maximumPending = 1_000
    /// Different events of all outcomes between two writes.
    ///
    /// Refusals cannot take the second half, so that nobody can hide what a user did behind wrong tokens.
    static let maximumPendingOfAll = 2 * maximumPending
    /// New rows after which the bounds are enforced.
    static let rowsBetweenBounds = 10_000

    /// The time in which equal events share a row: a day for what users do all the time, an hour for refusals.
    static func span(of outcome: AuditEvent.Outcome) -> Duration { .seconds(outcome == .done ? 86_400 : 3_600) }

    /// An event as metrics name it, without users and networks.
    private struct Total: Hashable {
        let what: String
        let outcome: String
    }

    private struct State {
        var totals: [Total: Int] = [:]
        var pending: [AuditEvent: CountedEvent] = [:]
        var newRows = 0
        var isFailing = false
    }

    private let store: BackendStore
    private let clock: BackendClock
    private let logger: Logger
    private let state = Mutex(State())

    package init(store: BackendStore, clock: BackendClock = .system, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Number of different events that wait to be written.
    var pendingCount: Int { state.withLock { $0.pending.count } }

    /// Notes an event, to be written soon.
    package func note(_ event: AuditEvent) {
        let now = clock.now()
        state.withLock { state in
            Self.merge(CountedEvent(event: event, first: now, last: now, count: 1), into: &state.pending)
            state.totals[Total(what: event.what.text, outcome: event.outcome.text), default: 0] += 1
        }
    }

    /// Numbers of noted events since the start.
    var totals: [(what: String, outcome: String, count: Int)] {
        state.withLock { $0.totals }
            .map { (what: $0.key.what, outcome: $0.key.outcome, count: $0.value) }
            .sorted { ($0.what, $0.outcome) < ($1.what, $1.outcome) }
    }

    /// Writes what was noted.
    ///
    /// If that fails, the events stay for the next time, and the log says so once.
    package func flush() async {
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
            // If it fails, ``AccountUpkeep`` does it within the hour.
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
        let reason = BackendStore.reason(error)
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
