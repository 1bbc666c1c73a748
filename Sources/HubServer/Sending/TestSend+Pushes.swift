import Foundation
import HubProtocol
import HubRouting
import HubStore
import Logging
import PushServices

// MARK: - Push services

extension TestSend {
    /// Time that push services have to answer, for all targets together.
    private static let patience = Duration.seconds(10)

    /// A target of a push service.
    struct Push: Sendable {
        let platform: Platform
        let handle: String
        let id: RegistrationID?
        /// Its ordinal in a delivery; `nil` for a target that cannot be part of one.
        let ordinal: Ordinal?
        /// The message to send, or the reason why nothing is sent.
        let request: Result<(push: ReadyPush, target: PushTarget), PushRefusal>

        func judged(_ verdict: Verdict) -> Judged {
            (verdict.outcome == .success, TestSend.result(platform, handle, id, verdict.sentence))
        }
    }

    /// Outcome of the send for one target.
    struct Verdict: Sendable {
        let outcome: OutcomeName
        /// One line, for people; empty for a success.
        var reason = ""
        /// Outcome in the answer to the sender.
        let sentence: String

        static let unknown = Verdict(
            outcome: .unknownError,
            sentence: "This send was made before and is not repeated; its outcome is not known."
        )
    }

    /// Returns the targets, each with its message.
    func pushes() async throws -> [Push] {
        guard !targets.registrations.isEmpty || !targets.handles.isEmpty else { return [] }
        var rendering = try PushRendering(message)
        var all: [Push] = []
        for id in targets.registrations {
            guard let stored = try await hub.store.registration(hub: hub.record.id, id: id) else {
                let refusal = PushRefusal(outcome: .skipped, reason: "the registration no longer exists")
                all.append(
                    Push(platform: Platform(rawValue: ""), handle: "", id: id, ordinal: nil, request: .failure(refusal))
                )
                continue
            }
            let registration = stored.registration
            all.append(
                push(registration.pushChannel, registration.platform, id, stored.ordinal, name: id.text) {
                    service throws(PushRefusal) in try rendering.push(for: registration, by: service)
                }
            )
        }
        guard let platform = message.logged.record.format.platform else { return all }
        var seen: Set<String> = []
        for (place, channel) in targets.handles.enumerated() {
            let isNew = seen.insert(channel.address).inserted
            let ordinal = isNew ? Ordinal(rawValue: Int64(place)) : nil
            all.append(
                push(channel, platform, nil, ordinal, name: channel.handle) { service throws(PushRefusal) in
                    guard isNew else {
                        throw PushRefusal(outcome: .skipped, reason: "the handle appears twice in the request")
                    }
                    return try rendering.push(on: platform, by: service)
                }
            )
        }
        return all
    }

    private func push(
        _ channel: PushChannel,
        _ platform: Platform,
        _ id: RegistrationID?,
        _ ordinal: Ordinal?,
        name: String,
        _ render: (any PushService) throws(PushRefusal) -> RenderedPush
    ) -> Push {
        let request = Result { () throws(PushRefusal) in
            guard let service = hub.push[platform] else {
                let reason = "the hub has no usable credential for platform '\(platform)'"
                throw PushRefusal(outcome: .abandoned, reason: reason)
            }
            let push = try render(service).push
            let target = PushTarget(
                channel: channel,
                id: UUID(of: messageID, to: name),
                expiresAt: push.lifetime == .once ? nil : lookup.expiry(of: message)
            )
            return (push: push, target: target)
        }
        return Push(platform: platform, handle: channel.handle, id: id, ordinal: ordinal, request: request)
    }

    /// Makes one attempt for each target, all at the same time.
    func attempt(_ pushes: [Push]) async -> [Verdict] {
        var attempts: [Int: @Sendable () async -> PushOutcome] = [:]
        for (place, push) in pushes.enumerated() {
            guard case .success(let request) = push.request else { continue }
            attempts[place] = { await request.push.send(to: request.target) }
        }
        let outcomes = await attempts.outcomes(within: Self.patience)
        return pushes.enumerated().map { place, push in
            if case .failure(let refusal) = push.request { return Verdict(refusal) }
            return outcomes[place].map(Verdict.init) ?? .unanswered(within: Self.patience)
        }
    }

    // MARK: - Outcomes

    /// Records the outcomes as deliveries that have ended, and the answer to the sender.
    func note(_ pushes: [Push], _ verdicts: [Verdict], answer: String?) async {
        var progress: [DeliveryKey: DeliveryProgress] = [:]
        for (push, verdict) in zip(pushes, verdicts) {
            guard let ordinal = push.ordinal else { continue }
            let key = DeliveryKey(sequence: message.logged.sequence, platform: push.platform)
            progress[key, default: DeliveryProgress()].done[ordinal] = verdict.outcome
            guard verdict.outcome != .success else { continue }
            progress[key]?.failures.append(
                DeliveryFailure(ordinal: ordinal, outcome: verdict.outcome, reason: String(verdict.reason.prefix(300)))
            )
        }
        var counts: [PushCounters.Outcome: Int] = [:]
        for (key, progress) in progress { counts.add(progress, ended: progress.done.count, key.platform) }
        self.hub.counters.push.add(counts)
        let (all, hub, at) = (progress, hub.record.id, hub.configuration.timestamp)
        do {
            try await self.hub.perform {
                [isDirect = targets.isDirect, sequence = message.logged.sequence] transaction, _ in
                for (key, progress) in all.sorted(by: { $0.key.platform < $1.key.platform }) {
                    let ordinals = OrdinalSet(progress.done.keys.sorted())
                    try transaction.insertDelivery(key, hub: hub, targets: ordinals, isDirect: isDirect)
                    try transaction.record(progress, of: key, hub: hub, at: at)
                }
                if let answer { try transaction.keep(testAnswer: answer, of: sequence) }
                return ((), [])
            }
        } catch {
            // The sender gets the answer anyway, and the writer logs why it cannot write.
            self.hub.logger.debug(
                "cannot record the outcomes of a test send",
                metadata: ["hub.name": "\(self.hub.record.name)", "error.reason": "\(error)"]
            )
        }
    }
}

extension TestSend.Verdict {
    fileprivate init(_ refusal: PushRefusal) {
        self.init(outcome: refusal.outcome, reason: refusal.reason, sentence: "Nothing was sent: \(refusal.reason).")
    }

    fileprivate init(_ outcome: PushOutcome) {
        switch outcome {
        case .accepted, .replacedHandle: self.init(outcome: .success, sentence: RegistrationResult.success)
        case .dropped(let reason): self.init(.dropped, reason, "The push service dropped the notification")
        case .deadHandle(let dead):
            let outcome = dead.isCertain ? OutcomeName.expiredChannel : .badChannel
            self.init(outcome, dead.reason, "The push service does not know the handle")
        case .badMessage(let reason):
            self.init(.invalidNotificationFormat, reason, "The Notification payload is invalid")
        case .tooLarge(let reason):
            self.init(.invalidNotificationSize, reason, "The Notification payload is too large")
        case .unsendable(let reason):
            self.init(outcome: .badChannel, reason: reason, sentence: "Nothing was sent: \(reason).")
        case .badRoute(let reason): self.init(.wrongToken, reason, "The handle belongs to another app")
        // There is no second attempt.
        case .retry(_, let reason):
            self.init(.abandoned, reason, "The push service cannot accept the notification now")
        case .throttled(_, _, let reason):
            self.init(.abandoned, reason, "The push service limits the rate of notifications")
        case .refusedCredential(let reason), .refusedSender(let reason):
            self.init(.invalidCredentials, reason, "The push service refuses the credential")
        }
    }

    private init(_ outcome: OutcomeName, _ reason: String, _ introduction: String) {
        self.init(outcome: outcome, reason: reason, sentence: "\(introduction): \(reason)")
    }

    fileprivate static func unanswered(within patience: Duration) -> TestSend.Verdict {
        let reason = "the push service did not answer within \(patience.components.seconds) seconds"
        let sentence = "The push service did not answer within \(patience.components.seconds) seconds."
        return TestSend.Verdict(outcome: .abandoned, reason: reason, sentence: sentence)
    }
}
