import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices

/// Tells what became of a test send at each of its few targets (protocol document §5.2).
///
/// A success is said only of what was done: an agent's stream was written the message, a push service has taken it. Push
/// services are asked once each, and what they answer is shown; nothing is queued.
struct TestSend {
    /// Between two looks at open streams, of which most are written at once; those that do not read are given three seconds.
    private static let pauses = [30, 60, 120, 240, 480, 960, 1_110].map { Duration.milliseconds($0) }

    /// Test sends of a hub.
    static let limit = RateLimit(burst: 60, perSecond: 1)
    /// What push services are given to answer, all targets together.
    private static let patience = Duration.seconds(10)

    private let inquiry: DeliveryInquiry

    init(_ inquiry: DeliveryInquiry) { self.inquiry = inquiry }

    /// The outcome of a message that was accepted; of a repeat, that of the first one as it is now.
    func outcome(of id: MessageID) async throws -> NotificationOutcome {
        let message = try await inquiry.testSend(id)
        let targets = try message.logged.record.targets ?? MessageTargets()
        var results = try await streams(targets.installations, message)
        results += try await pushes(targets, message)
        results += (0..<targets.unknown).map { _ in
            (false, result(.stream, "", nil, "No installation of platform 'stream' has this handle."))
        }
        let succeeded = results.count { $0.succeeded }
        return NotificationOutcome(
            success: succeeded,
            failure: results.count - succeeded,
            results: results.map(\.result)
        )
    }

    private typealias Judged = (succeeded: Bool, result: RegistrationResult)

    private func result(
        _ platform: Platform,
        _ handle: String,
        _ id: RegistrationID?,
        _ outcome: String
    ) -> RegistrationResult {
        RegistrationResult(
            applicationPlatform: MessageFormat(of: platform).rawValue,
            pnsHandle: handle,
            registrationID: id?.text,
            outcome: outcome
        )
    }

    // MARK: - Push services

    /// A target of a push service; `refusal` says why nothing is sent.
    private struct Target: Sendable {
        let platform: Platform
        let handle: String
        let id: RegistrationID?
        var push: (any PreparedPush)?
        var target: PushTarget?
        var refusal = ""
    }

    private func pushes(_ targets: MessageTargets, _ message: AcceptedMessage) async throws -> [Judged] {
        guard !targets.registrations.isEmpty || !targets.handles.isEmpty else { return [] }
        var rendering = try PushRendering(message)
        var all: [Target] = []
        for id in targets.registrations {
            let stored = try await inquiry.hub.store.registration(hub: inquiry.hub.record.id, id: id)
            guard let registration = stored?.registration else {
                all.append(Target(platform: Platform(rawValue: ""), handle: "", id: id, refusal: "it is gone"))
                continue
            }
            all.append(
                prepare(registration.pushChannel, registration.platform, id, name: id.text, message) {
                    service throws(PushRefusal) in try rendering.push(for: registration, by: service)
                }
            )
        }
        if let platform = message.logged.record.format.platform {
            for handle in targets.handles {
                all.append(
                    prepare(handle, platform, nil, name: handle.handle, message) {
                        service throws(PushRefusal) in try rendering.push(on: platform, by: service)
                    }
                )
            }
        }
        return await attempt(all)
    }

    private func prepare(
        _ channel: PushChannel,
        _ platform: Platform,
        _ id: RegistrationID?,
        name: String,
        _ message: AcceptedMessage,
        _ render: (any PushService) throws(PushRefusal) -> RenderedPush
    ) -> Target {
        var target = Target(platform: platform, handle: channel.handle, id: id)
        guard let service = inquiry.hub.push[platform.rawValue.lowercased()] else {
            target.refusal = "the hub has no usable credential for platform '\(platform)'"
            return target
        }
        do {
            let push = try render(service).push
            let end = inquiry.expiry(of: message)
            target.push = push
            target.target = PushTarget(
                channel: channel,
                id: UUID(of: try message.logged.id, to: name),
                expiresAt: push.lifetime == .once ? nil : end
            )
        } catch let refusal as PushRefusal {
            target.refusal = refusal.reason
        } catch {
            target.refusal = "\(error)"
        }
        return target
    }

    /// Makes one attempt for each target, all at once.
    private func attempt(_ targets: [Target]) async -> [Judged] {
        await withTaskGroup(of: (Int, PushOutcome)?.self) { group in
            for (place, target) in targets.enumerated() {
                guard let push = target.push, let pushTarget = target.target else { continue }
                group.addTask { (place, await push.send(to: pushTarget)) }
            }
            group.addTask {
                try? await Task.sleep(for: Self.patience)
                return nil
            }
            var outcomes: [Int: PushOutcome] = [:]
            let expected = targets.count { $0.push != nil }
            while outcomes.count < expected, case (let place, let outcome)?? = await group.next() {
                outcomes[place] = outcome
            }
            group.cancelAll()
            return targets.enumerated().map { place, target in
                let (succeeded, text) = sentence(outcomes[place], target)
                return (succeeded, result(target.platform, target.handle, target.id, text))
            }
        }
    }

    private func sentence(_ outcome: PushOutcome?, _ target: Target) -> (Bool, String) {
        guard target.push != nil else { return (false, "Nothing was sent: \(target.refusal).") }
        return switch outcome {
        case nil: (false, "The push service has not answered within \(Self.patience.components.seconds) seconds.")
        case .accepted, .replacedHandle: (true, RegistrationResult.success)
        case .dropped(let reason): (false, "The push service has dropped the notification: \(reason)")
        case .deadHandle(let dead): (false, "The push service does not know the handle: \(dead.reason)")
        case .badMessage(let reason): (false, "The Notification payload is invalid: \(reason)")
        case .unsendable(let reason): (false, "Nothing was sent: \(reason).")
        case .badRoute(let reason): (false, "The handle is for another app: \(reason)")
        case .retry(_, let reason): (false, "The push service cannot take it now: \(reason)")
        case .throttled(_, _, let reason): (false, "The push service wants fewer notifications: \(reason)")
        case .refusedCredential(let reason): (false, "The push service refuses the credential: \(reason)")
        }
    }

    // MARK: - Streams

    /// Their handles are secrets, so the installations' ids stand in their places.
    private func streams(_ installations: [InstallationID], _ message: AcceptedMessage) async throws -> [Judged] {
        guard !installations.isEmpty else { return [] }
        let recipients = try await inquiry.hub.ask { hub in
            installations.map { id in hub.entry(of: id).map { (ordinal: $0.ordinal, recipient: $0.recipient) } }
        }
        let routed = try message.logged.routed
        let ordinals = Set(recipients.compactMap { $0?.ordinal })
        var standings = try await inquiry.standings(of: ordinals)
        for pause in Self.pauses {
            let isWaiting = standings.values.contains { $0.open != nil && $0.position < routed.sequence }
            guard isWaiting else { break }
            try await Task.sleep(for: pause)
            standings = try await inquiry.standings(of: ordinals)
        }
        return zip(installations, recipients).map { id, known in
            guard let known, known.recipient.receives(routed) else {
                return (false, result(.stream, id.text, nil, "The installation is gone, or has changed since."))
            }
            let standing = standings[known.ordinal] ?? StreamStanding()
            let outcome = inquiry.outcome(of: message, routed, for: known.recipient, at: standing)
            let (succeeded, text) = sentence(outcome, standing)
            return (succeeded, result(.stream, id.text, nil, text))
        }
    }

    private func sentence(_ outcome: DeviceOutcome, _ standing: StreamStanding) -> (Bool, String) {
        switch outcome {
        case .written, .resumedPast: (true, RegistrationResult.success)
        case .tooLarge: (false, "The device's templates make too much of the message; it is told of a gap.")
        case .expired: (false, "The message has expired before the device's stream was written it.")
        default:
            standing.open == nil
                ? (false, "The device's stream is not open; it is owed the message until it comes back.")
                : (false, "The device's stream is open and has not taken the message yet.")
        }
    }
}
