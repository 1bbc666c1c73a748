import Formats
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import Logging
import Signals
import Synchronization

/// One notification hub, as requests see it.
///
/// Its in-memory state belongs to its ``HubMachine``, which the writer drives. This class holds the values that the
/// writer publishes after each batch of changes.
final class Hub: Sendable {
    private struct Published: Sendable {
        var status: HubStatus
        var tokens: TokenChecker
    }

    let record: HubRecord
    let store: HubStore
    let writer: HubWriter
    let epochs: EpochHistory
    /// `nil` for a hub with one node.
    let others: OtherNodes?
    let encoding: EventEncoding
    let configuration: HubConfiguration
    let logger: Logger
    let counters = HubCounters()
    /// Requests for the outcomes of messages: each may read all data of the hub.
    let lookups = RequestTurns("requests for outcomes of messages")
    /// Lists of registrations by push channel: each may read a thousand rows.
    let channelLists = RequestTurns("lists of registrations by push channel", atOnce: 4)
    /// The push services that its credentials are used with.
    let push = PushServicesInUse()
    let testSends: TestSends
    let publicFeeds = TagFeeds()
    let personalMessages = PersonalMessages()
    let alarms: HubAlarms
    private let published: Mutex<Published>
    private let deleted = Atomic(false)
    private let oversizeLog = Once()
    private let unreadableLog = Once()

    init(
        _ record: HubRecord,
        status: HubStatus,
        store: HubStore,
        writer: HubWriter,
        epochs: EpochHistory,
        others: OtherNodes? = nil,
        configuration: HubConfiguration,
        logger: Logger
    ) {
        self.record = record
        self.store = store
        self.writer = writer
        self.epochs = epochs
        self.others = others
        self.configuration = configuration
        self.logger = logger
        alarms = HubAlarms(isShared: store.node != nil)
        testSends = TestSends(clock: configuration.monotonic)
        encoding = EventEncoding(epoch: epochs.current)
        published = Mutex(Published(status: status, tokens: TokenChecker(status.rules)))
    }

    /// The status after the last batch of changes.
    var status: HubStatus { published.withLock { $0.status } }

    /// True if the hub is disabled; cheaper than a copy of the whole status.
    var isDisabled: Bool { published.withLock { $0.status.isDisabled } }

    /// Replaces the status after a batch of changes.
    func publish(_ status: HubStatus) {
        published.withLock { published in
            if published.status.rulesRevision != status.rulesRevision {
                published.tokens = TokenChecker(status.rules)
            }
            published.status = status
        }
    }

    var isDeleted: Bool { deleted.load(ordering: .acquiring) }

    /// Records that the hub was deleted: nothing is written for it any more.
    func close() { deleted.store(true, ordering: .releasing) }

    /// Checks a request's token against this hub's rules and the namespace's.
    func grant(authorization: String?, path: String, needs right: AccessRights) throws(ProtocolError) -> Grant {
        try tokens.authorize(authorization, path: path, needs: right, now: configuration.timestamp)
    }

    var tokens: TokenChecker { published.withLock { $0.tokens } }

    var installations: Installations { Installations(hub: self) }
    var registrations: Registrations { Registrations(hub: self) }
    var messages: MessageIntake { MessageIntake(hub: self) }
    var scheduled: ScheduledMessages { ScheduledMessages(hub: self) }

    /// Makes a change of this hub; see ``HubWriter/perform(on:bytes:stage:)``.
    func perform<Answer: Sendable>(
        bytes: Int = 0,
        stage: @escaping @Sendable (Transaction, borrowing HubMachine) throws -> (Answer, [any HubEffect])
    ) async throws -> Answer {
        try await writer.perform(on: record, bytes: bytes, stage: stage)
    }

    /// Number of recipients that a send of this format with this expression would reach.
    func recipients(of expression: TagExpression?, _ format: MessageFormat = .template) async throws -> RecipientCounts
    {
        try await ask { $0.matched(by: expression, format).counts }
    }

    /// Asks about this hub in log order; see ``HubWriter/ask(_:_:)``.
    func ask<Answer: Sendable>(_ question: @escaping @Sendable (borrowing HubMachine) -> Answer) async throws -> Answer
    {
        try await writer.ask(record, question)
    }
}

// MARK: - Logged once

extension Hub {
    /// Counts a rendering that was too large, and logs the first one only: with Listen, a client can cause any number.
    func noteOversize(_ id: MessageID) {
        counters.streams.oversize.add(1)
        guard oversizeLog.isFirst() else { return }
        logger.warning(
            "a message is too large when rendered; its recipient is sent a gap, and further cases are only counted",
            metadata: ["message.id": "\(id)", "limit.bytes": "\(EventEncoding.maximumMessageBytes)"]
        )
    }

    func noteUnreadable(_ sequence: LogSequence, _ error: any Error) {
        guard unreadableLog.isFirst() else { return }
        logger.error(
            "a message, or an installation's choice at the time, cannot be read: streams are sent a gap",
            metadata: ["log.sequence": "\(sequence)", "error.reason": "\(error)"]
        )
    }
}

// MARK: - Progress and counts

extension Hub {
    /// Stores the progress of streams, and tells other nodes of those here; progress that could not be written is kept
    /// for the next attempt.
    func flushProgress() async throws {
        let (own, elsewhere) = try await ask { ($0.progress, $0.progressElsewhere) }
        guard !own.isEmpty || !elsewhere.isEmpty else { return }
        let stored = try await perform { transaction, _ in
            for report in elsewhere.values { try transaction.note(elsewhere: report) }
            return (try own.values.map { try transaction.note($0) }, [])
        }
        writer.post(.progressFlushed(own, elsewhere: elsewhere), to: record.id)
        others?.announce(progress: stored, of: record.id)
    }

    /// Stores the corrected counts of messages.
    func flushRecounted() async throws {
        let batch = try await ask { $0.recounted }
        guard !batch.isEmpty else { return }
        try await perform { transaction, _ in
            for (sequence, counts) in batch { try transaction.setMatched(counts, sequence: sequence) }
            return ((), [RecountedEffect(batch.keys.sorted())])
        }
    }
}

// MARK: - Categories

extension Hub {
    /// Replaces the set of categories that a publisher announces.
    func setCategories(_ names: [String], publisher: String, bytes: Int) async throws {
        let hub = record.id
        try await perform(bytes: bytes) { transaction, _ in
            try transaction.setCategories(names, publisher: publisher, hub: hub)
            return ((), [CategoriesEffect()])
        }
    }

    /// The six standard categories, then all announced ones, each once.
    func categories() async throws -> [String] {
        let announced = try await store.categories(hub: record.id)
        return (CategoryList.standard + announced).distinct { (try? Tag($0))?.folded ?? $0 }
    }
}
