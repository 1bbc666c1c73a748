import HubProtocol
import HubRouting
import HubStore
import PushServices

// MARK: - Choosing the next targets

extension DeliveryLane {
    /// Sends everything that can be sent now.
    ///
    /// - Returns: Time until there is something to do; `nil` if there is more to do now.
    func step() async throws -> Duration? {
        let now = wallTime
        guard holdsLease else { return term == nil ? Self.longestRest : Self.leaseInterval }
        // A wrong clock would let messages expire.
        let hasMore = isClockSteady() ? try await endExpired(at: now) : false
        guard let rest = try await sendAll(at: now), !hasMore else { return nil }
        guard let next = expiries.next else { return rest }
        return min(rest, max(next - now, .seconds(1)))
    }

    /// - Returns: Time until there is something to send; `nil` if there is more to send now.
    private func sendAll(at now: Timestamp) async throws -> Duration? {
        guard service != nil, !hub.isDisabled else { return Self.longestRest }
        try await openCourses()
        guard !isPaused(at: now) else { return pausedUntil - now }
        let allowance = allowance(at: now)
        if case .nothing(let until) = allowance { return max(until - now, .seconds(1)) }
        let isProbe = allowance == .oneProbe
        if try await sendSome(at: now, isProbe: isProbe) { return isProbe ? .seconds(1) : nil }
        let retry = try await hub.store.nextRetry(hub: hub.record.id, platform: platform, after: now)
        let rests = [retry, nextHostProbe(at: now)].compactMap { $0.map { max($0 - now, .milliseconds(20)) } }
        return rests.min() ?? Self.longestRest
    }

    /// The targets that may be sent now, as far as the credential and a service with hosts of its own decide.
    func allowance(at now: Timestamp) -> Allowance {
        circuit.allowance(at: now).and(hostFailures.allowance("", at: now))
    }

    /// The targets of a host in handles that may be sent now.
    func allowance(of host: String, at now: Timestamp) -> Allowance {
        hostRefusals.allowance(host, at: now).and(hostFailures.allowance(host, at: now))
    }

    /// The time of the next probe of a paused host with targets that wait for it.
    private func nextHostProbe(at now: Timestamp) -> Timestamp? {
        awaitedHosts.union(slowHosts.names).compactMap { host in
            // A probe that is in flight was due before now.
            if case .nothing(let until) = allowance(of: host, at: now) { max(until, now + .seconds(1)) } else { nil }
        }.min()
    }

    /// True if targets wait in memory that can be sent now.
    func hasSendableWaiting(at now: Timestamp) -> Bool { slowHosts.names.contains { room(for: $0, at: now) > 0 } }

    /// Returns the number of targets that can be sent to a host now.
    private func room(for host: String, at now: Timestamp) -> Int {
        switch allowance(of: host, at: now) {
        case .everything: slots.room(for: host, limit: limit)
        case .oneProbe: min(1, slots.room(for: host, limit: limit))
        case .nothing: 0
        }
    }

    /// Sends retries that are due or whose hosts have room, and a chunk of each message.
    ///
    /// A probe is a single target, a different one each time: one unusual target must not decide for all.
    ///
    /// - Returns: False if there was nothing to send.
    private func sendSome(at now: Timestamp, isProbe: Bool) async throws -> Bool {
        giveBackWaiting(at: now)
        let limit = isProbe ? 1 : Self.chunk
        let due = try await dueRetries(at: now, isProbe: isProbe)
        var count = 0
        for (key, retries) in Dictionary(grouping: due, by: \.key).sorted(by: { $0.key.sequence < $1.key.sequence }) {
            guard let course = try await course(of: key), !isExpired(course.rendering, at: now) else { continue }
            let attempts = Dictionary(retries.map { ($0.ordinal, $0.attempts) }) { $1 }
            count += try await send(key, retries.map(\.ordinal).sorted(), attempts)
        }
        var turns = 0
        for key in reading where count == 0 || !isProbe {
            guard let course = courses[key], !isExpired(course.rendering, at: now) else { continue }
            let ordinals = try await nextTargets(of: key, limit: limit)
            guard !ordinals.isEmpty else { continue }
            count += ordinals.count
            do {
                _ = try await send(key, ordinals, [:])
            } catch {
                giveBack(ordinals, of: key)
                throw error
            }
            turns += 1
            reading.removeAll { $0 == key }
            reading.append(key)
            // A message that has come in the meantime does not wait for the turns of all others.
            if hasFreshNews, turns >= 2 { break }
        }
        return count > 0
    }

    /// Chooses retries that are due, and those that wait for hosts which have room again; only one for a probe.
    private func dueRetries(at now: Timestamp, isProbe: Bool) async throws -> [DeliveryRetry] {
        // Targets whose outcomes are recorded during the read leave `pending`, but the read can still show them as due.
        let sent = pending
        var due = try await hub.store.dueRetries(
            hub: hub.record.id,
            platform: platform,
            at: now,
            latest: now + Self.longestRetry,
            limit: Self.chunk + sent.count
        ).filter { !sent.contains(TargetKey($0)) }
        due = Array(due.prefix(Self.chunk))
        due += try await awaitedRetries(at: now, besides: sent.union(due.map(TargetKey.init)))
        return isProbe ? due.randomElement().map { [$0] } ?? [] : due
    }

    /// Returns targets that wait in the store for hosts which have room now, at most ``chunk``.
    private func awaitedRetries(at now: Timestamp, besides others: Set<TargetKey>) async throws -> [DeliveryRetry] {
        let (hub, platform) = (hub.record.id, platform)
        let store = self.hub.store
        if !hasReadAwaitedHosts {
            awaitedHosts.formUnion(
                try await store.awaitedHosts(hub: hub, platform: platform, limit: HostFailures.maximumHosts)
            )
            hasReadAwaitedHosts = true
        }
        var found: [DeliveryRetry] = []
        // In any order: the first ones would otherwise be served before all others each time.
        for host in awaitedHosts.shuffled() where found.count < Self.chunk {
            let room = min(room(for: host, at: now), Self.chunk - found.count)
            guard room > 0 else { continue }
            // Before the read, during which another target may be stored.
            awaitedHosts.remove(host)
            var isFinished = false
            defer { if !isFinished { awaitedHosts.insert(host) } }
            let limit = room + others.count
            let retries = try await store.retries(awaiting: host, hub: hub, platform: platform, limit: limit)
            isFinished = retries.isEmpty
            if isFinished, hostRefusals.isPaused(host) {
                // Targets in memory, or of a message that is being read, can still probe it.
                isFinished = reading.isEmpty && !slowHosts.names.contains(host)
            }
            if isFinished, hostRefusals.forget(host) {
                self.hub.push.note(platform) { $0.hostRefusals = hostRefusals.reasons }
            }
            found += retries.lazy.filter { !others.contains(TargetKey($0)) }.prefix(room)
        }
        return found
    }

    func isExpired(_ rendering: PushRendering, at now: Timestamp) -> Bool {
        now >= rendering.acceptedAt + hub.configuration.timeToLive
    }

    /// Makes targets available again.
    func giveBack(_ ordinals: [Ordinal], of key: DeliveryKey) {
        guard courses[key] != nil else { return }
        courses[key]?.returned += ordinals
        if !reading.contains(key) { reading.append(key) }
    }

    /// Makes targets available again whose slow or paused hosts have room now.
    private func giveBackWaiting(at now: Timestamp) {
        for host in slowHosts.names {
            for target in slowHosts.take(host, atMost: room(for: host, at: now)) {
                giveBack([target.ordinal], of: target.key)
            }
        }
    }

    // MARK: - Courses

    /// Reads messages that have targets left.
    func openDeliveries(
        after sequence: LogSequence = .start,
        limit: Int = DeliveryLane.maximumReading,
        isNewestFirst: Bool = false
    ) async throws -> [Delivery] {
        try await hub.store.openDeliveries(
            hub: hub.record.id,
            platform: platform,
            after: sequence,
            limit: limit,
            isNewestFirst: isNewestFirst
        )
    }

    /// Opens the next messages that have targets left, up to ``maximumReading``, and a few of the newest.
    private func openCourses() async throws {
        reading.removeAll { courses[$0]?.isReading != true }
        let idle = courses.filter { key, course in
            !course.isReading && course.outstanding == 0 && !slowHosts.hasTargets(of: key)
        }.map(\.key)
        if idle.count > Self.maximumIdle { for key in idle { courses[key] = nil } }
        while hasNews, reading.count < Self.maximumReading {
            hasNews = false
            do {
                if try await openNext(atMost: Self.maximumReading - reading.count) { hasNews = true }
            } catch {
                // Otherwise these messages would wait until another one comes.
                hasNews = true
                throw error
            }
        }
        forgetFreshNews(ifAllAreOpened: true)
        if hasFreshNews { try await openNewest() }
    }

    /// Opens the next messages in the order in which they came.
    ///
    /// - Returns: True if there may be more.
    private func openNext(atMost limit: Int) async throws -> Bool {
        let page = try await openDeliveries(after: openedThrough, limit: limit)
        var opened: [DeliveryKey] = []
        defer { reading.insert(contentsOf: opened.filter { !reading.contains($0) }, at: 0) }
        for delivery in page {
            if try await open(delivery) { opened.append(delivery.key) }
            openedThrough = delivery.key.sequence
        }
        return page.count == limit
    }

    /// Opens the newest messages although as many as possible are being read: the wait for long ones would be long.
    private func openNewest() async throws {
        let room = Self.maximumReading + Self.maximumNewest - reading.count
        guard room > 0 else { return }
        let page = try await openDeliveries(after: openedThrough, limit: room, isNewestFirst: true)
        for delivery in page where courses[delivery.key]?.isOpened != true {
            if try await open(delivery), !reading.contains(delivery.key) { reading.insert(delivery.key, at: 0) }
        }
        forgetFreshNews()
    }

    /// Opens a message, unless that was done before its turn.
    ///
    /// - Returns: True if its targets are to be read now.
    private func open(_ delivery: Delivery) async throws -> Bool {
        if let known = courses[delivery.key] {
            guard !known.isOpened else { return false }
            // A retry has opened it already.
            courses[delivery.key]?.hasReadAll = false
        } else {
            courses[delivery.key] = try await course(of: delivery)
        }
        courses[delivery.key]?.isOpened = true
        return courses[delivery.key] != nil
    }

    /// Returns the course of a message with retries that are due; `nil` if its delivery has ended.
    private func course(of key: DeliveryKey) async throws -> Course? {
        if let course = courses[key] { return course }
        guard let delivery = try await hub.store.openDelivery(key), var course = try await course(of: delivery) else {
            return nil
        }
        course.hasReadAll = true
        courses[key] = course
        return course
    }

    /// Returns the course of a message; `nil` if it cannot be sent to any target.
    private func course(of delivery: Delivery) async throws -> Course? {
        guard let accepted = try await hub.store.acceptedMessage(sequence: delivery.key.sequence) else {
            try await end(delivery.key, as: .abandoned)
            return nil
        }
        if let audience, let former = delivery.audience, !PlatformCredential.isSameAudience(audience, former) {
            try await end(delivery.key, as: .wrongToken)
            return nil
        }
        guard var rendering = try? PushRendering(accepted) else {
            try await end(delivery.key, as: .invalidNotificationFormat)
            return nil
        }
        noteExpiry(of: delivery.key, &rendering)
        return Course(delivery: delivery, rendering: rendering)
    }

    /// Takes targets that were given back, then targets that have not been read yet.
    private func nextTargets(of key: DeliveryKey, limit: Int) async throws -> [Ordinal] {
        while let course = courses[key], course.returned.count < limit, !course.hasReadAll {
            let next = course.rest.ordinals(above: course.position, limit: limit - course.returned.count)
            if let last = next.last {
                courses[key]?.position = last
                courses[key]?.returned += next
                break
            }
            // Set single members only: answers may have given targets back in the meantime.
            guard let block = try await hub.store.untried(of: key, afterBlock: course.block) else {
                courses[key]?.hasReadAll = true
                courses[key]?.rest = OrdinalSet()
                courses[key]?.rendering.forget()
                break
            }
            courses[key]?.block = block.block
            courses[key]?.rest = block.targets
            courses[key]?.position = Ordinal(rawValue: block.block << 16 - 1)
        }
        guard let returned = courses[key]?.returned else { return [] }
        let some = Array(returned.prefix(limit))
        courses[key]?.returned.removeFirst(some.count)
        return some
    }
}
