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
    /// The header with the process that has sent an announcement, and the time by its own clock in milliseconds.
    static let sentHeader = "Newswire-Sent"
    /// Longest time for requests that are on their way when this node stops; it takes milliseconds on an idle machine.
    private static let drainTime = Duration.seconds(5)

    private let connection: EngineConnection
    private let subjects: LogSubjects
    private let node: String
    private let logger: Logger
    /// This process in announcements, and the begin of its clock.
    private let process = (number: UInt64.random(in: .min ... .max), start: ContinuousClock.now)
    private let ages = Mutex(MessageAges())
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
        let sent = (ContinuousClock.now - process.start).nanoseconds / 1_000_000
        let message = EngineMessage(
            subject: subjects.all,
            headers: [(LogNotifications.origin, node), (Self.sentHeader, "\(process.number) \(sent)")],
            data: announcement
        )
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
            let subscription = try connection.subscribe(subjects.all) { [weak self] message in
                if self?.isCurrent(message) == true { continuation.yield(message.data) }
            }
            continuation.onTermination = { _ in withExtendedLifetime(subscription) {} }
        } catch {
            Self.failed(error, "the announcements of other nodes cannot be received", logger)
            continuation.finish()
        }
        return stream
    }

    /// False for an announcement of this node, which can come back after a change to another server, and for a late one.
    ///
    /// Earlier versions send no headers.
    private func isCurrent(_ message: borrowing ArrivedMessage) -> Bool {
        guard message.header(LogNotifications.origin) != node else { return false }
        let sent = message.header(Self.sentHeader)?.split(separator: " ") ?? []
        guard sent.count == 2, let process = UInt64(sent[0]), let milliseconds = Int64(sent[1]) else { return true }
        let now = ContinuousClock.now - self.process.start
        return ages.withLock { !$0.isLate(from: process, sent: .milliseconds(milliseconds), at: now) }
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
                EngineConnection.Request(
                    data: request,
                    waiting: RequestTable.Waiting(deadline: .now + timeout, isHopeless: isHopeless) {
                        continuation.resume(returning: $0)
                    }
                ),
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
        let subscription = Mutex<SubjectSubscription?>(nil)
        do throws(EngineFault) {
            let interest = try connection.subscribe(subjects.requests(of: node)) { [answers] message in
                guard let reply = message.reply.map(EngineConnection.answers),
                    let batch = try? RequestBatch(encoded: message.data)
                else { return }
                for (index, data) in batch.requests.enumerated() {
                    let number = batch.first + UInt64(index)
                    let request = Request(data: data, number: number, reply: reply)
                    guard !open.begin({ continuation.yield(request) }) else { continue }
                    answers.add(AnswerBatch.Answer(number: number, data: []), to: reply)
                }
            }
            subscription.withLock { $0 = interest }
        } catch {
            return Self.failed(error, "requests of other nodes cannot be received", logger)
        }
        // Nodes that ask later learn that nobody listens; requests that are on their way get an empty answer.
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
            open.refuse { continuation.finish() }
            subscription.withLock { $0?.drain(within: Self.drainTime) }
        }
        let drained = subscription.withLock { $0.take() }
        _ = try? await ReplicatedLog.blocking { drained?.waitUntilDrained(Self.drainTime) }
    }

    /// The requests that are being answered.
    private final class OpenRequests: Sendable {
        private struct State {
            var count = 0
            var isRefusing = false
        }

        private let limit: Int
        private let state = Mutex(State())

        init(limit: Int) { self.limit = limit }

        /// Passes a request on.
        ///
        /// - Returns: False if it must be refused, and was not passed on.
        func begin(_ pass: () -> Void) -> Bool {
            state.withLock { state in
                guard state.count < limit, !state.isRefusing else { return false }
                state.count += 1
                pass()
                return true
            }
        }

        func end() { state.withLock { $0.count -= 1 } }

        /// Refuses all further requests; none is passed on after `finish`.
        func refuse(_ finish: () -> Void) {
            state.withLock { state in
                state.isRefusing = true
                finish()
            }
        }
    }
}
