package import HubProtocol
import OutboundHTTP
package import ServerSentEvents
import Synchronization

/// The open event stream of one installation.
///
/// For one reader.
///
/// The connection closes when the stream is released or cancelled. A slow reader slows the hub's sending down.
package final class HubEventStream: Sendable {
    /// Three heartbeats of the hub (protocol §11.2): a connection that was lost silently must not look like a stream
    /// without news.
    package static let idleTimeout = Duration.seconds(45)

    private struct State {
        var decoder = ServerSentEventDecoder(maximumEventBytes: StreamEvent.maximumBytes)
        var ready: ArraySlice<ServerSentEvent> = []
        var retry: Duration?
    }

    private let stream: OutboundStream
    private let state = Mutex(State())

    init(_ stream: OutboundStream) {
        self.stream = stream
    }

    /// The time that the hub has asked to wait before reconnecting; `nil` before it has asked.
    package var retry: Duration? { state.withLock { $0.retry } }

    /// The next event.
    ///
    /// An event with an `id` and no `data` is a heartbeat, which only moves the cursor.
    ///
    /// - Returns: `nil` when the hub ended the stream regularly.
    /// - Throws: ``HubError/unreachable(_:)`` when the stream broke off, or nothing arrived for ``idleTimeout``;
    ///   ``HubError/malformedReply(_:)`` for an event larger than any that a hub sends;
    ///   ``HubError/cancelled`` when the task or the stream was cancelled.
    package func next() async throws(HubError) -> ServerSentEvent? {
        while true {
            if let event = state.withLock({ $0.ready.popFirst() }) { return event }
            let chunk: [UInt8]?
            do throws(OutboundError) {
                chunk = try await stream.nextChunk()
            } catch {
                throw HubError(error)
            }
            guard let chunk else { return nil }
            do throws(ServerSentEventError) {
                try decode(chunk)
            } catch {
                stream.cancel()
                throw .malformedReply(error.description)
            }
        }
    }

    package func cancel() {
        stream.cancel()
    }

    private func decode(_ chunk: [UInt8]) throws(ServerSentEventError) {
        try state.withLock { state throws(ServerSentEventError) in
            let events = try state.decoder.decode(chunk).map(\.withSendableID)
            for event in events {
                if let milliseconds = event.retry { state.retry = .milliseconds(min(milliseconds, Self.longestRetry)) }
            }
            // A reconnection time alone is not an event.
            state.ready = events.filter { $0.id != nil || $0.data != nil || $0.event != nil }[...]
        }
    }

    /// The longest accepted wait in milliseconds; a longer one is more likely a mistake.
    private static let longestRetry = 3_600_000
}

/// The ids that a reader can send back as `Last-Event-ID`.
package enum Cursor {
    /// True if every server accepts it in a request's head: 1 to 256 visible ASCII characters.
    ///
    /// Source: RFC 9110 §5.5.
    package static func isSendable(_ id: String) -> Bool {
        (1...ServerSentEventDecoder.maximumIDBytes).contains(id.utf8.count)
            && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension ServerSentEvent {
    /// The event without an id that could not be sent back.
    fileprivate var withSendableID: ServerSentEvent {
        guard let id, !Cursor.isSendable(id) else { return self }
        return ServerSentEvent(event: event, data: data, retry: retry)
    }
}
