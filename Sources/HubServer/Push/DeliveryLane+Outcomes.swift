import HubProtocol
import HubRouting
import HubStore
import Logging
import PushServices

// MARK: - Outcomes

extension DeliveryLane {
    /// Writes outcomes down until the task is cancelled.
    func writeOutcomes() async {
        while !Task.isCancelled {
            await landings.wait()
            await flush()
        }
    }

    /// Writes down what has become of targets; what cannot be written stays for the next time.
    func flush() async {
        let former = writing
        let task = Task {
            await former?.value
            await self.write()
        }
        writing = task
        await task.value
    }

    private func write() async {
        judge(landings.take())
        guard !unwritten.isEmpty else { return }
        let batch = unwritten
        let at = hub.configuration.timestamp
        let key = hub.record.id
        do {
            let count = try await hub.perform { transaction, _ in
                var count = 0
                for (delivery, progress) in batch.progress.sorted(by: { $0.key.sequence < $1.key.sequence }) {
                    count += try transaction.record(progress, of: delivery, hub: key, at: at)
                }
                return (count, try transaction.apply(batch.handles, hub: key, at: at))
            }
            letGo(batch)
            hub.counters.push.add(batch.progress, platform)
            let hasRetries = batch.progress.values.contains { !$0.retries.isEmpty }
            if count > 0 || hasRetries || batch.hasReturned { bell.ring() }
        } catch {
            // Nobody wants to know of it any more.
            if hub.isDeleted { letGo(batch) }
            noteFailure(error)
        }
    }

    /// Forgets what was written down.
    private func letGo(_ batch: PushBatch) {
        unwritten = PushBatch()
        for target in batch.targets {
            pending.remove(target)
            courses[target.key]?.outstanding -= 1
        }
        slots.write(batch.targets.count)
    }

    /// Turns answers into what is to be written, and draws conclusions about the credential and the service.
    private func judge(_ landed: [PushLanding]) {
        for landing in landed {
            unwritten.targets.append(TargetKey(key: landing.key, ordinal: landing.ordinal))
            switch landing.result {
            case .refused(let refusal): unwritten.fail(landing, refusal.outcome, refusal.reason)
            case .givenBack: giveBack(landing)
            case .deferred(let until, let reason):
                var landing = landing
                landing.attempt -= 1
                unwritten.retry(landing, dueAt: until, reason)
            case .answered(let outcome): judge(outcome, of: landing)
            }
        }
    }

    private func judge(_ outcome: PushOutcome, of landing: PushLanding) {
        let now = hub.configuration.timestamp
        switch outcome {
        case .accepted, .replacedHandle:
            doubts.noteSuccess()
            noteWorking(landing)
            unwritten.succeed(landing)
            if case .replacedHandle(let new) = outcome { unwritten.replace(landing, by: new) }
        case .dropped(let reason):
            doubts.noteOther()
            noteWorking(landing)
            unwritten.fail(landing, .dropped, reason)
        case .deadHandle(let dead):
            noteWorking(landing)
            let isBelieved = dead.isCertain || doubts.noteDoubtful()
            if dead.isCertain { doubts.noteOther() }
            unwritten.fail(landing, isBelieved ? .expiredChannel : .badChannel, dead.reason)
            if isBelieved { unwritten.remove(landing, since: dead.since) }
        case .badMessage(let reason):
            doubts.noteOther()
            noteWorking(landing)
            unwritten.fail(landing, .invalidNotificationFormat, reason)
        case .badRoute(let reason):
            doubts.noteOther()
            noteWorking(landing)
            unwritten.fail(landing, .wrongToken, reason)
        case .unsendable(let reason):
            // The service was not asked, and has shown nothing.
            if landing.isProbe { circuit.endProbe(at: now) }
            unwritten.fail(landing, .badChannel, reason)
        case .retry(let after, let reason):
            if landing.isProbe { circuit.endProbe(at: now) }
            noteNotWorking(landing)
            retry(landing, after: after, reason)
        case .throttled(let scope, let after, let reason):
            if landing.isProbe { circuit.endProbe(at: now) }
            switch scope {
            case .handle: retry(landing, after: after, reason)
            case .host:
                let wait = RetryWait.wait(after: 3, asked: after, fraction: Double.random(in: 0.5...1))
                troubles.pause(landing.host, for: wait, at: now)
                retry(landing, after: wait, reason)
            case .credential:
                pause(for: RetryWait.wait(after: 3, asked: after, fraction: Double.random(in: 0.5...1)), reason)
                giveBack(landing)
            }
        case .refusedCredential(let reason): noteRefusal(landing, reason)
        }
    }

    private func retry(_ landing: PushLanding, after asked: Duration?, _ reason: String) {
        let now = hub.configuration.timestamp
        let wait = RetryWait.wait(after: landing.attempt, asked: asked, fraction: Double.random(in: 0...1))
        // A clock that is wrong must not end a message.
        guard now + wait < landing.lastChance || !isClockSteady() else {
            return unwritten.fail(landing, .abandoned, "expired after \(landing.attempt) attempts; at last: \(reason)")
        }
        unwritten.retry(landing, dueAt: now + wait, reason)
    }

    /// Lets a target be chosen anew that was not to blame; one that was to be tried again is so still.
    private func giveBack(_ landing: PushLanding) {
        unwritten.hasReturned = true
        if !landing.isRetry { giveBack([landing.ordinal], of: landing.key) }
    }

    // MARK: - The credential and the service

    /// The credential is refused for everybody, unless others were served since it was refused for the same target.
    private func noteRefusal(_ landing: PushLanding, _ reason: String) {
        let target = TargetKey(key: landing.key, ordinal: landing.ordinal)
        if let former = refusedFor[target], former < goodAnswers {
            refusedFor[target] = nil
            if landing.isProbe { circuit.endProbe(at: hub.configuration.timestamp) }
            return unwritten.fail(landing, .wrongToken, "the credential is refused for this device alone: \(reason)")
        }
        if refusedFor.count >= Self.maximumRefused { refusedFor = [:] }
        refusedFor[target] = goodAnswers
        refuseCredential(reason)
        giveBack(landing)
    }

    private func refuseCredential(_ reason: String) {
        hub.push.set(refusal: reason, platform)
        guard circuit.refuse(reason, at: hub.configuration.timestamp) else { return }
        hub.logger.error(
            "a push service refuses the hub's credential: its messages wait until it is taken again or replaced",
            metadata: ["hub.name": "\(hub.record.name)", "push.platform": "\(platform)", "error.reason": "\(reason)"]
        )
    }

    private func noteWorking(_ landing: PushLanding) {
        troubles.noteSuccess(landing.host)
        goodAnswers += 1
        guard circuit.accept() else { return }
        hub.push.set(refusal: nil, platform)
        hub.logger.notice(
            "a push service takes the hub's credential again",
            metadata: ["hub.name": "\(hub.record.name)", "push.platform": "\(platform)"]
        )
        bell.ring()
    }

    /// A service, or one of its hosts, that does nothing but fail is left alone for a while.
    private func noteNotWorking(_ landing: PushLanding) {
        let wait = troubles.noteFailure(
            landing.host,
            begunAt: landing.startedAt,
            at: hub.configuration.timestamp,
            fraction: Double.random(in: 0.5...1)
        )
        if let wait, landing.host.isEmpty { pause(for: wait, nil) }
    }

    private func pause(for wait: Duration, _ reason: String?) {
        pausedUntil = max(pausedUntil, hub.configuration.timestamp + wait)
        guard let reason else { return }
        hub.logger.info(
            "a push service wants fewer messages: the hub waits",
            metadata: [
                "hub.name": "\(hub.record.name)", "push.platform": "\(platform)", "error.reason": "\(reason)",
            ]
        )
    }
}

/// Outcomes that are to be written down together.
struct PushBatch: Sendable {
    var progress: [DeliveryKey: DeliveryProgress] = [:]
    var handles: [HandleChange] = []
    /// All that it is about.
    var targets: [DeliveryLane.TargetKey] = []
    /// Some of them are chosen anew.
    var hasReturned = false

    var isEmpty: Bool { targets.isEmpty }

    mutating func succeed(_ landing: PushLanding) {
        progress[landing.key, default: DeliveryProgress()].done[landing.ordinal] = .success
        if let key = landing.collapseKey { progress[landing.key]?.collapsed[landing.ordinal] = key }
    }

    mutating func fail(_ landing: PushLanding, _ outcome: OutcomeName, _ reason: String) {
        progress[landing.key, default: DeliveryProgress()].done[landing.ordinal] = outcome
        progress[landing.key]?.failures.append(
            DeliveryFailure(ordinal: landing.ordinal, outcome: outcome, reason: String(reason.prefix(300)))
        )
    }

    mutating func retry(_ landing: PushLanding, dueAt: Timestamp, _ reason: String) {
        progress[landing.key, default: DeliveryProgress()].retries.append(
            DeliveryRetry(
                key: landing.key,
                ordinal: landing.ordinal,
                attempts: landing.attempt,
                dueAt: dueAt,
                reason: String(reason.prefix(300)),
                collapseKey: landing.collapseKey
            )
        )
    }

    mutating func remove(_ landing: PushLanding, since: Timestamp?) {
        guard let channel = landing.channel else { return }
        handles.append(
            HandleChange(
                platform: landing.key.platform,
                channel: channel,
                kind: .dead(since: since ?? landing.startedAt)
            )
        )
    }

    mutating func replace(_ landing: PushLanding, by new: String) {
        guard let channel = landing.channel else { return }
        handles.append(HandleChange(platform: landing.key.platform, channel: channel, kind: .replaced(by: new)))
    }
}
