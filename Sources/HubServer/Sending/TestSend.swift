import Foundation
import HubProtocol
import HubRouting
import HubStore

/// Makes a test send and reports the outcome of each of its few targets (protocol document §5.2).
///
/// A success means that the message was written to an agent's stream or accepted by a push service. Each push service
/// gets one attempt, and its answer is shown; nothing is queued.
struct TestSend {
    /// Times between two checks of open streams; a stream that does not read gets three seconds in all.
    private static let pauses = [30, 60, 120, 240, 480, 960, 1_110].map { Duration.milliseconds($0) }

    let lookup: DeliveryLookup
    let message: AcceptedMessage
    let messageID: MessageID
    let targets: MessageTargets

    /// Prepares the send of an accepted message.
    init(_ lookup: DeliveryLookup, _ id: MessageID) async throws {
        self.lookup = lookup
        messageID = id
        message = try await lookup.testSend(id)
        targets = try message.logged.record.targets ?? MessageTargets()
    }

    var hub: Hub { lookup.hub }

    typealias Judged = (succeeded: Bool, result: RegistrationResult)

    /// Calls the push services and records the outcome of each target.
    ///
    /// `keepsAnswer` stores the answer for a repeat.
    func make(keepsAnswer: Bool) async throws -> NotificationOutcome {
        let streams = try await streams()
        let pushes = try await pushes()
        let verdicts = await attempt(pushes)
        let outcome = outcome(streams, zip(pushes, verdicts).map { push, verdict in push.judged(verdict) })
        await note(pushes, verdicts, answer: keepsAnswer ? outcome.xml : nil)
        return outcome
    }

    /// The answer to the first send; `nil` if it is not known.
    var formerAnswer: String? {
        get async throws { try await hub.store.testAnswer(of: message.logged.sequence) }
    }

    /// Returns the answer to a repeat of a send whose answer is not known; it does not call push services again.
    func unknownOutcome() async throws -> NotificationOutcome {
        outcome(try await streams(), try await pushes().map { $0.judged(.unknown) })
    }

    private func outcome(_ streams: [Judged], _ pushes: [Judged]) -> NotificationOutcome {
        let unknown = (0..<targets.unknown).map { _ in
            (false, Self.result(.stream, "", nil, "No installation of platform 'stream' has this handle."))
        }
        let results = streams + pushes + unknown
        let succeeded = results.count { $0.succeeded }
        return NotificationOutcome(
            success: succeeded,
            failure: results.count - succeeded,
            results: results.map(\.result)
        )
    }

    static func result(
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

    // MARK: - Streams

    /// Sends to streams; results have the installations' ids, since the handles are secrets.
    private func streams() async throws -> [Judged] {
        let installations = targets.installations
        guard !installations.isEmpty else { return [] }
        let recipients = try await lookup.hub.ask { hub in
            installations.map { id in hub.registry[id].map { (ordinal: $0.ordinal, recipient: $0.recipient) } }
        }
        let routed = try message.logged.routed
        let ordinals = Set(recipients.compactMap { $0?.ordinal })
        var streamStates = try await lookup.streamStates(of: ordinals)
        for pause in Self.pauses {
            let isWaiting = streamStates.values.contains { $0.open != nil && $0.position < routed.sequence }
            guard isWaiting else { break }
            try await Task.sleep(for: pause)
            streamStates = try await lookup.streamStates(of: ordinals)
        }
        return zip(installations, recipients).map { id, known in
            guard let known, known.recipient.receives(routed) else {
                return (false, Self.result(.stream, id.text, nil, "The installation was deleted or has changed."))
            }
            let streamState = streamStates[known.ordinal] ?? StreamState()
            let outcome = lookup.outcome(of: message, routed, for: known.recipient, at: streamState)
            let (succeeded, text) = sentence(outcome, streamState)
            return (succeeded, Self.result(.stream, id.text, nil, text))
        }
    }

    private func sentence(_ outcome: DeviceOutcome, _ streamState: StreamState) -> (Bool, String) {
        switch outcome {
        case .written, .resumedPast: (true, RegistrationResult.success)
        case .tooLarge: (false, "The message is too large with the device's templates; the stream gets a gap instead.")
        case .expired: (false, "The message expired before it was written to the device's stream.")
        default:
            streamState.open == nil
                ? (false, "The device's stream is not open; the device gets the message when it connects.")
                : (false, "The device's stream is open and has not received the message yet.")
        }
    }
}
