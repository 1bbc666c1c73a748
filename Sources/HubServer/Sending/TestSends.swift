import FairShares
import HubProtocol
import HubRouting
import HubStreams
import Signals

/// Makes the test sends of a hub, each once: a repeat with the same idempotency key waits for the first one and gets
/// its answer.
///
/// A send continues after its client has disconnected, because the client may ask for the result again.
final class TestSends: Sendable {
    struct Answer: Sendable {
        let id: MessageID
        let xml: String
    }

    /// Rate of test sends and tests of credentials together; each of them calls push services at once.
    static let limit = RateLimit(burst: 60, perSecond: 1)

    private struct Request: Hashable {
        let key: String
        let contentHash: [UInt8]
    }

    let rate: RateLimiter<HubKey>
    /// Sends in progress that have a key; each ends within seconds, and ``limit`` bounds their number.
    private let running = SingleFlight<Request, Answer>()

    init(clock: @escaping @Sendable () -> Duration) { rate = RateLimiter(Self.limit, clock: clock) }

    /// Makes a test send, or returns the answer to the first one.
    ///
    /// - Throws: The same errors as ``MessageIntake/accept(_:)``.
    func answer(to incoming: IncomingMessage, _ lookup: DeliveryLookup) async throws -> Answer {
        guard let key = incoming.idempotencyKey else {
            return try await Task { try await Self.make(incoming, lookup) }.value
        }
        let request = Request(key: key, contentHash: incoming.contentHash)
        // Noted before the message is accepted, so that a repeat finds the send here or its answer in the store.
        let (task, isFirst) = running.join(request) { try await Self.make(incoming, lookup) }
        if !isFirst { lookup.hub.counters.repeated.add(1) }
        return try await task.value
    }

    private static func make(_ incoming: IncomingMessage, _ lookup: DeliveryLookup) async throws -> Answer {
        let (id, isRepeat) = try await lookup.hub.messages.receive(incoming)
        let send = try await TestSend(lookup, id)
        guard isRepeat else {
            let outcome = try await send.make(keepsAnswer: incoming.idempotencyKey != nil)
            return Answer(id: id, xml: outcome.xml)
        }
        if let former = try await send.formerAnswer { return Answer(id: id, xml: former) }
        return Answer(id: id, xml: try await send.unknownOutcome().xml)
    }
}
