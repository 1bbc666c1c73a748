import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices

/// A target of a message, with the text as its service sends it.
///
/// A class, since it is passed on several times.
final class PreparedTarget: Sendable {
    let key: DeliveryLane.TargetKey
    /// Number of attempts so far; `nil` unless the target is stored as a retry.
    let attempts: Int?
    let push: ReadyPush
    let pushTarget: PushTarget
    /// The host in the channel; empty if it names none.
    let host: String
    /// Latest start of an attempt.
    ///
    /// The first attempt of a message that services do not store has a limit of its own, ``DeliveryLane/latestOnce``.
    let lastChance: Timestamp
    private let acceptedAt: Timestamp

    /// `name` identifies the target in the id of each attempt; `timeToLive` is that of the hub's messages.
    init(
        _ key: DeliveryLane.TargetKey,
        attempts: Int?,
        _ channel: PushChannel,
        name: String,
        _ push: ReadyPush,
        of rendering: PushRendering,
        timeToLive: Duration
    ) {
        (self.key, self.attempts, self.push) = (key, attempts, push)
        (host, acceptedAt) = (channel.host, rendering.acceptedAt)
        let end = rendering.acceptedAt + timeToLive
        let (last, expiresAt): (Timestamp, Timestamp?) =
            switch push.lifetime {
            case .unspecified: (end, end)
            case .once: (rendering.acceptedAt + RetryWait.once, nil)
            case .until(let time): (min(end, time), min(end, time))
            }
        lastChance = last
        pushTarget = PushTarget(channel: channel, id: UUID(of: rendering.messageID, to: name), expiresAt: expiresAt)
    }

    /// True if it is too late to start the next attempt.
    func isTooLate(at now: Timestamp) -> Bool {
        push.lifetime == .once && (attempts ?? 0) == 0
            ? now > acceptedAt + DeliveryLane.latestOnce : now >= lastChance
    }
}

// MARK: - Rendering

extension DeliveryLane {
    private typealias Rendered = (channel: PushChannel, name: String, push: ReadyPush)

    /// Reads targets as they are now, and renders a message for them; `attempts` has the number of
    /// earlier attempts of each retry.
    ///
    /// - Returns: The targets that get the message, and the reasons why the others do not.
    func render(
        _ key: DeliveryKey,
        _ ordinals: [Ordinal],
        _ attempts: [Ordinal: Int]
    ) async throws -> (prepared: [PreparedTarget], refused: [(Ordinal, PushRefusal)]) {
        guard let service, var rendering = courses[key]?.rendering else { return ([], []) }
        var prepared: [PreparedTarget] = []
        var refused: [(Ordinal, PushRefusal)] = []
        func add(_ ordinal: Ordinal, _ render: () throws(PushRefusal) -> Rendered) {
            do {
                let (channel, name, push) = try render()
                prepared.append(
                    PreparedTarget(
                        TargetKey(key: key, ordinal: ordinal),
                        attempts: attempts[ordinal],
                        channel,
                        name: name,
                        push,
                        of: rendering,
                        timeToLive: hub.configuration.timeToLive
                    )
                )
            } catch {
                refused.append((ordinal, error))
            }
        }
        if courses[key]?.delivery.isDirect == true {
            for ordinal in ordinals where rendering.handles.indices.contains(Int(ordinal.rawValue)) {
                let channel = rendering.handles[Int(ordinal.rawValue)]
                add(ordinal) { () throws(PushRefusal) in
                    (channel, channel.handle, try rendering.push(on: platform, by: service).push)
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
                add(stored.ordinal) { () throws(PushRefusal) in
                    try rendered(stored, earlier, &rendering, service, at: now)
                }
            }
        }
        courses[key]?.rendering = rendering
        return (prepared, refused)
    }

    private func rendered(
        _ stored: StoredRegistration,
        _ earlier: [StoredRegistration],
        _ rendering: inout PushRendering,
        _ service: any PushService,
        at now: Timestamp
    ) throws(PushRefusal) -> Rendered {
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
        return (registration.pushChannel, registration.id.text, rendered.push)
    }
}
