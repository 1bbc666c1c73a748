import Foundation
import HubProtocol
import NIOCore
import ServerSentEvents

/// Encodes what a hub writes to streams.
struct EventEncoding: Sendable {
    /// The most bytes that one message may become on a stream: a template can repeat a property many times.
    static let maximumMessageBytes = 1 << 20
    /// Tells clients how long to wait before they come back.
    static let retry = ByteBuffer(bytes: ServerSentEvent(retry: 2_000).encoded())

    /// This start's epoch.
    let epoch: String

    /// Encodes all that one message becomes on a stream.
    ///
    /// Only the last event carries the position: a client that loses the connection in between resumes before the
    /// message and sees all of it again.
    ///
    /// - Returns: `nil` when there is nothing to show or the message grew beyond ``maximumMessageBytes``.
    func encode(_ events: [StreamEvent], sequence: Int64) -> ByteBuffer? {
        guard !events.isEmpty else { return nil }
        var buffer = ByteBuffer()
        for (index, event) in events.enumerated() {
            let id = index == events.count - 1 ? position(sequence) : nil
            buffer.writeBytes(ServerSentEvent(id: id, data: event.encoded()).encoded())
            guard buffer.readableBytes <= Self.maximumMessageBytes else { return nil }
        }
        return buffer
    }

    /// A block without data: the stream is complete up to this position.
    func heartbeat(_ sequence: Int64) -> ByteBuffer {
        ByteBuffer(bytes: ServerSentEvent(id: position(sequence)).encoded())
    }

    func gap(after cursor: String?, resumesAfter sequence: Int64, reason: String) -> ByteBuffer {
        let gap = StreamGap(after: cursor, resumesAt: sequence + 1, reason: reason)
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

    func position(_ sequence: Int64) -> String {
        StreamPosition(epoch: epoch, sequence: sequence).text
    }
}
