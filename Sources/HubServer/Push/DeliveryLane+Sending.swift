import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices

// MARK: - Sending

extension DeliveryLane {
    private struct Candidate {
        let ordinal: Ordinal
        let channel: PushChannel
        /// The host in the channel; empty if it names none.
        let host: String
        /// Name of the target in the id of the attempt.
        let name: String
        let push: ReadyPush

        init(_ ordinal: Ordinal, _ channel: PushChannel, name: String, _ push: ReadyPush) {
            self.ordinal = ordinal
            self.channel = channel
            host = channel.host
            self.name = name
            self.push = push
        }
    }

    /// Number of targets of one host that may be in flight now.
    var limit: Int { circuit.reason == nil ? service?.concurrency ?? 1 : 1 }

    /// True unless the service is paused, the credential refused, the hub disabled, or this node without duties.
    private func mayGoOn(at now: Timestamp) -> Bool {
        guard !isPaused(at: now), !Task.isCancelled, !hub.isDisabled, holdsLease else { return false }
        return switch allowance(at: now) {
        case .everything, .oneProbe: true
        case .nothing: false
        }
    }

    /// Sends a message to some targets; `attempts` has the attempts so far of those that are retries.
    ///
    /// - Returns: Number of targets that were sent, were put off, or have a final outcome.
    func send(_ key: DeliveryKey, _ ordinals: [Ordinal], _ attempts: [Ordinal: Int]) async throws -> Int {
        guard let service, var course = courses[key] else { return 0 }
        var candidates: [Candidate] = []
        var refused: [(Ordinal, PushRefusal)] = []
        if course.delivery.isDirect {
            for ordinal in ordinals {
                guard course.rendering.handles.indices.contains(Int(ordinal.rawValue)) else { continue }
                let channel = course.rendering.handles[Int(ordinal.rawValue)]
                do {
                    let push = try course.rendering.push(on: platform, by: service).push
                    candidates.append(Candidate(ordinal, channel, name: channel.handle, push))
                } catch {
                    refused.append((ordinal, error))
                }
            }
        } else {
            let now = wallTime
            let found = try await hub.store.pushTargets(ordinals, earlier: Self.maximumOfHandle)
            let there = Set(found.map(\.stored.ordinal))
            for ordinal in ordinals where !there.contains(ordinal) {
                refused.append((ordinal, PushRefusal(outcome: .skipped, reason: "the registration no longer exists")))
            }
            for (stored, earlier) in found {
                do {
                    candidates.append(try candidate(stored, earlier, &course.rendering, service, at: now))
                } catch {
                    refused.append((stored.ordinal, error))
                }
            }
        }
        try await confirmLease()
        courses[key]?.rendering = course.rendering
        for (ordinal, refusal) in refused { await refuse(ordinal, of: key, refusal) }
        return refused.count + (await send(candidates, of: key, attempts, course.rendering))
    }

    /// Sends a message to prepared targets, each when there is a slot for it, or puts them off.
    ///
    /// - Returns: Number of targets that were sent or put off.
    private func send(
        _ candidates: [Candidate],
        of key: DeliveryKey,
        _ attempts: [Ordinal: Int],
        _ rendering: PushRendering
    ) async -> Int {
        let count = await prepare(candidates, of: key, attempts, rendering)
        handOver()
        return count
    }

    /// Collects targets in ``outbox``, which is handed over before each wait.
    ///
    /// - Returns: Number of targets that were collected, sent or put off.
    private func prepare(
        _ candidates: [Candidate],
        of key: DeliveryKey,
        _ attempts: [Ordinal: Int],
        _ rendering: PushRendering
    ) async -> Int {
        let readAt = hub.configuration.monotonic()
        let deadline = ContinuousClock.now + Self.patience
        for (place, candidate) in candidates.enumerated() {
            let host = candidate.host
            let askedAt = wallTime
            if let pause = pause(of: host, at: askedAt) {
                await putOff(candidate, of: key, attempts[candidate.ordinal], rendering, pause)
                continue
            }
            let isSlow = slowHosts.isSlow(host, at: askedAt)
            let turn = await slot(
                limit: limit,
                for: host,
                waitingUntil: host.isEmpty ? nil : isSlow ? .now : deadline
            )
            guard turn != .closed else { return place }
            let now = wallTime
            // While they waited for slots, registrations may have changed hands: they are read again.
            let isStale = turn == .taken && hub.configuration.monotonic() - readAt > Self.freshness
            let pause = pause(of: host, at: now)
            if turn == .taken, isStale || pause != nil || !mayGoOn(at: now) {
                slots.land(host)
                slots.write(1)
            }
            guard mayGoOn(at: now), !isStale else {
                if attempts.isEmpty { giveBack(candidates[place...].map(\.ordinal), of: key) }
                // The slot is free, so the next step sends at least one of them.
                return isStale ? place + 1 : place
            }
            if let pause {
                await putOff(candidate, of: key, attempts[candidate.ordinal], rendering, pause)
            } else if turn == .taken {
                start(candidate, of: key, attempts[candidate.ordinal], rendering, at: now)
            } else {
                if !isSlow { slowHosts.note(host, at: now) }
                let wait = SlowHosts.longestPause * Double.random(in: 0.5...1)
                let slow = "its host answers slowly and has many messages waiting"
                await putOff(
                    candidate,
                    of: key,
                    attempts[candidate.ordinal],
                    rendering,
                    .waits(until: now + wait, slow)
                )
            }
        }
        return candidates.count
    }

    /// Returns `nil` unless a host is paused; a service with hosts of its own pauses as a whole.
    private func pause(of host: String, at now: Timestamp) -> PushLanding.Deferral? {
        guard !host.isEmpty, case .nothing = allowance(of: host, at: now) else { return nil }
        if case .nothing = hostRefusals.allowance(host, at: now) {
            return .paused("its host refuses the hub's key or contact and is paused")
        }
        if let end = hostFailures.askedPause(host, at: now) { return .waits(until: end, "its host asked for a pause") }
        return .paused("its host keeps failing and is paused")
    }

    /// Takes a slot, waiting until one is free.
    ///
    /// A service that has not proven itself allows few requests, perhaps one. If they have no answer after a while,
    /// another one is sent: a lost first request must not hold up everything else.
    private func slot(
        limit: Int,
        for host: String,
        waitingUntil deadline: ContinuousClock.Instant? = nil
    ) async -> PushSlots.Turn {
        if let turn = slots.takeNow(limit: limit, for: host, waitingUntil: deadline) { return turn }
        // Their slots may be those that become free.
        handOver()
        guard deadline == nil, limit < PushSlots.unlimited else {
            return await slots.take(limit: limit, for: host, waitingUntil: deadline)
        }
        var allowed = limit
        while true {
            let turn = await slots.take(limit: allowed, for: host, waitingUntil: .now + Self.firstAnswer)
            guard turn == .hostIsFull else { return turn }
            // The service may have proven itself in the meantime.
            let current = self.limit
            let isUnproven = current < Self.maximumUnproven && circuit.reason == nil
            allowed = isUnproven ? min(max(allowed, slots.inFlight) + 1, Self.maximumUnproven) : current
        }
    }

    /// Lets a target wait until its host has room or has recovered; a retry waits in the store, where it already is.
    ///
    /// A target that has to wait for long waits in the store, too: a restart would forget the wait.
    private func putOff(
        _ candidate: Candidate,
        of key: DeliveryKey,
        _ attempts: Int?,
        _ rendering: PushRendering,
        _ deferral: PushLanding.Deferral
    ) async {
        let target = TargetKey(key: key, ordinal: candidate.ordinal)
        let isLong = if case .waits(let end, _) = deferral { end > wallTime + SlowHosts.longestPause } else { false }
        if attempts == nil, !isLong, slowHosts.add(target, candidate.host) { return }
        guard await slot(limit: PushSlots.unlimited, for: candidate.host) == .taken else { return }
        begin(target)
        land(landing(candidate, of: key, attempts, rendering, at: wallTime), .deferred(deferral))
    }

    private func candidate(
        _ stored: StoredRegistration,
        _ earlier: [StoredRegistration],
        _ rendering: inout PushRendering,
        _ service: any PushService,
        at now: Timestamp
    ) throws(PushRefusal) -> Candidate {
        try rendering.check(stored, platform: platform, at: now)
        let registration = stored.registration
        let rendered = try rendering.push(for: registration, by: service)
        // Only registrations that get the message count.
        let others = earlier.filter { other in
            other.registration.pushChannel.isSameAddress(as: registration.pushChannel)
                && rendering.isTarget(other, platform: platform, at: now)
        }
        guard others.count < Self.maximumOfHandle else {
            throw PushRefusal(
                outcome: .skipped,
                reason: "\(Self.maximumOfHandle) earlier registrations have the same handle, which is the maximum"
            )
        }
        for other in others
        where (try? rendering.push(for: other.registration, by: service))?.isSame(as: rendered) == true {
            throw PushRefusal(outcome: .skipped, reason: "another registration with the same handle gets the same text")
        }
        return Candidate(stored.ordinal, registration.pushChannel, name: registration.id.text, rendered.push)
    }

    private func refuse(_ ordinal: Ordinal, of key: DeliveryKey, _ refusal: PushRefusal) async {
        guard await slots.take(limit: PushSlots.unlimited) == .taken else { return }
        begin(TargetKey(key: key, ordinal: ordinal))
        land(PushLanding(key: key, ordinal: ordinal), .refused(refusal))
    }

    private func begin(_ target: TargetKey) {
        pending.insert(target)
        courses[target.key]?.outstanding += 1
    }

    /// Returns the facts that every outcome of an attempt carries; `attempts` is the number of attempts before a retry.
    private func landing(
        _ candidate: Candidate,
        of key: DeliveryKey,
        _ attempts: Int?,
        _ rendering: PushRendering,
        at now: Timestamp
    ) -> PushLanding {
        PushLanding(
            key: key,
            ordinal: candidate.ordinal,
            attempt: (attempts ?? 0) + 1,
            isRetry: attempts != nil,
            channel: candidate.channel,
            host: candidate.host,
            collapseKey: candidate.push.collapseKey,
            startedAt: now,
            lastChance: end(of: candidate.push, rendering).last,
            isProbe: circuit.reason != nil,
            isHostProbe: allowance(of: candidate.host, at: now) == .oneProbe
        )
    }

    /// Returns the latest start of an attempt, and the time until which the service may keep the message.
    private func end(
        of push: ReadyPush,
        _ rendering: PushRendering
    ) -> (last: Timestamp, expiresAt: Timestamp?) {
        let end = rendering.acceptedAt + hub.configuration.timeToLive
        return switch push.lifetime {
        case .unspecified: (end, end)
        case .once: (rendering.acceptedAt + RetryWait.once, nil)
        case .until(let time): (min(end, time), min(end, time))
        }
    }

    /// Collects a target to which a message is sent; `attempts` is the number of attempts before a retry.
    private func start(
        _ candidate: Candidate,
        of key: DeliveryKey,
        _ attempts: Int?,
        _ rendering: PushRendering,
        at now: Timestamp
    ) {
        begin(TargetKey(key: key, ordinal: candidate.ordinal))
        let landing = landing(candidate, of: key, attempts, rendering, at: now)
        let isOnce = candidate.push.lifetime == .once
        let isTooLate =
            isOnce && landing.attempt == 1 ? now > rendering.acceptedAt + Self.latestOnce : now >= landing.lastChance
        if isTooLate {
            guard isClockSteady() else {
                pausedUntil = max(pausedUntil, now + Self.longestRest)
                return land(landing, .givenBack)
            }
            return land(landing, .refused(.expired))
        }
        if landing.isProbe { circuit.beginProbe() }
        if landing.isHostProbe {
            hostFailures.beginProbe(landing.host, at: now)
            hostRefusals.beginProbe(landing.host)
        }
        let target = PushTarget(
            channel: candidate.channel,
            id: UUID(of: rendering.messageID, to: candidate.name),
            expiresAt: end(of: candidate.push, rendering).expiresAt
        )
        outbox.append((candidate.push, target, landing))
    }

    /// Hands the collected targets of each message to the service, which reports their outcomes several at a time.
    private func handOver() {
        let batches = Dictionary(grouping: outbox) { ObjectIdentifier($0.push) }.values
        outbox = []
        for batch in batches {
            batch[0].push.send(to: batch.map(\.target)) { outcomes in
                self.land(outcomes.map { place, outcome in (batch[place].landing, .answered(outcome)) })
            }
        }
    }

    nonisolated private func land(_ landing: PushLanding, _ result: PushLanding.Result) {
        land([(landing, result)])
    }

    nonisolated private func land(_ landed: [OutcomeBuffer.Landed]) {
        outcomeBuffer.add(landed)
        slots.land(landed.lazy.map(\.landing.host))
    }
}
