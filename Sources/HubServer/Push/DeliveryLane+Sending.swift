import HubProtocol
import HubRouting
import HubStore
import PushServices

// MARK: - Sending

extension DeliveryLane {
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
        let readAt = hub.configuration.monotonic()
        let (prepared, refused) = try await render(key, ordinals, attempts)
        guard !prepared.isEmpty || !refused.isEmpty else { return 0 }
        try await confirmLease()
        for (ordinal, refusal) in refused { await refuse(TargetKey(key: key, ordinal: ordinal), refusal) }
        let count = await start(prepared, readAt: readAt)
        handOver()
        return refused.count + count
    }

    /// Starts an attempt for each prepared target when there is a slot for it, or puts the target off.
    ///
    /// Attempts are collected in ``outbox``, which is handed over before each wait.
    ///
    /// - Parameters:
    ///   - targets: The targets.
    ///   - readAt: The time before their registrations were read.
    /// - Returns: Number of targets that were started or put off.
    private func start(_ targets: [PreparedTarget], readAt: Duration) async -> Int {
        var hasWaited = false
        let deadline = ContinuousClock.now + Self.patience
        for (place, target) in targets.enumerated() {
            let host = target.host
            let askedAt = wallTime
            if let pause = pause(of: host, at: askedAt) {
                await putOff(target, pause)
                continue
            }
            let isSlow = slowHosts.isSlow(host, at: askedAt)
            let turn = await slot(
                limit: limit,
                for: host,
                waitingUntil: host.isEmpty ? nil : isSlow ? .now : deadline,
                hasWaited: &hasWaited
            )
            guard turn != .closed else { return place }
            if outcomeBuffer.hasUrgent {
                // The answer that has freed this slot may ask for a pause.
                handOver()
                await flush()
            }
            let now = wallTime
            // While they waited for slots, registrations may have changed hands: they are read again. Without a wait another
            // read, which may be slow, would gain nothing.
            let isStale = turn == .taken && hasWaited && hub.configuration.monotonic() - readAt > Self.freshness
            let pause = pause(of: host, at: now)
            if turn == .taken, isStale || pause != nil || !mayGoOn(at: now) {
                slots.land(host)
                slots.write(1)
            }
            guard mayGoOn(at: now), !isStale else {
                if target.attempts == nil { giveBack(targets[place...].map(\.key.ordinal), of: target.key.key) }
                // The slot is free, so the next step sends at least one of them.
                return isStale ? place + 1 : place
            }
            if let pause {
                await putOff(target, pause)
            } else if turn == .taken {
                start(target, at: now)
            } else {
                if !isSlow { slowHosts.note(host, at: now) }
                let wait = SlowHosts.longestPause * Double.random(in: 0.5...1)
                await putOff(
                    target,
                    .waits(until: now + wait, "its host answers slowly and has many messages waiting")
                )
            }
        }
        return targets.count
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

    /// Takes a slot, waiting until one is free; `hasWaited` is then set.
    ///
    /// A service that has not proven itself allows few requests, perhaps one. If they have no answer after a while,
    /// another one is sent: a lost first request must not hold up everything else.
    private func slot(
        limit: Int,
        for host: String,
        waitingUntil deadline: ContinuousClock.Instant? = nil,
        hasWaited: inout Bool
    ) async -> PushSlots.Turn {
        if let turn = slots.takeNow(limit: limit, for: host, waitingUntil: deadline) { return turn }
        hasWaited = true
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
    private func putOff(_ target: PreparedTarget, _ deferral: PushLanding.Deferral) async {
        let isLong = if case .waits(let end, _) = deferral { end > wallTime + SlowHosts.longestPause } else { false }
        if target.attempts == nil, !isLong, slowHosts.add(target.key, target.host) { return }
        var hasWaited = false
        let turn = await slot(limit: PushSlots.unlimited, for: target.host, hasWaited: &hasWaited)
        guard turn == .taken else { return }
        begin(target.key)
        land(landing(of: target, at: wallTime), .deferred(deferral))
    }

    private func refuse(_ target: TargetKey, _ refusal: PushRefusal) async {
        guard await slots.take(limit: PushSlots.unlimited) == .taken else { return }
        begin(target)
        land(PushLanding(targetKey: target), .refused(refusal))
    }

    private func begin(_ target: TargetKey) {
        pending.insert(target)
        courses[target.key]?.outstanding += 1
    }

    private func landing(of target: PreparedTarget, at now: Timestamp) -> PushLanding {
        PushLanding(
            targetKey: target.key,
            target: target,
            attempt: (target.attempts ?? 0) + 1,
            startedAt: now,
            isProbe: circuit.reason != nil,
            isHostProbe: allowance(of: target.host, at: now) == .oneProbe
        )
    }

    /// Collects a target to which a message is sent.
    private func start(_ target: PreparedTarget, at now: Timestamp) {
        begin(target.key)
        let landing = landing(of: target, at: now)
        guard !target.isTooLate(at: now) else {
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
        outbox.append((target, landing))
    }

    /// Hands the collected targets of each message to the service, which reports their outcomes several at a time.
    private func handOver() {
        let batches = Dictionary(grouping: outbox) { ObjectIdentifier($0.target.push) }.values
        outbox = []
        for batch in batches {
            batch[0].target.push.send(to: batch.map(\.target.pushTarget)) { outcomes in
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
