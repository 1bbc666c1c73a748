package import HubProtocol
package import HubRouting
import NIOCore

/// One live stream of an installation.
///
/// `@unchecked Sendable`: mutable state is touched on the loop's event loop only. An idle session holds no buffers.
package final class StreamSession: @unchecked Sendable {
    package enum State {
        /// Waits until the hub attaches it.
        case requested
        /// Reads from the store up to a sequence, one page at a time.
        case catchingUp(through: LogSequence)
        /// Reads from memory.
        case live
        case ended
    }

    package let id: StreamID
    package let loop: StreamLoop
    let output: any StreamOutput
    let isPoll: Bool
    /// True if heartbeats are events, which the script of a page sees.
    var hasHeartbeatEvents = false
    /// The stream's place in a quota, which is free again once this value is released.
    private var place: (any Sendable)?
    private(set) var ordinal: Ordinal = 0
    /// `nil` before the stream is attached and after it has ended.
    var recipient: Recipient?
    package internal(set) var state = State.requested
    /// Everything up to this sequence was passed to the output; never decreases.
    package internal(set) var cursor: LogSequence = 0
    /// The log's end when the stream was attached to its cohort: later messages count as sent to an open stream.
    var since: LogSequence = 0
    /// The sequence of the loss that the session's first gap announced.
    private(set) var announcedLoss: LogSequence?
    var cohort: CohortLog?
    /// Messages for this stream alone: sequences above the cursor, in order.
    private(set) var personal: [CohortLog.Entry] = []
    private var personalBytes = 0
    /// True if the output can accept bytes.
    package private(set) var isReady = true
    /// True if a page of the store was requested and has not arrived.
    var awaitsPage = false
    /// True if messages were written since the progress was last reported.
    var hasProgress = false
    /// True if the position must be written as soon as nothing else waits: to a stream once it has caught up, so that
    /// its reader can tell which messages are new; to a poll at its end.
    var owesPosition: Bool
    /// Ends a poll that no earlier write has ended.
    var beat: Scheduled<Void>?
    /// The expiry of the token that opened the stream, in seconds since 1970.
    private(set) var validUntil: Int64 = .max
    /// The time of the last write, in seconds of the loop's clock.
    private(set) var lastWrite: UInt32 = 0

    init(id: StreamID, loop: StreamLoop, output: any StreamOutput, place: (any Sendable)?, isPoll: Bool) {
        self.id = id
        self.loop = loop
        self.output = output
        self.isPoll = isPoll
        self.place = place
        self.owesPosition = !isPoll
    }

    /// Releases everything that only an open stream needs.
    func release() {
        state = .ended
        // The timer would keep the session in memory until it fires.
        beat?.cancel()
        beat = nil
        place = nil
    }

    func attached(_ attachment: StreamAttachment, to cohort: CohortLog) {
        ordinal = attachment.ordinal
        recipient = attachment.recipient
        self.cohort = cohort
        cursor = attachment.beginning.after
        since = attachment.through
        announcedLoss = attachment.beginning.announcedLoss
        // A poll ends soon enough on its own.
        if !isPoll { validUntil = attachment.validUntil }
    }

    package var hasEnded: Bool {
        if case .ended = state { true } else { false }
    }

    package var isLive: Bool {
        if case .live = state { true } else { false }
    }

    /// True if memory holds entries that the stream has yet to get.
    package var hasPending: Bool {
        !personal.isEmpty || (cohort?.last ?? 0) > cursor
    }

    /// Keeps an entry for this stream alone.
    ///
    /// - Returns: False if the entries exceed ``StreamLimits/personalBytes``; a single entry may.
    func keep(_ entry: CohortLog.Entry) -> Bool {
        personal.append(entry)
        personalBytes += entry.bytes.readableBytes
        return personalBytes <= loop.limits.personalBytes || personal.count == 1
    }

    /// Removes the entries for this stream alone up to a sequence.
    func dropPersonal(through sequence: LogSequence = .end) {
        personal.removeAll { $0.sequence <= sequence }
        personalBytes = personal.reduce(0) { $0 + $1.bytes.readableBytes }
    }

    func write(_ bytes: ByteBuffer) {
        lastWrite = loop.seconds
        isReady = output.write(bytes)
    }

    /// Called by the output when it can accept more bytes.
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
