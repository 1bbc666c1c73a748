package import HubProtocol
package import NIOCore

/// Builds a page of an installation's pending messages.
///
/// Consecutive messages that cannot be sent for the same reason become one gap.
package struct PendingPage {
    private struct Loss {
        /// The sequence up to which the stream was complete before the loss.
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

    /// Moves on to a sequence up to which no more messages follow.
    package mutating func pass(to sequence: LogSequence) { complete = max(complete, sequence) }

    /// Appends a message or a gap.
    package mutating func append(_ entry: CohortEntries.Entry) {
        endLoss()
        bytes.writeImmutableBuffer(entry.bytes)
        if entry.isGap { gaps += 1 } else { messages += 1 }
        pass(to: entry.sequence)
    }

    /// Records that messages up to a sequence cannot be sent.
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
