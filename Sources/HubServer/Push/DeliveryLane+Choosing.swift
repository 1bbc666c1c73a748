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
        guard isOnDuty else { return term == nil ? Self.longestRest : Self.dutyInterval }
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
        switch circuit.allowance(at: now) {
        case .nothing(let until): return max(until - now, .seconds(1))
        case .oneProbe: return try await sendSome(at: now, isProbe: true) ? .seconds(1) : Self.longestRest
        case .everything: break
        }
        if try await sendSome(at: now, isProbe: false) { return nil }
        let next = try await hub.store.nextRetry(hub: hub.record.id, platform: platform, after: now)
        return next.map { max($0 - now, .milliseconds(20)) } ?? Self.longestRest
    }

    /// Sends retries that are due, and a chunk of each message.
    ///
    /// A probe is a single target, a different one each time: one unusual target must not decide for all.
    ///
    /// - Returns: False if there was nothing to send.
    private func sendSome(at now: Timestamp, isProbe: Bool) async throws -> Bool {
        giveBackWaiting()
        let limit = isProbe ? 1 : Self.chunk
        let window = Self.chunk + pending.count
        var due = try await hub.store.dueRetries(
            hub: hub.record.id,
            platform: platform,
            at: now,
            latest: now + Self.longestRetry,
            limit: window
        ).filter { !pending.contains(TargetKey(key: $0.key, ordinal: $0.ordinal)) }
        due = isProbe ? due.randomElement().map { [$0] } ?? [] : Array(due.prefix(limit))
        var count = 0
        for (key, retries) in Dictionary(grouping: due, by: \.key).sorted(by: { $0.key.sequence < $1.key.sequence }) {
            guard let course = try await course(of: key), !isExpired(course.rendering, at: now) else { continue }
            let attempts = Dictionary(retries.map { ($0.ordinal, $0.attempts) }) { $1 }
            count += try await send(key, retries.map(\.ordinal).sorted(), attempts)
        }
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
        }
        return count > 0
    }

    private func isExpired(_ rendering: PushRendering, at now: Timestamp) -> Bool {
        now >= rendering.acceptedAt + hub.configuration.timeToLive
    }

    /// Makes targets available again.
    func giveBack(_ ordinals: [Ordinal], of key: DeliveryKey) {
        guard courses[key] != nil else { return }
        courses[key]?.returned += ordinals
        if !reading.contains(key) { reading.append(key) }
    }

    /// Makes targets available again whose slow hosts have room now.
    private func giveBackWaiting() {
        for host in slowHosts.names {
            for target in slowHosts.take(host, atMost: slots.room(for: host, limit: limit)) {
                giveBack([target.ordinal], of: target.key)
            }
        }
    }

    // MARK: - Courses

    /// Opens the next messages that have targets left, up to ``maximumReading``.
    private func openCourses() async throws {
        reading.removeAll { courses[$0]?.isReading != true }
        let idle = courses.filter { key, course in
            !course.isReading && course.outstanding == 0 && !slowHosts.hasTargets(of: key)
        }.map(\.key)
        if idle.count > Self.maximumIdle { for key in idle { courses[key] = nil } }
        while hasNews, reading.count < Self.maximumReading {
            hasNews = false
            let limit = Self.maximumReading - reading.count
            let page = try await hub.store.openDeliveries(
                hub: hub.record.id,
                platform: platform,
                after: openedThrough,
                limit: limit
            )
            for delivery in page {
                if courses[delivery.key] != nil {
                    // A retry has opened it already.
                    courses[delivery.key]?.hasReadAll = false
                } else {
                    courses[delivery.key] = try await course(of: delivery)
                }
                if courses[delivery.key] != nil { reading.append(delivery.key) }
                openedThrough = delivery.key.sequence
            }
            if page.count == limit { hasNews = true }
        }
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
