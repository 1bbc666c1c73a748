package import HubProtocol
package import NIOCore

/// Builds a page of the messages that an installation has yet to get.
///
/// Messages that cannot be sent become a gap, one for all that follow each other.
package struct OwedPage {
    private struct Loss {
        /// The stream was complete up to here before it.
        let after: LogSequence
        var through: LogSequence
        let reason: String
    }

    private let encoding: EventEncoding
    package private(set) var bytes = ByteBuffer()
    private var messages = 0
    package private(set) var gaps = 0
    /// The stream is complete up to this sequence.
    private var complete: LogSequence
    private var loss: Loss?

    package init(after sequence: LogSequence, encoding: EventEncoding) {
        complete = sequence
        self.encoding = encoding
    }

    /// Goes on to a place before which nothing more is to come.
    package mutating func pass(to sequence: LogSequence) { complete = max(complete, sequence) }

    /// Appends messages, or the gap in their place.
    package mutating func append(_ entry: CohortEntries.Entry) {
        endLoss()
        bytes.writeImmutableBuffer(entry.bytes)
        if entry.isGap { gaps += 1 } else { messages += 1 }
        pass(to: entry.sequence)
    }

    /// Notes that messages up to a place cannot be sent.
    package mutating func lose(through sequence: LogSequence, reason: String) {
        if loss?.reason != reason { endLoss() }
        loss = loss ?? Loss(after: complete, through: sequence, reason: reason)
        loss?.through = sequence
        pass(to: sequence)
    }

    private mutating func endLoss() {
        guard let ended = loss else { return }
        loss = nil
        append(encoding.gap(from: ended.after.next, through: ended.through, reason: ended.reason))
    }

    package mutating func finished() -> StreamPage {
        endLoss()
        return StreamPage(bytes: bytes.readableBytes > 0 ? bytes : nil, messages: messages, through: complete)
    }
}
