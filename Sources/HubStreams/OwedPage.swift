import NIOCore

/// A page of what an installation is owed, in the making.
///
/// Messages that cannot be given become a gap, one for all that follow each other.
struct OwedPage {
    private struct Loss {
        /// The stream was complete up to here before it.
        let after: Int64
        var through: Int64
        let reason: String
    }

    private let encoding: EventEncoding
    private(set) var bytes = ByteBuffer()
    private var messages = 0
    private(set) var gaps = 0
    /// The stream is complete up to this sequence.
    private var complete: Int64
    private var loss: Loss?

    init(after sequence: Int64, encoding: EventEncoding) {
        complete = sequence
        self.encoding = encoding
    }

    /// Goes on to a place before which nothing more is owed.
    mutating func pass(to sequence: Int64) { complete = max(complete, sequence) }

    /// Appends messages, or the gap in their place.
    mutating func append(_ entry: CohortEntries.Entry) {
        endLoss()
        bytes.writeImmutableBuffer(entry.bytes)
        if entry.isGap { gaps += 1 } else { messages += 1 }
        pass(to: entry.sequence)
    }

    /// Notes that what is owed up to a place cannot be given.
    mutating func lose(through sequence: Int64, reason: String) {
        if loss?.reason != reason { endLoss() }
        loss = loss ?? Loss(after: complete, through: sequence, reason: reason)
        loss?.through = sequence
        pass(to: sequence)
    }

    private mutating func endLoss() {
        guard let ended = loss else { return }
        loss = nil
        append(encoding.gap(from: ended.after + 1, through: ended.through, reason: ended.reason))
    }

    mutating func finished() -> StreamLoop.Page {
        endLoss()
        return StreamLoop.Page(bytes: bytes.readableBytes > 0 ? bytes : nil, messages: messages, through: complete)
    }
}
