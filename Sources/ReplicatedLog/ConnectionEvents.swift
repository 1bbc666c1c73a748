import CNats
import Logging
import Synchronization

/// The losses and returns of a connection, each of which is logged once.
final class ConnectionEvents: Sendable {
    enum Event: Sendable {
        case lost(EngineFault)
        case returned
    }

    private struct State {
        var lostAt: ContinuousClock.Instant?
        var isEnding = false
        var reported: Set<UInt32> = []
        var receivers: [@Sendable (Event) -> Void] = []
    }

    private let logger: Logger
    private let state = Mutex(State())

    init(_ logger: Logger) { self.logger = logger }

    func receive(_ receiver: @escaping @Sendable (Event) -> Void) { state.withLock { $0.receivers.append(receiver) } }

    /// Marks the end of the connection as intended, so that it is not logged.
    func end() { state.withLock { $0.isEnding = true } }

    /// Registers this object, which `context` points to, for the connection's events.
    ///
    /// The context is released when the connection is closed, after which nats.c does not call it.
    func register(in options: OpaquePointer, _ context: UnsafeMutableRawPointer) {
        natsOptions_SetDisconnectedCB(options, { _, context in ConnectionEvents.of(context)?.lost() }, context)
        natsOptions_SetReconnectedCB(
            options,
            { connection, context in ConnectionEvents.of(context)?.returned(ConnectedServer.address(connection)) },
            context
        )
        natsOptions_SetErrorHandler(options, { ConnectionEvents.of($3)?.failed($2) }, context)
        natsOptions_SetClosedCB(
            options,
            { _, context in
                guard let context else { return }
                Unmanaged<ConnectionEvents>.fromOpaque(context).takeRetainedValue().closed()
            },
            context
        )
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> ConnectionEvents? {
        context.map { Unmanaged<ConnectionEvents>.fromOpaque($0).takeUnretainedValue() }
    }

    private func lost() {
        let isNews = state.withLock { state in
            guard state.lostAt == nil else { return false }
            state.lostAt = .now
            return !state.isEnding
        }
        if isNews { logger.warning("the connection to the log's servers is lost; waiting for any of them") }
        send(.lost(.disconnected))
    }

    private func returned(_ server: String) {
        let lostAt = state.withLock { state in
            defer { state.lostAt = nil }
            return state.lostAt
        }
        let seconds = lostAt.map { (ContinuousClock.now - $0) / .seconds(1) } ?? 0
        logger.notice(
            "the connection to the log's servers is back",
            metadata: ["log.server": "\(server)", "log.away.seconds": "\((seconds * 10).rounded() / 10)"]
        )
        send(.returned)
    }

    private func closed() {
        if !state.withLock({ $0.isEnding }) {
            logger.error("the servers of the log refuse this node's connection for good")
        }
        send(.lost(.closed))
    }

    /// Errors of the connection that no call returns; each kind is logged once.
    private func failed(_ status: natsStatus) {
        guard state.withLock({ $0.reported.insert(status.rawValue).inserted }) else { return }
        logger.warning(
            "the connection to the log's servers reports an error",
            metadata: ["error.reason": "\(NatsStatus.text(status))"]
        )
    }

    private func send(_ event: Event) {
        for receiver in state.withLock({ $0.receivers }) { receiver(event) }
    }
}

enum ConnectedServer {
    /// The address of the connected server, without a user's name.
    static func address(_ connection: OpaquePointer?) -> String {
        var buffer = [CChar](repeating: 0, count: 512)
        guard natsConnection_GetConnectedUrl(connection, &buffer, buffer.count) == NATS_OK else { return "none" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
