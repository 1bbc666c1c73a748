import CCurl
import HostSystem
import Signals
import Synchronization

/// Passes commands to the thread on which libcurl runs.
///
/// The thread, its connections and its handles exist while there are transfers and for ``Limits/idleLifetime`` afterwards,
/// so a process that sends one request an hour holds nothing in between.
final class TransferLoop: Sendable {
    enum Command {
        case start(Transfer)
        case startBatch(TransferBatch)
        case cancel(Transfer)
        case resume(Transfer)

        /// Ends the transfer soon even if bytes continue to arrive.
        case boundRest(Transfer)

        /// An attempt to open a connection for HTTP/2 has ended.
        case opened(ConnectionOpening)
    }

    /// The commands that the thread takes at once.
    struct Mail {
        var commands: [Command]
        var isClosed: Bool
    }

    struct Limits: Sendable {
        var maximumConnections: Int
        var maximumConnectionsPerOrigin: Int
        var streamsPerConnection: Int
        var multiplexedConnectionsPerOrigin: Int

        /// Time after which a silent host over HTTP/2 is asked whether it is there, and time for its answer.
        var silence: Duration

        /// Time for which connections and the thread are kept after the last transfer.
        var idleLifetime: Duration
    }

    private struct State {
        /// The running worker's handle, to wake the worker; `nil` if there is no worker.
        ///
        /// Used only under the lock, so that it cannot be freed during use.
        var multi: UnsafeMutableRawPointer?
        var commands: [Command] = []
        var isClosed = false
    }

    private let limits: Limits
    private let state = Mutex(State())
    private let released = AsyncSignal()

    init(limits: Limits) {
        self.limits = limits
    }

    func start(_ transfer: Transfer) {
        if let refusal = start(.start(transfer), transfer.plan) { transfer.finish(refusal) }
    }

    /// Starts the transfers of a batch, which the thread takes all at once.
    func start(_ batch: TransferBatch) {
        if let refusal = start(.startBatch(batch), batch.plan) { batch.fail(refusal) }
    }

    /// - Returns: The reason why nothing was started; `nil` if the worker has the command.
    private func start(_ command: Command, _ plan: TransferPlan) -> OutboundError? {
        state.withLock { state in
            guard !state.isClosed else { return .shutDown }
            if state.multi == nil, let reason = startWorker(&state) {
                return .unreachable(host: plan.address.displayHost, reason: reason)
            }
            post(command, &state)
            return nil
        }
    }

    /// Sends a command; without a worker there is no transfer to which it could apply.
    func send(_ command: Command) {
        state.withLock { state in
            if state.multi != nil { post(command, &state) }
        }
    }

    /// Ends every transfer and refuses new ones.
    ///
    /// Returns at once; see ``closed()``.
    func close() {
        state.withLock { state in
            state.isClosed = true
            if let multi = state.multi { curl_multi_wakeup(multi) }
        }
    }

    /// Returns when the thread has ended all transfers and closed all connections.
    func closed() async {
        await released.waitDespiteCancellation { state.withLock { $0.multi == nil } }
    }

    private func post(_ command: Command, _ state: inout State) {
        // Further commands need no call: the worker is already awake.
        if state.commands.isEmpty, let multi = state.multi { curl_multi_wakeup(multi) }
        state.commands.append(command)
    }

    /// - Returns: The reason why there is no worker; `nil` if there is one.
    private func startWorker(_ state: inout State) -> String? {
        guard Self.isReady else { return "libcurl did not start" }
        guard let multi = curl_multi_init() else { return "out of memory or descriptors" }
        // Only the worker uses it after its thread has started.
        nonisolated(unsafe) let owned = multi
        do {
            try BackgroundThread.start { TransferWorker(multi: owned, loop: self, limits: self.limits).run() }
        } catch {
            curl_multi_cleanup(multi)
            return error.reason
        }
        state.multi = multi
        return nil
    }

    private static let isReady = ccurl_global_init() == CURLE_OK
}

// MARK: - The worker's side

extension TransferLoop {
    func takeMail() -> Mail {
        state.withLock { state in
            let mail = Mail(commands: state.commands, isClosed: state.isClosed)
            state.commands = []
            return mail
        }
    }

    /// Releases an idle worker, unless there are commands for it.
    ///
    /// - Returns: True if the worker must end.
    func releaseIdleWorker() -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty, !state.isClosed else { return false }
            state.multi = nil
            return true
        }
    }

    /// Releases a worker that ends because of ``close()``; only its handle is still to be freed.
    ///
    /// - Returns: Commands that came too late; after they are refused, call ``announceRelease()``.
    func releaseClosedWorker() -> [Command] {
        state.withLock { state in
            state.multi = nil
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Lets ``closed()`` return.
    func announceRelease() { released.signal() }
}
