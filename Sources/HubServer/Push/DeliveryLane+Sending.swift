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
        /// What the target is called in the id of the attempt.
        let name: String
        let push: any PreparedPush
    }

    /// True while nothing says that the service is to be left alone.
    private var mayGoOn: Bool {
        let now = hub.configuration.timestamp
        guard !isPaused(at: now), !Task.isCancelled, !hub.status.isDisabled else { return false }
        return switch circuit.allowance(at: now) {
        case .everything, .oneProbe: true
        case .nothing: false
        }
    }

    /// Sends a message to some targets; those of retries say how often they were tried.
    ///
    /// - Returns: Number of targets that were sent it or have a final outcome.
    func send(_ key: DeliveryKey, _ ordinals: [Ordinal], _ attempts: [Ordinal: Int]) async throws -> Int {
        guard let service, var course = courses[key] else { return 0 }
        var candidates: [Candidate] = []
        var refused: [(Ordinal, PushRefusal)] = []
        if course.delivery.isDirect {
            let platform = Platform(rawValue: platform)
            for ordinal in ordinals {
                guard course.rendering.handles.indices.contains(Int(ordinal.rawValue)) else { continue }
                let channel = course.rendering.handles[Int(ordinal.rawValue)]
                do {
                    let push = try course.rendering.push(on: platform, by: service).push
                    candidates.append(Candidate(ordinal: ordinal, channel: channel, name: channel.handle, push: push))
                } catch {
                    refused.append((ordinal, error))
                }
            }
        } else {
            let now = hub.configuration.timestamp
            let found = try await hub.store.pushTargets(ordinals, earlier: Self.maximumOfHandle)
            let there = Set(found.map(\.stored.ordinal))
            for ordinal in ordinals where !there.contains(ordinal) {
                refused.append((ordinal, PushRefusal(outcome: .skipped, reason: "the registration is gone")))
            }
            for (stored, earlier) in found {
                do {
                    candidates.append(try candidate(stored, earlier, &course.rendering, service, at: now))
                } catch {
                    refused.append((stored.ordinal, error))
                }
            }
        }
        courses[key]?.rendering = course.rendering
        for (ordinal, refusal) in refused { await refuse(ordinal, of: key, refusal) }
        for (place, candidate) in candidates.enumerated() {
            guard await slots.take(limit: circuit.reason == nil ? service.concurrency : 1) else {
                return refused.count + place
            }
            guard mayGoOn else {
                slots.land()
                slots.write(1)
                if attempts.isEmpty { giveBack(candidates[place...].map(\.ordinal), of: key) }
                return refused.count + place
            }
            start(candidate, of: key, attempts[candidate.ordinal], course.rendering)
        }
        return refused.count + candidates.count
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
        // Only those that are sent the message themselves count.
        let others = earlier.filter { other in
            other.registration.pushChannel.isSameAddress(as: registration.pushChannel)
                && rendering.isTarget(other, platform: platform, at: now)
        }
        guard others.count < Self.maximumOfHandle else {
            throw PushRefusal(
                outcome: .skipped,
                reason: "\(Self.maximumOfHandle) registrations of the handle come before it, which is the most"
            )
        }
        for other in others
        where (try? rendering.push(for: other.registration, by: service))?.isSame(as: rendered) == true {
            throw PushRefusal(outcome: .skipped, reason: "another registration of the handle is sent the same")
        }
        return Candidate(
            ordinal: stored.ordinal,
            channel: registration.pushChannel,
            name: registration.id.text,
            push: rendered.push
        )
    }

    private func refuse(_ ordinal: Ordinal, of key: DeliveryKey, _ refusal: PushRefusal) async {
        guard await slots.take(limit: .max) else { return }
        begin(TargetKey(key: key, ordinal: ordinal))
        land(PushLanding(key: key, ordinal: ordinal), .refused(refusal))
    }

    private func begin(_ target: TargetKey) {
        pending.insert(target)
        courses[target.key]?.outstanding += 1
    }

    /// Sends a message to a target; `attempts` says how often a retry was tried.
    private func start(_ candidate: Candidate, of key: DeliveryKey, _ attempts: Int?, _ rendering: PushRendering) {
        begin(TargetKey(key: key, ordinal: candidate.ordinal))
        let now = hub.configuration.timestamp
        let end = rendering.acceptedAt + hub.configuration.timeToLive
        let (last, expiresAt): (Timestamp, Timestamp?) =
            switch candidate.push.lifetime {
            case .unspecified: (end, end)
            case .once: (rendering.acceptedAt + RetryWait.once, nil)
            case .until(let time): (min(end, time), min(end, time))
            }
        let attempt = (attempts ?? 0) + 1
        var landing = PushLanding(
            key: key,
            ordinal: candidate.ordinal,
            attempt: attempt,
            isRetry: attempts != nil,
            channel: candidate.channel,
            collapseKey: candidate.push.collapseKey,
            startedAt: now,
            lastChance: last
        )
        let isOnce = candidate.push.lifetime == .once
        let isTooLate = isOnce && attempt == 1 ? now > rendering.acceptedAt + Self.latestOnce : now >= last
        if isTooLate {
            guard isClockSteady() else {
                pausedUntil = max(pausedUntil, now + Self.longestRest)
                return land(landing, .givenBack)
            }
            return land(landing, .refused(.expired))
        }
        if let until = troubles.pausedUntil(landing.host, at: now) {
            return land(landing, .deferred(until: until))
        }
        if circuit.reason != nil {
            landing.isProbe = true
            circuit.beginProbe()
        }
        let target = PushTarget(
            channel: candidate.channel,
            id: UUID(of: rendering.messageID, to: candidate.name),
            expiresAt: expiresAt
        )
        // Not on the lane, which has the next targets to look up.
        Task { @concurrent [push = candidate.push, landing] in
            self.land(landing, .answered(await push.send(to: target)))
        }
    }

    nonisolated private func land(_ landing: PushLanding, _ result: PushLanding.Result) {
        var landing = landing
        landing.result = result
        landings.add(landing)
        slots.land()
    }
}
