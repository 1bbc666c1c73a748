import HubProtocol
import HubStore
import NIOCore

/// Decides what goes to which streams, and collects it for their event loops.
///
/// The hub's writer drives it in the order of the log. Streams whose ordinary tags, templates and named push variables
/// are equal form a *cohort*: a message is matched, rendered and encoded once for all of them. A message that names an
/// identity is matched for each stream.
struct Broadcast: Sendable {
    /// A live stream.
    private struct Live {
        let session: StreamSession
        let loop: Int
        var cohort: Int
        let credential: Credential
    }

    private struct Cohort {
        let recipient: Recipient
        let isHeavy: Bool
        /// Streams on each event loop.
        var streams: [Int]
        var total: Int { streams.reduce(0, +) }
    }

    private let reserved: ReservedTagPrefixes
    private let encoding: EventEncoding
    private var live: [Int64: Live] = [:]
    private var cohorts: [Int: Cohort] = [:]
    private var cohortIDs: [Recipient: Int] = [:]
    /// Cohorts whose recipient is heavy.
    private var heavy: Set<Int> = []
    private var nextCohort = 0
    private var commands: [[StreamLoop.Command]]

    init(loops: Int, reserved: ReservedTagPrefixes, encoding: EventEncoding) {
        self.reserved = reserved
        self.encoding = encoding
        commands = Array(repeating: [], count: loops)
    }

    var streamCount: Int { live.count }

    /// What the loops are to do since the last call, ending with how far the hub is.
    mutating func takeCommands(head: Int64?) -> [[StreamLoop.Command]] {
        if let head {
            for loop in commands.indices { commands[loop].append(.head(head)) }
        }
        defer { commands = Array(repeating: [], count: commands.count) }
        return commands
    }

    // MARK: - Streams

    mutating func refuse(_ session: StreamSession, loop: Int, _ error: ProtocolError) {
        commands[loop].append(.refuse(session, error))
    }

    /// Lets a stream in, in the place of an older one of the same installation.
    mutating func attach(
        _ session: StreamSession,
        loop: Int,
        entry: Registry.Entry,
        grant: Grant,
        after: Int64,
        through: Int64,
        needsReplay: Bool,
        toldLoss: Int64?,
        prelude: ByteBuffer
    ) {
        end(entry.ordinal, .replaced)
        let cohort = join(entry.recipient, loop: loop)
        live[entry.ordinal] = Live(session: session, loop: loop, cohort: cohort, credential: grant.credential)
        let attachment = StreamLoop.Attachment(
            ordinal: entry.ordinal,
            cohort: cohort,
            isHeavy: heavy.contains(cohort),
            after: after,
            through: through,
            needsReplay: needsReplay,
            toldLoss: toldLoss,
            prelude: prelude,
            validUntil: grant.validUntil
        )
        commands[loop].append(.attach(session, attachment))
    }

    /// Lets the stream of an installation follow its changed choice.
    mutating func move(_ entry: Registry.Entry, at sequence: Int64) {
        guard let stream = live[entry.ordinal] else { return }
        let cohort = join(entry.recipient, loop: stream.loop)
        leave(stream.cohort, loop: stream.loop)
        live[entry.ordinal]?.cohort = cohort
        commands[stream.loop].append(
            .move(stream.session, cohort: cohort, isHeavy: heavy.contains(cohort), at: sequence)
        )
    }

    mutating func end(_ ordinal: Int64, _ reason: StreamEnd) {
        guard let stream = live.removeValue(forKey: ordinal) else { return }
        leave(stream.cohort, loop: stream.loop)
        commands[stream.loop].append(.end(stream.session, reason))
    }

    /// Ends the streams that were opened with certain keys.
    mutating func endAll(_ reason: StreamEnd, where isMeant: (Credential) -> Bool) {
        for (ordinal, stream) in live where isMeant(stream.credential) { end(ordinal, reason) }
    }

    func hasStream(_ ordinal: Int64, otherThan session: StreamSession) -> Bool {
        live[ordinal].map { $0.session !== session } ?? false
    }

    /// Forgets a stream that has ended by itself.
    mutating func detached(_ session: StreamSession, of ordinal: Int64) {
        guard let stream = live[ordinal], stream.session === session else { return }
        live[ordinal] = nil
        leave(stream.cohort, loop: stream.loop)
    }

    private mutating func join(_ recipient: Recipient, loop: Int) -> Int {
        let key = recipient.cohort(reserved: reserved)
        let id: Int
        if let known = cohortIDs[key] {
            id = known
        } else {
            id = nextCohort
            nextCohort += 1
            cohortIDs[key] = id
            cohorts[id] = Cohort(
                recipient: key,
                isHeavy: key.isHeavy,
                streams: Array(repeating: 0, count: commands.count)
            )
            if key.isHeavy { heavy.insert(id) }
        }
        cohorts[id]?.streams[loop] += 1
        return id
    }

    private mutating func leave(_ id: Int, loop: Int) {
        cohorts[id]?.streams[loop] -= 1
        guard let cohort = cohorts[id], cohort.total == 0 else { return }
        cohorts[id] = nil
        heavy.remove(id)
        cohortIDs[cohort.recipient] = nil
    }

    // MARK: - Messages

    /// What rendering one message may cost at once, in bytes: the hub's requests wait for it.
    ///
    /// Streams beyond it read the message from the store.
    static let maximumCost = 4 << 20

    /// Hands a message to the streams that must get it.
    ///
    /// - Returns: Number of renderings that were too large to send; a gap was sent instead.
    mutating func publish(_ message: RoutedMessage, registry: Registry) -> Int {
        guard !live.isEmpty, message.isForStreams else { return 0 }
        return message.namesIdentity(reserved)
            ? publishPersonally(message, registry: registry) : publishToCohorts(message)
    }

    /// Heavy cohorts come last, so that nobody's templates delay the others' messages.
    private mutating func publishToCohorts(_ message: RoutedMessage) -> Int {
        var (refused, cost) = (0, 0)
        for (id, cohort) in cohorts where !cohort.isHeavy {
            publish(message, to: id, cohort, &refused, &cost)
        }
        for id in heavy {
            guard let cohort = cohorts[id] else { continue }
            publish(message, to: id, cohort, &refused, &cost)
        }
        return refused
    }

    private mutating func publish(
        _ message: RoutedMessage,
        to id: Int,
        _ cohort: Cohort,
        _ refused: inout Int,
        _ cost: inout Int
    ) {
        let command: StreamLoop.Command
        if cost < Self.maximumCost {
            guard let entry = encoding.encode(message, for: cohort.recipient, cost: &cost) else { return }
            if entry.isGap { refused += 1 }
            command = .cohortEvents(id, entry)
        } else {
            guard cohort.recipient.receives(message) else { return }
            command = .cohortReads(id, through: message.sequence)
        }
        for (loop, streams) in cohort.streams.enumerated() where streams > 0 { commands[loop].append(command) }
    }

    private mutating func publishPersonally(_ message: RoutedMessage, registry: Registry) -> Int {
        var (refused, cost) = (0, 0)
        for ordinal in registry.streams(for: message) {
            guard let stream = live[ordinal], let recipient = registry[ordinal]?.recipient else { continue }
            if cost < Self.maximumCost {
                guard let entry = encoding.encode(message, for: recipient, cost: &cost) else { continue }
                if entry.isGap { refused += 1 }
                commands[stream.loop].append(.personalEvents(stream.session, entry))
            } else if recipient.receives(message) {
                commands[stream.loop].append(.sessionReads(stream.session, through: message.sequence))
            }
        }
        return refused
    }
}
