package import HubProtocol

/// Decides which alarms begin and end.
///
/// Only time in which the judge has watched counts: not that of a stop, nor of a clock that is wrong. So nothing is raised
/// that a start, a restore or a clock has brought about.
package struct AlarmJudge: Sendable, Equatable, Codable {
    /// Between two judgements no more than this counts: in what lies between, nobody has watched.
    private static let longestStep: Duration = .seconds(300)

    /// How long something has been as it is.
    private struct Watch: Sendable, Equatable, Codable {
        /// What changes when it does something: a place in the log, or a time.
        var mark: Int64?
        var quiet = Duration.zero
        /// The longest time between two marks.
        var longest = Duration.zero
        var watched = Duration.zero
        /// A mark was seen to change since the last start.
        var isFresh = false
    }

    private struct Standing: Sendable, Equatable, Codable {
        /// It was told, and its end will be.
        var isTold: Bool
    }

    /// Until when an alarm is not told of.
    private struct Silence: Sendable, Equatable, Codable {
        /// `nil`: until it ends.
        let end: Timestamp?
    }

    private var categories: [String: Watch] = [:]
    private var publishers: [String: Watch] = [:]
    private var agents: [String: Watch] = [:]
    private var drops = Watch()
    private var standing: [Alarm: Standing] = [:]
    private var silences: [Alarm: Silence] = [:]
    private var lastLook: Timestamp?
    /// Since the start, or the last doubt about the clock.
    private var observed = Duration.zero

    package init() {}

    /// The alarms that last, silenced ones included.
    package var alarms: Set<Alarm> { Set(standing.keys) }

    package func isSilenced(_ alarm: Alarm, at now: Timestamp) -> Bool {
        silences[alarm].map { $0.end.map { now < $0 } ?? true } ?? false
    }

    /// Does not tell of an alarm, nor of its end, until a time, or until it has ended; if it lasts after that time, it is
    /// told of again.
    package mutating func silence(_ alarm: Alarm, until end: Timestamp?) {
        silences[alarm] = Silence(end: end)
        standing[alarm]?.isTold = false
    }

    package mutating func endSilence(of alarm: Alarm) { silences[alarm] = nil }

    /// Begins to watch after a start or a restore of the hub: what happened before is not looked at.
    package mutating func begin() {
        lastLook = nil
        observed = .zero
        drops = Watch()
        for name in publishers.keys { publishers[name]?.isFresh = false }
    }

    /// Looks at what is, and tells what has changed.
    ///
    /// - Parameters:
    ///   - facts: What is now; what is no longer in them is forgotten, and its alarm ends.
    ///   - rules: How long something may last.
    ///   - now: The wall clock.
    ///   - isClockSteady: The clock can be trusted; if not, nothing is judged.
    /// - Returns: Alarms that begin and end, in a stable order.
    package mutating func judge(
        _ facts: AlarmFacts,
        _ rules: AlarmRules = AlarmRules(),
        now: Timestamp,
        isClockSteady: Bool = true
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
        return settle(found(facts, rules, now), rules, now)
    }

    // MARK: What is

    private mutating func watch(_ facts: AlarmFacts, _ step: Duration) {
        Self.watch(&categories, facts.categories.mapValues { $0?.rawValue }, step)
        Self.watch(&publishers, facts.publishers.mapValues { $0.milliseconds }, step)
        var agents: [String: Watch] = [:]
        for (name, isThere) in facts.agents {
            var watch = self.agents[name] ?? Watch()
            watch.quiet = isThere ? .zero : watch.quiet + step
            agents[name] = watch
        }
        self.agents = agents
        Self.watch(&drops, mark: facts.dropped, step)
    }

    private static func watch(_ watches: inout [String: Watch], _ marks: [String: Int64?], _ step: Duration) {
        var next: [String: Watch] = [:]
        for (name, mark) in marks {
            var watch = watches[name] ?? Watch(mark: mark)
            self.watch(&watch, mark: mark, step)
            next[name] = watch
        }
        watches = next
    }

    private static func watch(_ watch: inout Watch, mark: Int64?, _ step: Duration) {
        watch.watched += step
        watch.quiet += step
        guard mark != watch.mark else { return }
        // The first mark ends no silence.
        if watch.mark != nil {
            watch.longest = max(watch.longest, watch.quiet)
            watch.isFresh = true
        }
        watch.mark = mark
        watch.quiet = .zero
    }

    // MARK: What is wrong

    private func found(_ facts: AlarmFacts, _ rules: AlarmRules, _ now: Timestamp) -> Set<Alarm> {
        var found: Set<Alarm> = []
        for (name, watch) in categories where isSilent(watch, rules.silences[name], rules) {
            found.insert(Alarm(.silentCategory, name))
        }
        let absences = [
            (Alarm.Kind.silentPublisher, publishers, rules.publisherSilence),
            (.absentAgent, agents, rules.agentAbsence),
        ]
        for (kind, watches, limit) in absences {
            for (name, watch) in watches where watch.quiet > limit {
                let alarm = Alarm(kind, name)
                // While the hub was stopped nobody could come.
                if observed > limit || standing[alarm] != nil { found.insert(alarm) }
            }
        }
        for feed in facts.feeds {
            guard let since = feed.failingSince, now - since > rules.feedFailure else { continue }
            let alarm = Alarm(.failingFeed, feed.url)
            // An old report says what was; one that came since the start says what is.
            if publishers[feed.publisher]?.isFresh == true || standing[alarm] != nil { found.insert(alarm) }
        }
        for (name, end) in facts.credentials where end - now < rules.expiryNotice {
            found.insert(Alarm(.expiringCredential, name))
        }
        for (name, end) in facts.certificates where end - now < rules.expiryNotice {
            found.insert(Alarm(.expiringCertificate, name))
        }
        if drops.isFresh, drops.quiet <= rules.dropPause { found.insert(Alarm(.droppedMessages)) }
        return found
    }

    private func isSilent(_ watch: Watch, _ limit: Duration?, _ rules: AlarmRules) -> Bool {
        if let limit { return watch.quiet > limit }
        guard watch.mark != nil, watch.longest > .zero, watch.watched - watch.quiet > rules.learning else {
            return false
        }
        return watch.quiet > max(watch.longest, rules.shortestSilence)
    }

    // MARK: What is told

    private mutating func settle(_ found: Set<Alarm>, _ rules: AlarmRules, _ now: Timestamp) -> [AlarmChange] {
        for (alarm, silence) in silences where silence.end.map({ $0 <= now }) ?? false { silences[alarm] = nil }
        var changes: [AlarmChange] = []
        for alarm in standing.keys.filter({ !found.contains($0) }).sorted(by: Self.order) {
            if standing.removeValue(forKey: alarm)?.isTold == true { changes.append(.cleared(alarm)) }
            if silences[alarm]?.end == nil { silences[alarm] = nil }
        }
        for alarm in found.sorted(by: Self.order) {
            guard standing[alarm] != nil || observed >= rules.settling else { continue }
            let isTold = standing[alarm]?.isTold ?? false
            let isDue = !isTold && silences[alarm] == nil
            if isDue { changes.append(.raised(alarm)) }
            standing[alarm] = Standing(isTold: isTold || isDue)
        }
        return changes
    }

    private static func order(_ one: Alarm, _ other: Alarm) -> Bool {
        (one.kind.rawValue, one.subject) < (other.kind.rawValue, other.subject)
    }
}
