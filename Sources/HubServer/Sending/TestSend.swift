import HubProtocol
import HubRouting
import HubStore

/// Tells what became of a test send at each of its few targets (protocol document §5.2).
///
/// A success is said only of what was done: an agent's stream was written the message. Push platforms fail, since this
/// hub does not deliver to them.
struct TestSend {
    /// Between two looks at open streams, of which most are written at once; those that do not read are given three seconds.
    private static let pauses = [30, 60, 120, 240, 480, 960, 1_110].map { Duration.milliseconds($0) }

    private let inquiry: DeliveryInquiry

    init(_ inquiry: DeliveryInquiry) { self.inquiry = inquiry }

    /// The outcome of a message that was accepted; of a repeat, that of the first one as it is now.
    func outcome(of id: MessageID) async throws -> NotificationOutcome {
        let message = try await inquiry.testSend(id)
        let targets = try message.logged.record.targets ?? MessageTargets()
        var results = try await streams(targets.installations, message)
        results += try await registrations(targets.registrations, message)
        results += try targets.handles.map { handle in
            (false, try failure(message, platform: message.logged.record.format.platform, handle.handle, nil))
        }
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

    // MARK: - Push platforms

    private func registrations(_ ids: [RegistrationID], _ message: AcceptedMessage) async throws -> [Judged] {
        var results: [Judged] = []
        for id in ids {
            let stored = try await inquiry.hub.store.registration(hub: inquiry.hub.record.id, id: id)?.registration
            let handle = stored?.pushChannel.handle ?? ""
            results.append((false, try failure(message, platform: stored?.platform, handle, id)))
        }
        return results
    }

    private func failure(
        _ message: AcceptedMessage,
        platform: Platform?,
        _ handle: String,
        _ id: RegistrationID?
    ) throws -> RegistrationResult {
        guard let platform else { return result(Platform(rawValue: ""), handle, id, "The registration is gone.") }
        let record = message.logged.record
        let reason =
            try MessageOutcomes.excess(of: record, on: platform).map { limit in
                "The Notification payload is invalid: it has \(record.body.count) bytes, and \(platform) takes \(limit)."
            } ?? "This hub does not deliver to \(platform) yet; the message was accepted and matched."
        return result(platform, handle, id, reason)
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
