import Foundation
package import HubProtocol
package import HubRouting
package import NIOCore
import ServerSentEvents

/// Encodes the events of streams.
package struct EventEncoding: Sendable {
    /// Maximum size of one message on a stream: a template can repeat a property many times.
    package static let maximumMessageBytes = Template.maximumRenderedBytes
    /// Asks clients to wait two seconds before they reconnect.
    package static let retry = ByteBuffer(bytes: ServerSentEvent(retry: 2_000).encoded())

    /// The epoch of the current start.
    let epoch: String

    package init(epoch: String) { self.epoch = epoch }

    /// The reason for the gap that replaces a message larger than ``maximumMessageBytes``.
    static let tooLarge = "a message, rendered by this device's templates, exceeds \(maximumMessageBytes >> 10) KiB"

    /// Renders and encodes a message for a recipient's stream: one event for each matching template, or one event for a
    /// native message.
    ///
    /// Only the last event carries the position: a client that loses the connection before it resumes before the
    /// message, and gets all of its events again. All templates of a recipient share a budget of
    /// ``maximumMessageBytes``, because clients choose them. A message that exceeds the budget becomes a gap.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - recipient: The recipient, or the one that represents a cohort.
    ///   - cost: Increased by the cost of rendering, in bytes.
    /// - Returns: `nil` if the message is not for this recipient.
    package func encode(
        _ message: RoutedMessage,
        for recipient: Recipient,
        cost: inout Int
    ) -> CohortEntries.Entry? {
        let targets = recipient.addressees(of: message)
        guard !targets.isEmpty else { return nil }
        var budget = RenderingBudget(bytes: Self.maximumMessageBytes)
        defer { cost += Self.maximumMessageBytes - budget.left }
        var buffer = ByteBuffer()
        for (index, target) in targets.enumerated() {
            guard let event = recipient.event(for: message, target, within: &budget) else {
                return gap(from: message.sequence, through: message.sequence, reason: Self.tooLarge)
            }
            let id = index == targets.count - 1 ? position(message.sequence) : nil
            buffer.writeBytes(ServerSentEvent(id: id, data: event.encoded()).encoded())
        }
        return CohortEntries.Entry(sequence: message.sequence, bytes: buffer)
    }

    /// Returns the gap that replaces messages that cannot be sent.
    package func gap(from first: LogSequence, through last: LogSequence, reason: String) -> CohortEntries.Entry {
        let bytes = gap(after: position(first.previous), resumesAfter: last, reason: reason)
        return CohortEntries.Entry(sequence: last, bytes: bytes, isGap: true)
    }

    /// Returns the gap that replaces messages that a restore lost.
    package func gap(_ loss: Loss) -> CohortEntries.Entry {
        let bytes = gap(
            after: position(loss.sequence.previous),
            resumesAfter: loss.sequence,
            reason: loss.reason,
            loss: loss
        )
        return CohortEntries.Entry(sequence: loss.sequence, bytes: bytes, isGap: true)
    }

    /// A block that states that the stream is complete up to a position, without data unless it must be an event.
    func heartbeat(_ sequence: LogSequence, asEvent: Bool) -> ByteBuffer {
        let id = position(sequence)
        let block =
            asEvent
            ? ServerSentEvent(id: id, event: StreamEventName.heartbeat, data: "{}") : ServerSentEvent(id: id)
        return ByteBuffer(bytes: block.encoded())
    }

    func gap(after cursor: String?, resumesAfter sequence: LogSequence, reason: String, loss: Loss? = nil) -> ByteBuffer
    {
        let gap = StreamGap(after: cursor, resumesAt: sequence.next, reason: reason, loss: loss?.name)
        let event = ServerSentEvent(id: position(sequence), event: StreamEventName.gap, data: Self.json(gap))
        return ByteBuffer(bytes: event.encoded())
    }

    static func end(_ name: String) -> ByteBuffer {
        ByteBuffer(bytes: ServerSentEvent(event: name, data: "{}").encoded())
    }

    private static func json(_ gap: StreamGap) -> String {
        // A gap consists of strings and a number: encoding it cannot fail.
        (try? JSONEncoder.sorted.text(gap)) ?? "{}"
    }

    func position(_ sequence: LogSequence) -> String {
        StreamPosition(epoch: epoch, sequence: sequence).text
    }
}
