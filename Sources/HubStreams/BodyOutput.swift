package import HubProtocol
package import NIOCore
import Signals
import Synchronization

/// A stream as the body of an ordinary response: for long polls, and for connections that were used before.
///
/// Holds one write at a time; the session waits until the response has read it.
package final class BodyOutput: StreamOutput, Sendable {
    private struct State {
        var session: StreamSession?
        var isOpen: Result<Void, ProtocolError>?
        var bytes = ByteBuffer()
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let changed = AsyncSignal()

    package init() {}

    /// Sets the session whose output this is; must be called before the session is attached.
    package func serve(_ session: StreamSession) {
        state.withLock { $0.session = session }
    }

    // MARK: - StreamOutput

    package func open() { signal { $0.isOpen = .success(()) } }
    /// Refuses the stream, and releases the session, which holds this output.
    package func refuse(_ error: ProtocolError) {
        signal { state in
            state.isOpen = .failure(error)
            state.session = nil
        }
    }

    package func close() { signal { $0.hasEnded = true } }

    package func write(_ bytes: ByteBuffer) -> Bool {
        signal { $0.bytes.writeImmutableBuffer(bytes) }
        return false
    }

    private func signal(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        changed.signal()
    }

    // MARK: - The response's side

    /// Waits until the hub accepts the stream.
    ///
    /// - Throws: The hub's refusal.
    package func opened() async throws {
        await wait { $0.isOpen != nil || $0.hasEnded }
        switch state.withLock({ $0.isOpen }) {
        case .success: return
        case .failure(let refusal): throw refusal
        case nil: throw ProtocolError.stopping
        }
    }

    /// Waits for bytes; `nil` at the end.
    package func next() async -> ByteBuffer? {
        await wait { $0.bytes.readableBytes > 0 || $0.hasEnded }
        let (bytes, session) = state.withLock { state in
            defer { state.bytes = ByteBuffer() }
            return (state.bytes, state.session)
        }
        guard bytes.readableBytes > 0 else { return nil }
        if let session { session.loop.eventLoop.execute { session.outputIsReady() } }
        return bytes
    }

    private func wait(until isReady: (borrowing State) -> Bool) async {
        await changed.wait { state.withLock { isReady($0) } }
        if Task.isCancelled { end() }
    }

    /// Ends the stream from the response's side, and releases the session, which holds this output.
    package func end() {
        signal { $0.hasEnded = true }
        let session = state.withLock { state in
            defer { state.session = nil }
            return state.session
        }
        guard let session else { return }
        session.loop.eventLoop.execute { session.outputHasEnded() }
    }
}
