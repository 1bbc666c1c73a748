import Dispatch
package import HubStore
import Logging
import Synchronization

/// Messages between the nodes of a hub, through the log's servers.
package final class NatsChannel: NodeChannel {
    /// Maximum number of announcements that wait to be read, and of requests that are answered at a time.
    private static let maximumAnnouncements = 1_024
    private static let maximumRequests = 1_000
    /// Maximum number of bytes of requests or answers that share a message, and room for what is around each.
    private static let batchBytes = 256 << 10
    private static let envelopeBytes = 32

    private let connection: EngineConnection
    private let subjects: LogSubjects
    private let node: String
    private let logger: Logger
    /// Sending can block, which tasks must not.
    private let sending: DispatchQueue
    private let requests: Outbox<EngineConnection.Request>
    private let answers: Outbox<AnswerBatch.Answer>

    init(_ connection: EngineConnection, _ configuration: ReplicatedLogConfiguration, _ logger: Logger) {
        self.connection = connection
        self.logger = logger
        subjects = configuration.subjects
        node = configuration.node
        let sending = DispatchQueue(label: "newswire.log.channel")
        self.sending = sending
        requests = Outbox(sending) { subject, requests in
            let limit = min(Self.batchBytes, connection.maximumPayload) - Self.envelopeBytes
            for part in requests.split(atMost: limit, size: { $0.data.count + Self.envelopeBytes }) {
                connection.request(part, of: subject)
            }
        }
        answers = Outbox(sending) { subject, answers in
            let limit = connection.maximumPayload - Self.envelopeBytes
            let fitting = answers.map { answer in
                (answer.data?.count ?? 0) <= limit ? answer : AnswerBatch.Answer(number: answer.number, data: nil)
            }
            for part in fitting.split(
                atMost: min(Self.batchBytes, limit),
                size: { ($0.data?.count ?? 0) + Self.envelopeBytes }
            ) {
                do throws(EngineFault) {
                    try connection.publish(EngineMessage(subject: subject, data: AnswerBatch(Array(part)).encoded))
                } catch {
                    Self.failed(error, "an answer to another node was not sent", logger)
                }
            }
        }
    }

    // MARK: Announcements

    package func announce(_ announcement: [UInt8]) {
        let message = EngineMessage(subject: subjects.all, data: announcement)
        sending.async { [connection, logger] in
            do throws(EngineFault) {
                try connection.publish(message)
            } catch {
                Self.failed(error, "a message to other nodes was not sent", logger)
            }
        }
    }

    /// Returns when everything that was to be sent has been handed over; blocks.
    func finishSending() { sending.sync {} }

    package func announcements() -> AsyncStream<[UInt8]> {
        let (stream, continuation) = AsyncStream<[UInt8]>
            .makeStream(bufferingPolicy: .bufferingNewest(Self.maximumAnnouncements))
        do {
            let subscription = try connection.subscribe(subjects.all) { continuation.yield($0.data) }
            continuation.onTermination = { _ in withExtendedLifetime(subscription) {} }
        } catch {
            Self.failed(error, "the announcements of other nodes cannot be received", logger)
            continuation.finish()
        }
        return stream
    }

    /// The loss of a connection is logged where it is noticed.
    private static func failed(_ fault: EngineFault, _ text: Logger.Message, _ logger: Logger) {
        if fault == .disconnected || fault == .closed { return }
        logger.warning(text, metadata: ["error.reason": "\(fault)"])
    }

    // MARK: Requests

    package func request(
        _ request: [UInt8],
        of node: String,
        timeout: Duration,
        unless isHopeless: @escaping @Sendable () -> Bool
    ) async throws(NodeChannelError) -> [UInt8] {
        let result = await withCheckedContinuation { continuation in
            requests.add(
                EngineConnection.Request(data: request, deadline: .now + timeout, isHopeless: isHopeless) {
                    continuation.resume(returning: $0)
                },
                to: subjects.requests(of: node)
            )
        }
        switch result {
        case .success(let answer): return answer.data
        case .failure(.noResponders): throw .absent
        case .failure(.timeout): throw .timeout
        case .failure(.tooLarge), .failure(.answerTooLarge): throw .tooLarge
        case .failure(let fault):
            Self.failed(fault, "a request to another node was not sent", logger)
            throw .disconnected
        }
    }

    private struct Request: Sendable {
        let data: [UInt8]
        let number: UInt64
        /// The subject for the answer.
        let reply: String
    }

    package func serve(_ answer: @escaping @Sendable ([UInt8]) async -> [UInt8]) async {
        let (requests, continuation) = AsyncStream<Request>
            .makeStream(bufferingPolicy: .bufferingOldest(Self.maximumRequests))
        let open = OpenRequests(limit: Self.maximumRequests)
        let subscription = Mutex<Subscription?>(nil)
        do throws(EngineFault) {
            let interest = try connection.subscribe(subjects.requests(of: node)) { message in
                guard let reply = message.reply.map(EngineConnection.answers),
                    let batch = try? RequestBatch(encoded: message.data)
                else { return }
                for (index, data) in batch.requests.enumerated() where open.begin() {
                    continuation.yield(Request(data: data, number: batch.first + UInt64(index), reply: reply))
                }
            }
            subscription.withLock { $0 = interest }
        } catch {
            return Self.failed(error, "requests of other nodes cannot be received", logger)
        }
        // Nodes that ask later learn that nobody listens.
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for await request in requests {
                    group.addTask { [self] in
                        let data = await answer(request.data)
                        answers.add(AnswerBatch.Answer(number: request.number, data: data), to: request.reply)
                        open.end()
                    }
                }
            }
        } onCancel: {
            subscription.withLock { $0 = nil }
            continuation.finish()
        }
        subscription.withLock { $0 = nil }
    }

    /// The number of requests that are being answered.
    private final class OpenRequests: Sendable {
        private let limit: Int
        private let count = Mutex(0)

        init(limit: Int) { self.limit = limit }

        func begin() -> Bool {
            count.withLock { count in
                guard count < limit else { return false }
                count += 1
                return true
            }
        }

        func end() { count.withLock { $0 -= 1 } }
    }
}
