import HubProtocol
import NIOCore

/// One live stream of an installation.
///
/// `@unchecked Sendable`: everything that changes is touched on its loop's event loop only. An idle session holds no
/// buffers.
final class StreamSession: @unchecked Sendable {
    enum State {
        /// The request waits for its place in the log.
        case requested
        /// Reads from the store up to a place, then looks again; one page is asked for at a time.
        case catchingUp(through: Int64)
        /// Takes what is in memory.
        case live
        case ended
    }

    let loop: StreamLoop
    let output: any StreamOutput
    let isPoll: Bool
    /// In the quota of its rule and address.
    var place: StreamPlace?
    /// The installation's ordinal, known from the attachment on.
    private(set) var ordinal: Int64 = 0
    var state = State.requested
    /// Everything owed up to here was handed to the output; it never moves back.
    var cursor: Int64 = 0
    /// The sequence of a loss that the gap which it began with stands for.
    var toldLoss: Int64?
    var cohort: CohortLog?
    /// What names this stream: sequences above the cursor, in order.
    private(set) var personal: [CohortLog.Entry] = []
    private var personalBytes = 0
    /// The output can take bytes.
    var isReady = true
    /// A page of the store is on its way.
    var awaitsPage = false
    /// Something that matters was written since the progress was last noted.
    var hasProgress = false
    /// The position is to be written as soon as nothing else waits: to a stream once it has all that waited for it, so
    /// that its reader can tell what is new; to a poll at its end.
    var owesPosition: Bool
    /// Why the hub ended it, `nil` when the client or its connection did.
    var ending: StreamEnd?
    /// Ends a poll that nothing else has answered.
    var beat: Scheduled<Void>?
    /// When the token that opened it expires, in seconds since 1970.
    var validUntil = Int64.max
    /// Seconds of the loop's clock at the last write.
    var lastWrite: UInt32 = 0

    init(loop: StreamLoop, output: any StreamOutput, place: StreamPlace? = nil, isPoll: Bool = false) {
        self.loop = loop
        self.output = output
        self.isPoll = isPoll
        self.place = place
        self.owesPosition = !isPoll
    }

    /// Lets go of what only an open stream needs.
    func release() {
        state = .ended
        // The timer would keep the session until its time.
        beat?.cancel()
        beat = nil
        place = nil
    }

    func attached(ordinal: Int64, cohort: CohortLog, cursor: Int64) {
        self.ordinal = ordinal
        self.cohort = cohort
        self.cursor = cursor
    }

    var hasEnded: Bool {
        if case .ended = state { true } else { false }
    }

    /// Whether memory holds something that was not handed out yet.
    var hasPending: Bool {
        !personal.isEmpty || (cohort?.last ?? 0) > cursor
    }

    /// Keeps an entry for this stream alone.
    ///
    /// - Returns: Whether all that waits is within ``StreamLimits/personalBytes``; a single entry always is.
    func keep(_ entry: CohortLog.Entry) -> Bool {
        personal.append(entry)
        personalBytes += entry.bytes.readableBytes
        return personalBytes <= loop.limits.personalBytes || personal.count == 1
    }

    /// Forgets the entries up to a place.
    func dropPersonal(through sequence: Int64 = .max) {
        personal.removeAll { $0.sequence <= sequence }
        personalBytes = personal.reduce(0) { $0 + $1.bytes.readableBytes }
    }

    func write(_ bytes: ByteBuffer) {
        lastWrite = loop.seconds
        isReady = output.write(bytes)
    }

    /// Called by the output when it can take more.
    func outputIsReady() {
        loop.eventLoop.preconditionInEventLoop()
        isReady = true
        loop.outputIsReady(self)
    }

    /// Called by the output when its connection is gone.
    func outputHasEnded() {
        loop.eventLoop.preconditionInEventLoop()
        loop.remove(self)
    }
}
