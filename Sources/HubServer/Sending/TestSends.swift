import HubProtocol
import HubRouting
import HubStreams
import Synchronization

/// The test sends of a hub, each made once: a repeat under its idempotency key waits for the first one, and is answered as
/// that was.
///
/// A send goes on when its client is gone: the client may come back to ask what became of it.
final class TestSends: Sendable {
    struct Answer: Sendable {
        let id: MessageID
        let xml: String
    }

    /// Together with tries of credentials: each calls push services at once.
    static let limit = RateLimit(burst: 60, perSecond: 1)

    private struct Request: Hashable {
        let key: String
        let contentHash: [UInt8]
    }

    let rate: RateLimiter<HubKey>
    /// Those under way that have a key: each ends within seconds, and ``limit`` bounds how many begin.
    private let running = Mutex<[Request: Task<Answer, any Error>]>([:])

    init(clock: @escaping @Sendable () -> Duration) { rate = RateLimiter(Self.limit, clock: clock) }

    /// Makes a test send, or finds out what it was answered before.
    ///
    /// - Throws: What ``MessageIntake/accept(_:)`` throws.
    func answer(to incoming: IncomingMessage, _ inquiry: DeliveryInquiry) async throws -> Answer {
        guard let key = incoming.idempotencyKey else {
            return try await Task { try await Self.make(incoming, inquiry) }.value
        }
        let request = Request(key: key, contentHash: incoming.contentHash)
        // Noted before the message is taken: nobody may find it taken and its answer neither here nor in the store.
        let (task, isFirst) = running.withLock { running in
            if let first = running[request] { return (first, false) }
            let task = Task {
                defer { self.running.withLock { $0[request] = nil } }
                return try await Self.make(incoming, inquiry)
            }
            running[request] = task
            return (task, true)
        }
        if !isFirst { inquiry.hub.counters.repeated.add(1) }
        return try await task.value
    }

    private static func make(_ incoming: IncomingMessage, _ inquiry: DeliveryInquiry) async throws -> Answer {
        let (id, isRepeat) = try await inquiry.hub.messages.receive(incoming)
        let send = try await TestSend(inquiry, id)
        guard isRepeat else {
            let outcome = try await send.make(keepsAnswer: incoming.idempotencyKey != nil)
            return Answer(id: id, xml: outcome.xml)
        }
        if let former = try await send.formerAnswer { return Answer(id: id, xml: former) }
        return Answer(id: id, xml: try await send.unknownOutcome().xml)
    }
}
