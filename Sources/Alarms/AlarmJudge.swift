package import HubProtocol

/// Decides which alarms begin and end.
///
/// Only time in which the judge was running with a correct clock counts, so that a start, a restore or a clock change
/// does not raise alarms.
package struct AlarmJudge: Sendable, Equatable, Codable {
    /// The longest time between two judgements that counts: nothing was observed in a longer pause.
    private static let longestStep: Duration = .seconds(300)

    private struct AlarmState: Sendable, Equatable, Codable {
        /// True if the alarm was reported; its end is then reported as well.
        var isReported: Bool
        var finding: AlarmFinding

        private enum CodingKeys: String, CodingKey {
            case finding
            case isReported = "isTold"
        }
    }

    /// The time until which an alarm is not reported.
    private struct Silence: Sendable, Equatable, Codable {
        /// The end of the silence; `nil` for the end of the alarm.
        let end: Timestamp?
    }

    /// An alarm in lists.
    package struct Entry: Sendable, Equatable {
        package let alarm: Alarm
        /// The known facts; `nil` for an alarm that has ended and is still silenced.
        package let finding: AlarmFinding?
        package let isSilenced: Bool
        /// The end of the silence; `nil` for a silence that ends with the alarm.
        package let silencedUntil: Timestamp?
    }

    private var categories: [String: AlarmWatch] = [:]
    private var publishers: [String: AlarmWatch] = [:]
    private var agents: [String: AlarmWatch] = [:]
    private var drops = AlarmWatch()
    /// The time for which the log has lacked a replica; `nil` if it does not, or in the state of an earlier version.
    private var replicaLoss: Duration?
    /// The times for which hubs have not been fit for duties, by name; `nil` in the state of an earlier version.
    private var unfitness: [String: Duration]?
    /// The active alarms.
    private var states: [Alarm: AlarmState] = [:]
    private var silences: [Alarm: Silence] = [:]
    private var lastLook: Timestamp?
    /// The time observed since the start, or since the clock was last in doubt.
    private var observed = Duration.zero

    // The names in the database; `standing` is that of the first version.
    private enum CodingKeys: String, CodingKey {
        case categories, publishers, agents, drops, replicaLoss, unfitness, silences, lastLook, observed
        case states = "standing"
    }

    package init() {}

    /// The active alarms, including silenced ones.
    package var alarms: Set<Alarm> { Set(states.keys) }

    /// The active alarms and the silenced ones, in a stable order.
    package func entries(at now: Timestamp) -> [Entry] {
        alarms.union(silences.keys.filter { isSilenced($0, at: now) }).sorted(by: Self.order).map { alarm in
            let isSilenced = isSilenced(alarm, at: now)
            return Entry(
                alarm: alarm,
                finding: states[alarm]?.finding,
                isSilenced: isSilenced,
                silencedUntil: isSilenced ? silences[alarm]?.end : nil
            )
        }
    }

    /// The known facts of an active alarm.
    package func finding(of alarm: Alarm) -> AlarmFinding? { states[alarm]?.finding }

    /// The position of the last message of each category that had one while it was watched.
    package var categoryPlaces: [String: LogSequence] {
        categories.compactMapValues { $0.mark.map { LogSequence(rawValue: $0) } }
    }

    /// True for an agent that was connected before.
    package func knows(agent: String) -> Bool { agents[agent] != nil }

    package func isSilenced(_ alarm: Alarm, at now: Timestamp) -> Bool {
        silences[alarm].map { $0.end.map { now < $0 } ?? true } ?? false
    }

    /// Stops reports of an alarm and its end, until a time or until the alarm ends; an alarm that lasts longer is
    /// reported again.
    package mutating func silence(_ alarm: Alarm, until end: Timestamp?) {
        silences[alarm] = Silence(end: end)
        states[alarm]?.isReported = false
    }

    /// Resumes reports of an alarm.
    package mutating func endSilence(of alarm: Alarm) { silences[alarm] = nil }

    /// Begins to watch after a start or a restore of the hub; earlier time is not judged.
    ///
    /// In an older copy of the database (`isRestored`) categories are silent because later messages are lost.
    package mutating func begin(isRestored: Bool = false) {
        lastLook = nil
        observed = .zero
        drops = AlarmWatch()
        for name in publishers.keys { publishers[name]?.isFresh = false }
        guard isRestored else { return }
        // An alarm in the copy ends when there is news of its subject.
        for name in categories.keys where states[Alarm(.silentCategory, name)] == nil {
            categories[name]?.quiet = .zero
        }
        for name in publishers.keys where states[Alarm(.silentPublisher, name)] == nil {
            publishers[name]?.quiet = .zero
        }
        for name in agents.keys where states[Alarm(.absentAgent, name)] == nil { agents[name]?.quiet = .zero }
    }

    /// Judges the facts, and returns the changes.
    ///
    /// - Parameters:
    ///   - facts: The current facts; subjects that are no longer in them are forgotten, and their alarms end.
    ///   - rules: The durations after which conditions become alarms.
    ///   - now: The wall clock.
    ///   - isClockSteady: True if the clock can be trusted; otherwise nothing is judged.
    ///   - mayTell: False if changes cannot be reported now; a later judgement reports them.
    /// - Returns: Alarms that begin and end, in a stable order.
    package mutating func judge(
        _ facts: AlarmFacts,
        _ rules: AlarmRules = AlarmRules(),
        now: Timestamp,
        isClockSteady: Bool = true,
        mayTell: Bool = true
    ) -> [AlarmChange] {
        guard isClockSteady else {
            lastLook = nil
            observed = .zero
            return []
        }
        let step = lastLook.map { min(max(now - $0, .zero), Self.longestStep) } ?? .zero
        lastLook = now
        observed += step
        watch(facts, step)
        return settle(found(facts, rules, now), rules, now, mayTell: mayTell)
    }

    // MARK: Observations

    private mutating func watch(_ facts: AlarmFacts, _ step: Duration) {
        Self.watch(&categories, facts.categories.mapValues { $0?.rawValue }, step)
        Self.watch(&publishers, facts.publishers.mapValues { $0.milliseconds }, step)
        var agents: [String: AlarmWatch] = [:]
        for (name, isThere) in facts.agents {
            var watch = self.agents[name] ?? AlarmWatch()
            watch.quiet = isThere ? .zero : watch.quiet + step
            agents[name] = watch
        }
        self.agents = agents
        drops.note(facts.dropped, step)
        replicaLoss = facts.missingReplicas > 0 ? (replicaLoss ?? .zero) + step : nil
        let former = unfitness
        unfitness = Dictionary(uniqueKeysWithValues: facts.unfitHubs.keys.map { ($0, (former?[$0] ?? .zero) + step) })
    }

    private static func watch(_ watches: inout [String: AlarmWatch], _ marks: [String: Int64?], _ step: Duration) {
        var next: [String: AlarmWatch] = [:]
        for (name, mark) in marks {
            var watch = watches[name] ?? AlarmWatch(mark: mark)
            watch.note(mark, step)
            next[name] = watch
        }
        watches = next
    }

    // MARK: Conditions

    private func found(_ facts: AlarmFacts, _ rules: AlarmRules, _ now: Timestamp) -> [Alarm: AlarmFinding] {
        var found: [Alarm: AlarmFinding] = [:]
        for (name, watch) in categories where isSilent(watch, rules.silences[name], rules) {
            found[Alarm(.silentCategory, name)] = AlarmFinding(since: now - watch.quiet)
        }
        for (name, watch) in publishers {
            guard let limit = limit(of: name, watch, facts, rules) else { continue }
            let alarm = Alarm(.silentPublisher, name)
            guard isAbsent(alarm, watch, limit) else { continue }
            found[alarm] = AlarmFinding(since: facts.publishers[name] ?? now - watch.quiet)
        }
        for (name, watch) in agents {
            let alarm = Alarm(.absentAgent, name)
            if isAbsent(alarm, watch, rules.agentAbsence) { found[alarm] = AlarmFinding(since: now - watch.quiet) }
        }
        for feed in facts.feeds {
            guard let since = feed.failingSince, now - since > rules.feedFailure else { continue }
            let alarm = Alarm(.failingFeed, feed.url)
            // An old report may be outdated; a report since the start is current.
            guard publishers[feed.publisher]?.isFresh == true || states[alarm] != nil else { continue }
            if let known = found[alarm], known.since <= since { continue }
            found[alarm] = AlarmFinding(since: since, publisher: feed.publisher)
        }
        let expiries = [(Alarm.Kind.expiringCredential, facts.credentials), (.expiringCertificate, facts.certificates)]
        for (kind, ends) in expiries {
            for (name, end) in ends where end - now < rules.expiryNotice {
                found[Alarm(kind, name)] = AlarmFinding(since: now, deadline: end)
            }
        }
        for (name, reason) in facts.refusedCredentials {
            found[Alarm(.refusedCredential, name)] = AlarmFinding(since: now, reason: reason)
        }
        for (name, reason) in facts.unfitHubs {
            guard let duration = unfitness?[name], duration > rules.unfitness else { continue }
            found[Alarm(.unfitHub, name)] = AlarmFinding(since: now - duration, reason: reason)
        }
        if drops.isFresh, drops.quiet <= rules.dropPause {
            found[Alarm(.droppedMessages)] = AlarmFinding(since: now - drops.quiet)
        }
        if let replicaLoss, replicaLoss > rules.replicaLoss {
            found[Alarm(.missingReplicas)] = AlarmFinding(since: now - replicaLoss)
        }
        return found
    }

    /// True if a subject is absent for too long; while the hub was stopped, nothing could connect.
    private func isAbsent(_ alarm: Alarm, _ watch: AlarmWatch, _ limit: Duration) -> Bool {
        watch.quiet > limit && (observed > limit || states[alarm] != nil)
    }

    /// The longest allowed silence of a publisher; `nil` while it is not known.
    private func limit(
        of publisher: String,
        _ watch: AlarmWatch,
        _ facts: AlarmFacts,
        _ rules: AlarmRules
    ) -> Duration? {
        guard facts.startedPublishers.contains(publisher) else { return rules.publisherSilence }
        guard watch.watched - watch.quiet > rules.publisherLearning else { return nil }
        return max(rules.publisherSilence, min(watch.longest * 2, rules.longestPublisherSilence))
    }

    /// True if a category is silent for too long; one without any message yet is not.
    private func isSilent(_ watch: AlarmWatch, _ limit: Duration?, _ rules: AlarmRules) -> Bool {
        guard watch.mark != nil else { return false }
        if let limit { return watch.quiet > limit }
        guard watch.longest > .zero, watch.watched - watch.quiet > rules.learning else { return false }
        return watch.quiet > max(watch.longest, rules.shortestSilence)
    }

    // MARK: Reports

    private mutating func settle(
        _ found: [Alarm: AlarmFinding],
        _ rules: AlarmRules,
        _ now: Timestamp,
        mayTell: Bool
    ) -> [AlarmChange] {
        for (alarm, silence) in silences where silence.end.map({ $0 <= now }) ?? false { silences[alarm] = nil }
        // Credentials, reports and agents are not all back yet: no alarm begins, and none ends.
        guard observed >= rules.settling else { return [] }
        var changes: [AlarmChange] = []
        for alarm in states.keys.filter({ found[$0] == nil }).sorted(by: Self.order) {
            let isReported = states[alarm]?.isReported == true
            guard mayTell || !isReported else { continue }
            if isReported { changes.append(.cleared(alarm)) }
            states[alarm] = nil
            if silences[alarm]?.end == nil { silences[alarm] = nil }
        }
        for (alarm, finding) in found.sorted(by: { Self.order($0.key, $1.key) }) {
            let isReported = states[alarm]?.isReported ?? false
            let isDue = mayTell && !isReported && silences[alarm] == nil
            if isDue { changes.append(.raised(alarm)) }
            states[alarm] = AlarmState(
                isReported: isReported || isDue,
                finding: AlarmFinding(
                    since: states[alarm]?.finding.since ?? finding.since,
                    deadline: finding.deadline,
                    publisher: finding.publisher,
                    reason: finding.reason
                )
            )
        }
        return changes
    }

    private static func order(_ one: Alarm, _ other: Alarm) -> Bool {
        (one.kind.rawValue, one.subject) < (other.kind.rawValue, other.subject)
    }
}
