import HubProtocol
import HubRouting

/// The cohorts of one event loop, and the total size of their logs.
///
/// Streams whose ordinary tags, templates and named push variables are equal form a *cohort*: a message is matched,
/// rendered and encoded once for all of them.
struct CohortTable {
    private var cohorts: [Recipient: CohortLog] = [:]
    /// The result of ``inOrder()``; `nil` after a change.
    private var order: [CohortLog]?
    /// Number of bytes in all logs.
    private var bytes = 0

    /// All cohorts in the order in which a message is rendered for them: heavy ones last, so that their templates do
    /// not delay others.
    mutating func inOrder() -> [CohortLog] {
        if let order { return order }
        let ordered = cohorts.values.filter { !$0.isHeavy } + cohorts.values.filter(\.isHeavy)
        order = ordered
        return ordered
    }

    /// Adds a stream to its cohort, whose `recipient` has no identity tags.
    mutating func enter(_ recipient: Recipient, _ session: StreamSession, maximumBytes: Int) -> CohortLog {
        let cohort: CohortLog
        if let known = cohorts[recipient] {
            cohort = known
        } else {
            cohort = CohortLog(recipient, maximumBytes: maximumBytes)
            cohorts[recipient] = cohort
            order = nil
        }
        cohort.add(session)
        return cohort
    }

    mutating func leave(_ cohort: CohortLog, _ session: StreamSession) {
        cohort.remove(session)
        guard cohort.sessions.isEmpty else { return }
        cohorts[cohort.recipient] = nil
        order = nil
        bytes -= cohort.log.bytes
        cohort.drop()
    }

    /// Appends an entry to a cohort's log; `head` is the sequence up to which everything was rendered before it.
    mutating func append(_ entry: CohortLog.Entry, to cohort: CohortLog, head: LogSequence) {
        change(cohort) { $0.append(entry, head: head) }
    }

    /// Removes the entries of a cohort if every stream has them.
    mutating func trim(_ cohort: CohortLog) { change(cohort) { $0.trim() } }

    /// Drops the largest logs if all together exceed a number of bytes; their streams read what they lack from the
    /// store.
    ///
    /// - Returns: The cohorts whose logs were dropped.
    mutating func bound(to maximum: Int) -> [CohortLog] {
        guard bytes > maximum else { return [] }
        var dropped: [CohortLog] = []
        for cohort in cohorts.values.sorted(by: { $0.log.bytes > $1.log.bytes }) {
            guard bytes > maximum / 2 else { break }
            change(cohort) { $0.drop() }
            dropped.append(cohort)
        }
        return dropped
    }

    private mutating func change(_ cohort: CohortLog, _ change: (CohortLog) -> Void) {
        bytes -= cohort.log.bytes
        change(cohort)
        bytes += cohort.log.bytes
    }
}
