package import HubProtocol
package import HubRouting
import NIOCore

/// One live stream of an installation.
///
/// `@unchecked Sendable`: everything that changes is touched on its loop's event loop only. An idle session holds no
/// buffers.
package final class StreamSession: @unchecked Sendable {
    package enum State {
        /// The request waits for its place in the log.
        case requested
        /// Reads from the store up to a place, then looks again; one page is asked for at a time.
        case catchingUp(through: LogSequence)
        /// Takes what is in memory.
        case live
        case ended
    }

    package let id: StreamID
    package let loop: StreamLoop
    let output: any StreamOutput
    let isPoll: Bool
    /// Its place in a quota, which is free again when this goes.
    private var place: (any Sendable)?
    private(set) var ordinal: Ordinal = 0
    /// `nil` before it is attached and after its end.
    var recipient: Recipient?
    package internal(set) var state = State.requested
    /// Everything up to here was handed to the output; it never moves back.
    package internal(set) var cursor: LogSequence = 0
    /// The sequence of the loss that the session's first gap announced.
    private(set) var toldLoss: LogSequence?
    var cohort: CohortLog?
    /// Messages for this stream alone: sequences above the cursor, in order.
    private(set) var personal: [CohortLog.Entry] = []
    private var personalBytes = 0
    /// The output can take bytes.
    package private(set) var isReady = true
    /// A page of the store is on its way.
    var awaitsPage = false
    /// Something that matters was written since the progress was last noted.
    var hasProgress = false
    /// The position is to be written as soon as nothing else waits: to a stream once it has all that waited for it, so
    /// that its reader can tell what is new; to a poll at its end.
    var owesPosition: Bool
    /// Ends a poll that nothing else has answered.
    var beat: Scheduled<Void>?
    /// When the token that opened it expires, in seconds since 1970.
    private(set) var validUntil: Int64 = .max
    /// Seconds of the loop's clock at the last write.
    private(set) var lastWrite: UInt32 = 0

    init(id: StreamID, loop: StreamLoop, output: any StreamOutput, place: (any Sendable)?, isPoll: Bool) {
        self.id = id
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

    func attached(_ attachment: StreamAttachment, to cohort: CohortLog) {
        ordinal = attachment.ordinal
        recipient = attachment.recipient
        self.cohort = cohort
        cursor = attachment.beginning.after
        toldLoss = attachment.beginning.toldLoss
        // A poll ends before clocks could differ by more.
        if !isPoll { validUntil = attachment.validUntil }
    }

    package var hasEnded: Bool {
        if case .ended = state { true } else { false }
    }

    package var isLive: Bool {
        if case .live = state { true } else { false }
    }

    /// Memory holds something that was not handed out yet.
    package var hasPending: Bool {
        !personal.isEmpty || (cohort?.last ?? 0) > cursor
    }

    /// Keeps an entry for this stream alone.
    ///
    /// - Returns: False if more waits than ``StreamLimits/personalBytes``; a single entry is always kept.
    func keep(_ entry: CohortLog.Entry) -> Bool {
        personal.append(entry)
        personalBytes += entry.bytes.readableBytes
        return personalBytes <= loop.limits.personalBytes || personal.count == 1
    }

    /// Forgets the entries up to a place.
    func dropPersonal(through sequence: LogSequence = .end) {
        personal.removeAll { $0.sequence <= sequence }
        personalBytes = personal.reduce(0) { $0 + $1.bytes.readableBytes }
    }

    func write(_ bytes: ByteBuffer) {
        lastWrite = loop.seconds
        isReady = output.write(bytes)
    }

    /// Called by the output when it can take more.
    package func outputIsReady() {
        loop.eventLoop.preconditionInEventLoop()
        isReady = true
        loop.outputIsReady(self)
    }

    /// Called by the output when its connection is gone.
    package func outputHasEnded() {
        loop.eventLoop.preconditionInEventLoop()
        loop.remove(self, nil)
    }
}
