import Foundation
package import HubProtocol
package import HubRouting
package import NIOCore
import ServerSentEvents

/// Encodes what a hub writes to streams.
package struct EventEncoding: Sendable {
    /// Most bytes that one message may become on a stream: a template can repeat a property many times.
    package static let maximumMessageBytes = Template.maximumRenderedBytes
    /// Tells clients how long to wait before they come back.
    package static let retry = ByteBuffer(bytes: ServerSentEvent(retry: 2_000).encoded())

    /// This start's epoch.
    let epoch: String

    package init(epoch: String) { self.epoch = epoch }

    /// Why a message that grew beyond ``maximumMessageBytes`` is a gap.
    static let tooLarge = "a message became more than \(maximumMessageBytes >> 10) KiB through this device's templates"

    /// Renders and encodes all that one message becomes on a recipient's stream, an event for each template that matches, or
    /// one for a native message; `nil` when the message is not for this recipient.
    ///
    /// Only the last event carries the position: a client that loses the connection in between resumes before the
    /// message and sees all of it again. All templates of a recipient together have one budget of
    /// ``maximumMessageBytes``, since they are a client's; a message that exceeds it is a gap instead. `cost` grows by what
    /// rendering has cost, in bytes.
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

    /// Returns a gap instead of messages that cannot be sent.
    package func gap(from first: LogSequence, through last: LogSequence, reason: String) -> CohortEntries.Entry {
        let bytes = gap(after: position(first.previous), resumesAfter: last, reason: reason)
        return CohortEntries.Entry(sequence: last, bytes: bytes, isGap: true)
    }

    /// Returns a gap instead of messages that a restore lost.
    package func gap(_ loss: Loss) -> CohortEntries.Entry {
        let bytes = gap(
            after: position(loss.sequence.previous),
            resumesAfter: loss.sequence,
            reason: loss.reason,
            loss: loss
        )
        return CohortEntries.Entry(sequence: loss.sequence, bytes: bytes, isGap: true)
    }

    /// A block without data: the stream is complete up to this position.
    func heartbeat(_ sequence: LogSequence) -> ByteBuffer {
        ByteBuffer(bytes: ServerSentEvent(id: position(sequence)).encoded())
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
        // A gap is strings and a number: encoding it cannot fail.
        (try? JSONEncoder.sorted.encode(gap)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    func position(_ sequence: LogSequence) -> String {
        StreamPosition(epoch: epoch, sequence: sequence).text
    }
}
