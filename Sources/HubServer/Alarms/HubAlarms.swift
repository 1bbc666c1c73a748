import Alarms
import Foundation
import HubProtocol
import HubRouting
import HubStore
import Logging
import Signals
import Synchronization

/// The alarms of one hub.
///
/// Readers see the last state written. Looks and silences change the state one at a time. The beginning or end of an
/// alarm is written in one commit with the notices about it, so that a crash neither loses nor repeats them.
final class HubAlarms: Sendable {
    /// A publisher's report with failing feeds, as last read.
    struct ReadReport: Sendable {
        let reportedAt: String
        let failing: [AlarmFacts.Feed]
    }

    private struct State {
        var record = AlarmRecord()
        /// The stored state that ``record`` is based on; `nil` in a hub with one node.
        var basis: AlarmBasis?
        var reports: [String: ReadReport] = [:]
        /// Expected agents with streams at other nodes, and the time of the last report of each.
        var elsewhere: [String: Duration] = [:]
        var budget = AlarmBudget()
        /// Number of looks since the state was last written.
        var looks = 0
        /// Number of alarms that have begun since the start.
        var raised: [Alarm.Kind: Int] = [:]
    }

    /// Number of looks between two writes if no alarm begins or ends: a crash loses the observations of that time.
    private static let looksPerWrite = 5

    /// Serializes looks and silences.
    let turns = RequestTurns("changes of alarms")
    private let state: Mutex<State>

    /// `isShared` is true if other nodes can write the alarms, too.
    init(isShared: Bool) { state = Mutex(State(basis: isShared ? AlarmBasis(text: nil) : nil)) }

    /// Replaces the state with a stored one.
    func load(_ record: AlarmRecord, _ basis: AlarmBasis?) {
        state.withLock { ($0.record, $0.basis, $0.looks) = (record, basis, 0) }
    }

    /// Begins to watch, after a start, perhaps with an older copy of the database; earlier time is not judged.
    func begin(isRestored: Bool) { state.withLock { $0.record.judge.begin(isRestored: isRestored) } }

    var record: AlarmRecord { state.withLock { $0.record } }
    var basis: AlarmBasis? { state.withLock { $0.basis } }
    var reports: [String: ReadReport] {
        get { state.withLock { $0.reports } }
        set { state.withLock { $0.reports = newValue } }
    }
    /// Time for which an agent counts as connected after another node has reported it: three looks.
    private static let hearsay = AlarmService.interval * 3

    func note(agentsElsewhere names: [String], at monotonic: Duration) {
        state.withLock { state in
            state.elsewhere = state.elsewhere.filter { monotonic - $0.value < Self.hearsay }
            for name in names { state.elsewhere[name] = monotonic }
        }
    }

    /// True if an expected agent has a stream at another node.
    func isElsewhere(_ agent: String, at monotonic: Duration) -> Bool {
        state.withLock { $0.elsewhere[agent].map { monotonic - $0 < Self.hearsay } ?? false }
    }

    /// Number of alarms that have begun since the start, by kind.
    var raised: [Alarm.Kind: Int] { state.withLock { $0.raised } }

    /// Number of notices that may be sent now.
    func room(at monotonic: Duration) -> Int { state.withLock { $0.budget.room(at: monotonic) } }

    /// Replaces the state with one that need not be written yet.
    ///
    /// - Returns: False if the state must be written, because some looks have passed since the last write.
    func keep(_ record: AlarmRecord) -> Bool {
        state.withLock { state in
            guard state.looks + 1 < Self.looksPerWrite else { return false }
            state.looks += 1
            state.record = record
            return true
        }
    }

    /// Replaces the state with one that was written.
    func take(_ record: AlarmRecord, _ basis: AlarmBasis?, _ changes: [AlarmChange], notices: Int) {
        state.withLock { state in
            (state.record, state.basis) = (record, basis)
            state.looks = 0
            state.budget.spend(notices)
            for change in changes where change.isRaised { state.raised[change.alarm.kind, default: 0] += 1 }
        }
    }
}

/// The stored state of a hub's alarms that a change is based on, in a hub where other nodes can change it, too.
struct AlarmBasis: Sendable, Equatable {
    /// `nil` if no state is stored.
    let text: String?
}

/// Another node has changed the alarms meanwhile.
struct AlarmsChanged: Error {}

/// Limits the number of notices: with Send, a client can make alarms begin and end as often as reports are read.
struct AlarmBudget: Sendable {
    /// Maximum number of notices at once.
    static let burst = 12.0
    /// Maximum number of notices per hour, in the long run.
    static let hourly = 12.0

    private var notices = Self.burst
    private var at: Duration?

    /// Number of notices that may be sent now.
    mutating func room(at now: Duration) -> Int {
        let hours = max(0, Double((now - (at ?? now)).milliseconds) / 3_600_000)
        notices = min(Self.burst, notices + hours * Self.hourly)
        at = now
        return Int(notices)
    }

    mutating func spend(_ count: Int) { notices -= Double(count) }
}

// MARK: - Changes

extension Hub {
    /// Loads a stored state of the alarms, or an empty one if it cannot be read.
    func loadAlarms(_ text: String?) {
        var record = AlarmRecord()
        do {
            if let text { record = try AlarmRecord(text: text) }
        } catch {
            logger.warning(
                "cannot read the stored state of alarms; starting with an empty one",
                metadata: ["hub.name": "\(self.record.name)", "error.reason": "\(error)"]
            )
        }
        alarms.load(record, alarms.basis.map { _ in AlarmBasis(text: text) })
    }

    /// Loads the state that another node has written since the last read, if there is one.
    ///
    /// Observations since the last write are lost, as in a crash.
    func followAlarms() async throws {
        guard let basis = alarms.basis else { return }
        let text = try await store.alarmState(hub: record.id)
        if text != basis.text { loadAlarms(text) }
    }

    /// Writes a state of the alarms, and sends its notices in the same commit.
    ///
    /// - Throws: ``AlarmsChanged``, ``LeaseLost``, 503 if the hub cannot write, 404 if it was deleted.
    func write(
        _ record: AlarmRecord,
        _ changes: [AlarmChange] = [],
        _ notices: [AlarmNotice] = [],
        in term: LeaseTerm = .unshared
    ) async throws {
        let text = try record.text
        let basis = alarms.basis
        let at = configuration.timestamp
        let key = self.record.id
        let incoming = try configuration.alarmTag.map { tag in
            try notices.map { try IncomingMessage(alarm: $0, to: tag, at: at) }
        }
        let counts = try await perform(bytes: text.utf8.count) { transaction, view in
            try term.check(transaction)
            if let basis, try transaction.alarmState(hub: key) != basis.text { throw AlarmsChanged() }
            try transaction.setAlarmState(text, hub: key)
            let sent = try (incoming ?? []).map { try self.messages.send($0, at: at, transaction, view) }
            return (sent.map(\.counts), sent.flatMap(\.effects))
        }
        for count in counts { counters.accept(count) }
        alarms.take(record, basis.map { _ in AlarmBasis(text: text) }, changes, notices: notices.count)
        for notice in notices {
            logger.log(
                level: notice.isRaised ? .warning : .notice,
                notice.isRaised ? "an alarm has begun" : "an alarm has ended",
                metadata: ["hub.name": "\(self.record.name)", "alarm.title": "\(notice.title)"]
            )
        }
    }

    /// Silences an alarm until a time, or until it has ended.
    ///
    /// - Throws: 404 if the alarm is neither active nor silenced.
    func silence(alarm id: String, until end: Timestamp?) async throws {
        try await changeAlarm(id) { $0.silence($1, until: end) }
    }

    /// - Throws: 404 if the alarm is neither active nor silenced.
    func endSilence(alarm id: String) async throws {
        try await changeAlarm(id) { $0.endSilence(of: $1) }
    }

    private func changeAlarm(_ id: String, _ change: (inout AlarmJudge, Alarm) -> Void) async throws {
        try await alarms.turns.pass {
            for _ in 0..<Self.maximumAttempts {
                try await followAlarms()
                var record = alarms.record
                guard let alarm = record.alarm(id, at: configuration.timestamp) else {
                    throw ProtocolError.notFound("There is no active or silenced alarm '\(id.excerpt)'.")
                }
                change(&record.judge, alarm)
                do { return try await write(record) } catch is AlarmsChanged {}
            }
            throw ProtocolError.unavailable("Another node is changing the hub's alarms; try again shortly.")
        }
    }

    /// Number of attempts to change the alarms while other nodes change them.
    private static let maximumAttempts = 3
}

extension IncomingMessage {
    /// Makes one of the hub's own messages; one about the end of an alarm replaces the one about its beginning.
    init(alarm notice: AlarmNotice, to tag: Tag, at now: Timestamp) throws {
        var values: [MessageProperty: String] = [
            .title: notice.title, .messageParam: notice.text, .category: tag.text, .published: now.wholeSecond,
        ]
        values[.story] = notice.alarm.map { "alarm\($0.id)".prefix(Self.storyLength).description }
        if notice.alarm != nil, !notice.isRaised { values[.status] = MessageStatus.update.rawValue }
        let message = try Message(
            audience: .matching(try TagExpression(parsing: tag.text)),
            body: MessageProperties(values).encoded()
        )
        self.init(id: .random(), message: message, idempotencyKey: nil, contentHash: [])
    }

    /// Number of characters in a story's name that every push service accepts.
    private static let storyLength = 16
}
