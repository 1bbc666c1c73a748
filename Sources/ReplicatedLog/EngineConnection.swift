import CNats
import Dispatch
import Formats
import Glibc
import HubProtocol
import Logging
import Synchronization

/// A connection to one of the log's servers; when it is lost, a new one is made to any of them.
///
/// `@unchecked Sendable`: nats.c guards its objects with locks of its own, and the pointer never changes.
final class EngineConnection: @unchecked Sendable {
    /// Interval at which unanswered requests are ended.
    private static let sweep = DispatchTimeInterval.milliseconds(100)
    /// The headers of answers that are kept.
    private static let keptHeaders = ["Status", "Nats-Sequence"]
    /// The end of the subject for answers that come together; one request's answer has its number there.
    private static let together = "answers"

    private let pointer: OpaquePointer
    private let events: ConnectionEvents
    private let requests = RequestTable()
    private let inbox = "_INBOX.\(Hexadecimal.encode(RandomBytes.make(count: 16)))"
    private let timer: any DispatchSourceTimer
    private let answers: Mutex<SubjectSubscription?> = Mutex(nil)

    /// Connects to any of the servers; blocks.
    init(_ configuration: ReplicatedLogConfiguration, _ logger: Logger) throws {
        let events = ConnectionEvents(logger)
        self.events = events
        pointer = try EngineOptions(configuration).connect(events)
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "newswire.log.timer"))
        timer.setEventHandler { [requests] in requests.sweep() }
        timer.schedule(deadline: .now() + Self.sweep, repeating: Self.sweep, leeway: .milliseconds(25))
        timer.resume()
        events.receive { [requests] event in
            if case .lost(let fault) = event { requests.failAll(fault) }
        }
        do {
            let prefix = inbox.utf8.count + 1
            // Waiting answers may be large together, but none may be dropped.
            let subscription = try subscribe("\(inbox).*", isBounded: false) { [requests] message in
                Self.receive(message, String(message.subject.dropFirst(prefix)), requests)
            }
            answers.withLock { $0 = subscription }
        } catch {
            close()
            throw ReplicatedLogError(error)
        }
    }

    deinit {
        timer.cancel()
        events.end()
        natsConnection_Destroy(pointer)
    }

    /// Ends the connection and all requests and subscriptions.
    func close() {
        events.end()
        natsConnection_Close(pointer)
        requests.failAll(.closed)
    }

    /// Calls `receiver` when the connection is lost, and when it is back.
    func onEvent(_ receiver: @escaping @Sendable (ConnectionEvents.Event) -> Void) { events.receive(receiver) }

    /// The address of the connected server.
    var server: String { ConnectedServer.address(pointer) }
    /// The port of this end of the connection; `nil` while there is none.
    var localPort: UInt16? {
        var address: UnsafeMutablePointer<CChar>?
        var port: Int32 = 0
        guard natsConnection_GetLocalIPAndPort(pointer, &address, &port) == NATS_OK else { return nil }
        free(address)
        return UInt16(exactly: port)
    }
    /// Maximum number of bytes of a message and its headers.
    var maximumPayload: Int { Int(natsConnection_GetMaxPayload(pointer)) }

    // MARK: Sending

    func publish(_ message: EngineMessage, reply: String? = nil) throws(EngineFault) {
        // While the connection is lost, nats.c would keep the message and send it later.
        switch natsConnection_Status(pointer) {
        case NATS_CONN_STATUS_CONNECTED: break
        case NATS_CONN_STATUS_CLOSED: throw .closed
        default: throw .disconnected
        }
        var created: OpaquePointer?
        let bytes = message.data.count
        let status = message.data.withUnsafeBytes { data in
            natsMsg_Create(
                &created,
                message.subject,
                reply,
                data.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(bytes)
            )
        }
        guard status == NATS_OK, let created else { throw .failed(NatsStatus.text(status)) }
        defer { natsMsg_Destroy(created) }
        for header in message.headers {
            let status = natsMsgHeader_Set(created, header.name, header.value)
            guard status == NATS_OK else { throw .failed(NatsStatus.text(status)) }
        }
        switch natsConnection_PublishMsg(pointer, created) {
        case NATS_OK: return
        case NATS_MAX_PAYLOAD: throw .tooLarge(limit: maximumPayload)
        case NATS_CONNECTION_CLOSED: throw .closed
        case NATS_CONNECTION_DISCONNECTED, NATS_INSUFFICIENT_BUFFER, NATS_IO_ERROR, NATS_TIMEOUT: throw .disconnected
        case let status: throw .failed(NatsStatus.text(status))
        }
    }

    /// Sends a message, and calls `handler` once: with its answer, or the reason why there is none.
    func request(
        _ message: EngineMessage,
        within time: Duration,
        _ handler: @escaping RequestTable.Handler
    ) {
        let number = requests.add([RequestTable.Waiting(deadline: .now + time, handler: handler)])
        do throws(EngineFault) {
            try publish(message, reply: "\(inbox).\(number)")
        } catch {
            requests.resolve(number, .failure(error))
        }
    }

    /// A request that may share a message with others to the same subject.
    struct Request: Sendable {
        let data: [UInt8]
        let waiting: RequestTable.Waiting
    }

    /// Sends requests, of which there is at least one, in one message; each handler is called once.
    func request(_ batch: some Collection<Request>, of subject: String) {
        let first = requests.add(batch.map(\.waiting))
        let last = first + UInt64(batch.count) - 1
        let data = RequestBatch(first: first, requests: batch.map(\.data)).encoded
        do throws(EngineFault) {
            try publish(EngineMessage(subject: subject, data: data), reply: "\(inbox).\(first)-\(last)")
        } catch {
            requests.resolve(first...last, error)
        }
    }

    /// The subject for the answers to requests that came together, from the subject of the answer to their message.
    static func answers(to reply: String) -> String {
        reply.split(separator: ".").dropLast().joined(separator: ".") + ".\(together)"
    }

    private static func receive(_ message: borrowing ArrivedMessage, _ end: String, _ requests: RequestTable) {
        if let number = UInt64(end) {
            return requests.resolve(
                number,
                message.hasNoResponders ? .failure(.noResponders) : .success(message.copy(keptHeaders))
            )
        }
        guard end != together else {
            for answer in (try? AnswerBatch(encoded: message.data))?.answers ?? [] {
                requests.resolve(
                    answer.number,
                    answer.data.map { .success(EngineMessage(data: $0)) } ?? .failure(.answerTooLarge)
                )
            }
            return
        }
        // The server answers that nobody listens for a whole message.
        let numbers = end.split(separator: "-").compactMap { UInt64($0) }
        guard message.hasNoResponders, numbers.count == 2, let last = numbers.last, numbers[0] <= last else { return }
        requests.resolve(numbers[0]...last, .noResponders)
    }

    /// Sends messages without waiting in between, and blocks until all are answered or the time has expired.
    func answers(
        to messages: [EngineMessage],
        within time: Duration
    ) -> [Result<EngineMessage, EngineFault>] {
        let collected = Collected(count: messages.count)
        for (place, message) in messages.enumerated() {
            request(message, within: time) { collected.put($0, at: place) }
        }
        return collected.wait()
    }

    func answer(to message: EngineMessage, within time: Duration) throws(EngineFault) -> EngineMessage {
        try answers(to: [message], within: time)[0].get()
    }

    private final class Collected: Sendable {
        private let results: Mutex<[Result<EngineMessage, EngineFault>]>
        private let arrived = DispatchSemaphore(value: 0)

        init(count: Int) { results = Mutex(Array(repeating: .failure(.timeout), count: count)) }

        func put(_ result: Result<EngineMessage, EngineFault>, at place: Int) {
            results.withLock { $0[place] = result }
            arrived.signal()
        }

        func wait() -> [Result<EngineMessage, EngineFault>] {
            let count = results.withLock { $0.count }
            for _ in 0..<count { arrived.wait() }
            return results.withLock { $0 }
        }
    }

    // MARK: Receiving

    private final class Receiver: Sendable {
        let receive: @Sendable (borrowing ArrivedMessage) -> Void

        init(_ receive: @escaping @Sendable (borrowing ArrivedMessage) -> Void) { self.receive = receive }
    }

    /// Calls `receive` with each message on a subject, one after the other, as long as the subscription is kept.
    ///
    /// If it `isBounded`, messages are dropped when more than 65,536 of them wait.
    func subscribe(
        _ subject: String,
        isBounded: Bool = true,
        _ receive: @escaping @Sendable (borrowing ArrivedMessage) -> Void
    ) throws(EngineFault) -> SubjectSubscription {
        let receiver = Unmanaged.passRetained(Receiver(receive))
        var subscription: OpaquePointer?
        let status = natsConnection_Subscribe(
            &subscription,
            pointer,
            subject,
            { _, _, message, context in
                guard let message, let context else { return }
                Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue().receive(ArrivedMessage(message))
            },
            receiver.toOpaque()
        )
        guard status == NATS_OK, let subscription else {
            receiver.release()
            throw .failed(NatsStatus.text(status))
        }
        natsSubscription_SetOnCompleteCB(
            subscription,
            { context in
                guard let context else { return }
                Unmanaged<Receiver>.fromOpaque(context).release()
            },
            receiver.toOpaque()
        )
        if !isBounded { natsSubscription_SetPendingLimits(subscription, -1, -1) }
        return SubjectSubscription(subscription)
    }
}

/// Interest in a subject, until it is released.
///
/// `@unchecked Sendable`: nats.c guards its objects with locks of its own, and the pointer never changes.
final class SubjectSubscription: @unchecked Sendable {
    private let pointer: OpaquePointer

    fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

    /// Ends the interest; messages that have arrived, or are on their way, are still received.
    func drain(within time: Duration) { natsSubscription_DrainTimeout(pointer, time.nanoseconds / 1_000_000) }

    /// Waits until the last message has been received; blocks for `time` at most.
    func waitUntilDrained(_ time: Duration) {
        natsSubscription_WaitForDrainCompletion(pointer, time.nanoseconds / 1_000_000)
    }

    deinit { natsSubscription_Destroy(pointer) }
}
