import Foundation
package import HubProtocol
import HubStreams
package import NIOCore
package import ServerSentEvents
import Synchronization

/// A stream's output that keeps what it is given, and takes more only when it is told to.
package final class Probe: StreamOutput, Sendable {
    private struct State {
        var decoder = ServerSentEventDecoder(maximumEventBytes: 4 << 20)
        var events: [ServerSentEvent] = []
        var writes = 0
        var isOpen = false
        var isClosed = false
        var refusal: ProtocolError?
        var takes = true
    }

    private let state = Mutex(State())

    package init() {}

    package func open() { state.withLock { $0.isOpen = true } }
    package func close() { state.withLock { $0.isClosed = true } }
    package func refuse(_ error: ProtocolError) { state.withLock { $0.refusal = error } }

    package func write(_ bytes: ByteBuffer) -> Bool {
        state.withLock { state in
            state.writes += 1
            state.events += (try? state.decoder.decode(bytes.readableBytesView)) ?? []
            return state.takes
        }
    }

    package var isOpen: Bool { state.withLock { $0.isOpen } }
    package var isClosed: Bool { state.withLock { $0.isClosed } }
    package var refusal: ProtocolError? { state.withLock { $0.refusal } }
    package var writes: Int { state.withLock { $0.writes } }
    /// All blocks so far, in order.
    package var events: [ServerSentEvent] { state.withLock { $0.events } }
    package var names: [String] { events.compactMap(\.event) }
    /// The last id that was seen.
    package var cursor: String? { events.last { $0.id != nil }?.id }

    package var messages: [StreamEvent] {
        events.compactMap { event in
            event.event == nil ? event.data.flatMap { try? StreamEvent(parsing: $0) } : nil
        }
    }

    package var titles: [String] { messages.map(\.title) }

    /// Decides whether the output takes more than what it is being given.
    package func take(_ takes: Bool) { state.withLock { $0.takes = takes } }
}

extension StreamEvent {
    /// The member `title` of the standard template.
    package var title: String {
        (try? JSONDecoder().decode([String: String].self, from: Data(body.utf8)))?["title"] ?? "?"
    }
}
