import Dispatch
package import HubStore
import Logging
import Synchronization

/// Messages between the nodes of a hub, through the log's servers.
package final class NatsChannel: NodeChannel {
    /// The header of an empty answer, with the reason.
    static let refusal = "Newswire-Refusal"
    private static let tooLarge = "too large"
    /// Maximum number of announcements that wait to be read, and of requests that are answered at a time.
    private static let maximumAnnouncements = 1_024
    private static let maximumRequests = 1_000

    private let connection: EngineConnection
    private let subjects: LogSubjects
    private let node: String
    private let logger: Logger
    /// Sending can block, which tasks must not.
    private let sending = DispatchQueue(label: "newswire.log.channel")

    init(_ connection: EngineConnection, _ configuration: ReplicatedLogConfiguration, _ logger: Logger) {
        self.connection = connection
        self.logger = logger
        subjects = configuration.subjects
        node = configuration.node
    }

    // MARK: Announcements

    package func announce(_ announcement: [UInt8]) {
        send(EngineMessage(subject: subjects.all, data: announcement))
    }

    package func announcements() -> AsyncStream<[UInt8]> {
        let (stream, continuation) = AsyncStream<[UInt8]>
            .makeStream(bufferingPolicy: .bufferingNewest(Self.maximumAnnouncements))
        do {
            let subscription = try connection.subscribe(subjects.all) { continuation.yield($0.data) }
            continuation.onTermination = { _ in withExtendedLifetime(subscription) {} }
        } catch {
            failed(error, "the announcements of other nodes cannot be received")
            continuation.finish()
        }
        return stream
    }

    private func send(_ message: EngineMessage, reply: String? = nil) {
        sending.async { [self] in
            do throws(EngineFault) {
                try connection.publish(message, reply: reply)
            } catch {
                failed(error, "a message to other nodes was not sent")
            }
        }
    }

    /// The loss of a connection is logged where it is noticed.
    private func failed(_ fault: EngineFault, _ text: Logger.Message) {
        if fault == .disconnected || fault == .closed { return }
        logger.warning(text, metadata: ["error.reason": "\(fault)"])
    }

    // MARK: Requests

    package func request(
        _ request: [UInt8],
        of node: String,
        timeout: Duration
    ) async throws(NodeChannelError) -> [UInt8] {
        let message = EngineMessage(subject: subjects.requests(of: node), data: request)
        let result = await withCheckedContinuation { continuation in
            sending.async { [connection] in
                connection.request(message, within: timeout) { continuation.resume(returning: $0) }
            }
        }
        switch result {
        case .success(let answer):
            if answer.header(Self.refusal) != nil { throw .tooLarge }
            return answer.data
        case .failure(.noResponders): throw .absent
        case .failure(.timeout): throw .timeout
        case .failure(.tooLarge): throw .tooLarge
        case .failure(let fault):
            failed(fault, "a request to another node was not sent")
            throw .disconnected
        }
    }

    private struct Request: Sendable {
        let data: [UInt8]
        let reply: String
    }

    package func serve(_ answer: @escaping @Sendable ([UInt8]) async -> [UInt8]) async {
        let (requests, continuation) = AsyncStream<Request>
            .makeStream(bufferingPolicy: .bufferingOldest(Self.maximumRequests))
        let open = OpenRequests(limit: Self.maximumRequests)
        let subscription: Subscription
        do throws(EngineFault) {
            subscription = try connection.subscribe(subjects.requests(of: node)) { message in
                guard let reply = message.reply, open.begin() else { return }
                continuation.yield(Request(data: message.data, reply: reply))
            }
        } catch {
            return failed(error, "requests of other nodes cannot be received")
        }
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for await request in requests {
                    group.addTask { [self] in
                        let data = await answer(request.data)
                        respond(data, to: request.reply)
                        open.end()
                    }
                }
            }
        } onCancel: {
            continuation.finish()
        }
        withExtendedLifetime(subscription) {}
    }

    private func respond(_ data: [UInt8], to reply: String) {
        let fits = data.count <= connection.maximumPayload
        send(
            EngineMessage(
                subject: reply,
                headers: fits ? [] : [(Self.refusal, Self.tooLarge)],
                data: fits ? data : []
            )
        )
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
