import HubProtocol
import HubRouting
import HubStore
import Logging
import PushServices
import Signals

// MARK: - Outcomes

extension DeliveryLane {
    /// Records outcomes in the store until the task is cancelled.
    func writeOutcomes() async {
        while !Task.isCancelled {
            await outcomeBuffer.wait()
            await flush()
        }
    }

    /// Records the outcomes of targets; those that cannot be written are kept for the next attempt.
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
        judge(outcomeBuffer.take())
        guard !unwritten.isEmpty else { return }
        let batch = unwritten
        let at = wallTime
        let key = hub.record.id
        let expiring = Set(batch.progress.keys.filter(expiries.has))
        let accepted = batch.progress.keys.reduce(into: [DeliveryKey: Timestamp]()) {
            $0[$1] = courses[$1]?.rendering.acceptedAt
        }
        do {
            let (counts, done, answered) = try await perform { transaction in
                var counts: [PushCounters.Outcome: Int] = [:]
                var (done, answered): ([DeliveryKey], [DeliveryKey]) = ([], [])
                for (delivery, progress) in batch.progress.sorted(by: { $0.key.sequence < $1.key.sequence }) {
                    let ended = try transaction.record(progress, of: delivery, hub: key, at: at)
                    counts.add(progress, ended: ended, delivery.platform)
                    guard ended > 0 || expiring.contains(delivery), try transaction.hasEnded(delivery) else { continue }
                    done.append(delivery)
                    if ended > 0 { answered.append(delivery) }
                }
                return ((counts, done, answered), try transaction.apply(batch.handles, hub: key, at: at))
            }
            letGo(batch)
            noteAwaitedHosts(of: batch)
            expiries.forget(done)
            hub.counters.push.add(counts)
            let times = answered.compactMap { key in accepted[key].map { max(.zero, at - $0) } }
            hub.counters.times.note(times, at: platform)
            let hasRetries = batch.progress.values.contains { !$0.retries.isEmpty }
            if !counts.isEmpty || hasRetries || batch.hasReturned { wakeUp.signal() }
        } catch is LeaseLost {
            // Another node has delivered these messages, or does so now.
            letGo(batch)
        } catch {
            // Outcomes of a deleted hub are of no use.
            if hub.isDeleted { letGo(batch) }
            noteFailure(error)
        }
    }

    /// Forgets outcomes that were recorded.
    private func letGo(_ batch: PushBatch) {
        unwritten = PushBatch()
        for target in batch.targets {
            pending.remove(target)
            courses[target.key]?.outstanding -= 1
        }
        slots.write(batch.targets.count)
    }

    /// Notes the hosts that stored targets wait for; further hosts' targets wait for their time.
    private func noteAwaitedHosts(of batch: PushBatch) {
        for host in batch.progress.values.lazy.flatMap(\.retries).compactMap(\.host)
        where awaitedHosts.count < HostFailures.maximumHosts {
            awaitedHosts.insert(host)
        }
    }

    /// Turns answers into changes to record, and draws conclusions about the credential and the service.
    private func judge(_ landed: [OutcomeBuffer.Landed]) {
        for (landing, result) in landed {
            unwritten.targets.append(landing.targetKey)
            switch result {
            case .refused(let refusal): unwritten.fail(landing, refusal.outcome, refusal.reason)
            case .givenBack: giveBack(landing)
            case .deferred(.paused(let reason)): putOffUntilRecovery(landing, reason)
            case .deferred(.waits(let until, let reason)): putOff(landing, for: until - wallTime, reason)
            case .answered(let outcome): judge(outcome, of: landing)
            }
        }
        reportPauses()
    }

    private func reportPauses() {
        var pauses = hostFailures.pauses
        if askedPauseUntil > wallTime { pauses[""] = max(pauses[""] ?? askedPauseUntil, askedPauseUntil) }
        guard pauses != reportedPauses else { return }
        reportedPauses = pauses
        hub.push.note(platform) { $0.pauses = pauses }
    }

    private func judge(_ outcome: PushOutcome, of landing: PushLanding) {
        let now = wallTime
        switch outcome {
        case .accepted, .replacedHandle:
            rejectionGuard.noteSuccess()
            noteWorking(landing)
            unwritten.succeed(landing)
            if case .replacedHandle(let new) = outcome { unwritten.replace(landing, by: new) }
        case .dropped(let reason): fail(landing, .dropped, reason)
        case .deadHandle(let dead):
            noteWorking(landing)
            let isBelieved = dead.isCertain || rejectionGuard.noteDoubtful()
            if dead.isCertain { rejectionGuard.noteOther() }
            guard isBelieved else { return unwritten.fail(landing, .badChannel, dead.reason) }
            unwritten.fail(landing, .expiredChannel, dead.reason, deadHandle: landing.channel?.handle)
            unwritten.remove(landing, since: dead.since)
        case .badMessage(let reason): fail(landing, .invalidNotificationFormat, reason)
        case .tooLarge(let reason): fail(landing, .invalidNotificationSize, reason)
        case .badRoute(let reason): fail(landing, .wrongToken, reason)
        case .unsendable(let reason):
            // The service was not asked, so that this says nothing about it.
            endProbe(landing, at: now)
            unwritten.fail(landing, .badChannel, reason)
        case .retry(let after, let reason):
            endProbe(landing, at: now)
            hostFailures.noteFailure(landing.host, at: now, fraction: Double.random(in: 0...1))
            if landing.isHostProbe {
                // The outage is not the target's, whose waits would grow.
                putOffUntilRecovery(landing, after: after, reason)
            } else {
                retry(landing, after: after, reason)
            }
        case .throttled(let scope, let after, let reason):
            endProbe(landing, at: now)
            switch scope {
            case .handle: retry(landing, after: after, reason)
            case .host:
                let wait = RetryWait.wait(after: 3, asked: after, fraction: Double.random(in: 0.5...1))
                hostFailures.pause(landing.host, for: wait, at: now)
                if wait > SlowHosts.longestPause {
                    // They are chosen again, and put off in the store.
                    for target in slowHosts.take(landing.host, atMost: .max) {
                        giveBack([target.ordinal], of: target.key)
                    }
                }
                retry(landing, after: wait, reason)
            case .credential:
                pause(for: RetryWait.wait(after: 3, asked: after, fraction: Double.random(in: 0.5...1)), reason)
                giveBack(landing)
            }
        case .refusedSender(let reason): noteHostRefusal(landing, reason)
        case .refusedCredential(let reason): noteRefusal(landing, reason)
        }
    }

    /// Records a message or a target that a working service does not accept.
    private func fail(_ landing: PushLanding, _ outcome: OutcomeName, _ reason: String) {
        rejectionGuard.noteOther()
        noteWorking(landing)
        unwritten.fail(landing, outcome, reason)
    }

    private func endProbe(_ landing: PushLanding, at now: Timestamp) {
        if landing.isProbe { circuit.endProbe(at: now) }
        if landing.isHostProbe { hostRefusals.endProbe(landing.host, at: now) }
    }

    /// Tries a target again after its next wait, and once more before its message ends.
    private func retry(_ landing: PushLanding, after asked: Duration?, _ reason: String) {
        let wait = RetryWait.wait(after: landing.attempt, asked: asked, fraction: Double.random(in: 0...1))
        guard let dueAt = dueAt(landing, after: wait, asked: asked) else {
            return unwritten.fail(
                landing,
                .abandoned,
                "expired after \(landing.attempt) attempts; last failure: \(reason)"
            )
        }
        unwritten.retry(landing, attempts: landing.attempt, dueAt: dueAt, reason)
    }

    /// Tries a target again later for a reason that is not its own: the attempt does not count.
    private func putOff(_ landing: PushLanding, for wait: Duration, awaiting host: String? = nil, _ reason: String) {
        let now = wallTime
        // The last attempt before the message's end is not made in a pause, either.
        let asked = hostFailures.askedPause(landing.host, at: now).map { $0 - now }
        let dueAt = dueAt(landing, after: wait, asked: asked) ?? now + wait
        unwritten.retry(landing, attempts: landing.attempt - 1, dueAt: dueAt, awaiting: host, reason)
    }

    /// Lets a target wait until its host recovers; the wait only ends it for a host of which the lane loses sight.
    private func putOffUntilRecovery(_ landing: PushLanding, after asked: Duration? = nil, _ reason: String) {
        guard !landing.host.isEmpty else {
            // There must be one to probe with.
            let wait = HostFailures.probeInterval * 2
            return putOff(landing, for: max(wait, min(asked ?? wait, RetryWait.maximum)), reason)
        }
        let wait = RetryWait.maximum * Double.random(in: 0.5...1)
        putOff(landing, for: wait, awaiting: landing.host, reason)
    }

    /// Returns the time of a target's next attempt; `nil` if its message ends before.
    private func dueAt(_ landing: PushLanding, after wait: Duration, asked: Duration?) -> Timestamp? {
        let now = wallTime
        // A wrong clock must not end a message.
        guard isClockSteady() else { return now + wait }
        return RetryWait.wait(wait, asked: asked, within: landing.lastChance - now, fraction: Double.random(in: 0...1))
            .map { now + $0 }
    }

    /// Makes a target available again that did not cause the failure; a retry is still in the store.
    private func giveBack(_ landing: PushLanding) {
        unwritten.hasReturned = true
        if !landing.isRetry { giveBack([landing.ordinal], of: landing.key) }
    }

    // MARK: - The credential and the service

    /// Treats the credential as refused for all targets, unless others were served since its last refusal for this
    /// target.
    private func noteRefusal(_ landing: PushLanding, _ reason: String) {
        guard !endsRefusedAlone(landing, goodAnswers, "the credential", reason) else { return }
        refuseCredential(reason)
        giveBack(landing)
    }

    /// Ends a target that is refused again although others were served meanwhile.
    ///
    /// `answers` is the number of good answers so far, by which the next refusal of the target is judged.
    private func endsRefusedAlone(_ landing: PushLanding, _ answers: Int, _ refused: String, _ reason: String) -> Bool {
        let target = landing.targetKey
        if let former = refusedFor[target], former < answers {
            refusedFor[target] = nil
            endProbe(landing, at: wallTime)
            unwritten.fail(landing, .wrongToken, "\(refused) is refused for this device alone: \(reason)")
            return true
        }
        if refusedFor.count >= Self.maximumRefused { refusedFor = [:] }
        refusedFor[target] = answers
        return false
    }

    private func refuseCredential(_ reason: String) {
        hub.push.note(platform) { $0.refusal = reason }
        guard circuit.refuse(reason, at: wallTime) else { return }
        hub.logger.error(
            "a push service refuses the hub's credential; messages wait until it is accepted again or replaced",
            metadata: ["hub.name": "\(hub.record.name)", "push.platform": "\(platform)", "error.reason": "\(reason)"]
        )
    }

    /// Treats the sender as refused by a host for all of its targets, unless others were served since the host's last
    /// refusal for this target.
    private func noteHostRefusal(_ landing: PushLanding, _ reason: String) {
        let now = wallTime
        guard !endsRefusedAlone(landing, hostRefusals.answers(landing.host), "the sender", reason) else { return }
        if hostRefusals.refuse(landing.host, reason, at: now) {
            hub.logger.error(
                "a push service refuses the hub's key or contact; messages for it wait, others are sent",
                metadata: [
                    "hub.name": "\(hub.record.name)", "push.platform": "\(platform)", "error.reason": "\(reason)",
                ]
            )
        }
        if case .nothing = hostRefusals.allowance(landing.host, at: now) {
            hub.push.note(platform) { $0.hostRefusals = hostRefusals.reasons }
            putOffUntilRecovery(landing, reason)
        } else {
            putOff(landing, for: HostRefusals.shortWait * Double.random(in: 0.5...1), reason)
        }
    }

    private func noteWorking(_ landing: PushLanding) {
        hostFailures.noteSuccess(landing.host, begunAt: landing.startedAt)
        if !landing.host.isEmpty, hostRefusals.accept(landing.host) {
            hub.push.note(platform) { $0.hostRefusals = hostRefusals.reasons }
            hub.logger.notice(
                "a push service accepts the hub's key and contact again",
                metadata: ["hub.name": "\(hub.record.name)", "push.platform": "\(platform)"]
            )
        }
        if landing.isHostProbe { noteRecovery() }
        goodAnswers += 1
        guard circuit.accept() else { return }
        hub.push.note(platform) { $0.refusal = nil }
        hub.logger.notice(
            "a push service accepts the hub's credential again",
            metadata: ["hub.name": "\(hub.record.name)", "push.platform": "\(platform)"]
        )
        noteRecovery()
    }

    private func noteRecovery() {
        hasRecovered = true
        wakeUp.signal()
    }

    private func pause(for wait: Duration, _ reason: String?) {
        let now = wallTime
        // Each message in flight gets the same answer.
        let isNews = !isPaused(at: now)
        pausedUntil = max(pausedUntil, now + wait)
        askedPauseUntil = pausedUntil
        guard let reason, isNews else { return }
        hub.logger.info(
            "a push service limits the rate of messages: the hub waits",
            metadata: [
                "hub.name": "\(hub.record.name)", "push.platform": "\(platform)", "error.reason": "\(reason)",
            ]
        )
    }
}
