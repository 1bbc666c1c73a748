import Glibc
import HostSystem
import HubProtocol
import Synchronization

/// Hashes and checks passwords one at a time, on its own thread.
///
/// One derivation needs a core and megabytes of memory for a fraction of a second. If several ran at once, a client
/// that sends wrong passwords could use up the whole machine. The thread has a low priority, so that signed-in clients
/// are served first. Client networks take turns.
package final class PasswordHasher: Sendable {
    /// The largest number of waiting derivations.
    package static let maximumWaiting = 32
    /// The nice value of the thread.
    private static let niceness: Int32 = 10

    private struct Job: Sendable {
        /// The client's network; `nil` for a request by an operator.
        let network: ClientNetwork?
        let run: @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private struct State {
        /// True if a thread runs, or is about to start.
        var isRunning = false
        var waiting: [Job] = []
        /// Number of jobs that wait or run.
        var pending = 0
        /// The network whose job started last.
        var lastServed: ClientNetwork?
    }

    /// The cost of new hashes.
    let parameters: ScryptParameters
    private let derive: PasswordHash.Derivation
    /// A hash that matches no password, for accounts that do not exist.
    private let dummy: PasswordHash
    private let state = Mutex(State())

    package init(
        parameters: ScryptParameters = .recommended,
        derive: @escaping PasswordHash.Derivation = PasswordHash.scrypt
    ) {
        self.parameters = parameters
        self.derive = derive
        dummy = PasswordHash(
            parameters: parameters,
            salt: PasswordHash.randomSalt(),
            key: RandomBytes.make(count: PasswordHash.keyBytes)
        )
    }

    /// Number of derivations that run or wait.
    var pendingCount: Int { state.withLock { $0.pending } }

    /// Hashes a password with a new salt.
    ///
    /// - Throws: ``PasswordHasherBusy`` when too many wait.
    func hash(_ password: Password) async throws -> PasswordHash {
        try await run(for: nil) { [parameters, derive] in
            let salt = PasswordHash.randomSalt()
            return PasswordHash(parameters: parameters, salt: salt, key: try derive(password.bytes, salt, parameters))
        }
    }

    /// Returns true if a password has this hash; `nil`, for an unknown account, takes as long and returns false.
    ///
    /// - Throws: ``PasswordHasherBusy`` when too many wait.
    func verify(_ password: Password, _ hash: PasswordHash?, for network: ClientNetwork) async throws -> Bool {
        let compared = hash ?? dummy
        return try await run(for: network) { [derive] in
            compared.hasKey(try derive(password.bytes, compared.salt, compared.parameters))
        }
    }

    private func run<Value: Sendable>(
        for network: ClientNetwork?,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(
                Job(
                    network: network,
                    run: { continuation.resume(with: Result { try work() }) },
                    fail: { continuation.resume(throwing: $0) }
                )
            )
        }
    }

    // MARK: The queue

    private func enqueue(_ job: Job) {
        let (refused, needsThread) = state.withLock { state -> (Job?, Bool) in
            var refused: Job?
            if state.pending > Self.maximumWaiting {
                guard let index = Self.lessEntitled(than: job, in: state.waiting) else { return (job, false) }
                refused = state.waiting.remove(at: index)
            } else {
                state.pending += 1
            }
            state.waiting.append(job)
            defer { state.isRunning = true }
            return (refused, !state.isRunning)
        }
        refused?.fail(PasswordHasherBusy())
        if needsThread { startThread() }
    }

    /// Returns the last job of the network with the most jobs, if `job` is from a network with fewer.
    ///
    /// The network that floods the server with wrong passwords is the one that is refused.
    private static func lessEntitled(than job: Job, in waiting: [Job]) -> Int? {
        let counts = Dictionary(waiting.map { ($0.network, 1) }, uniquingKeysWith: +)
        guard let most = counts.max(by: { $0.value < $1.value }), most.value > (counts[job.network] ?? 0) + 1 else {
            return nil
        }
        return waiting.lastIndex { $0.network == most.key }
    }

    private func startThread() {
        do {
            try BackgroundThread.start { [self] in
                // On Linux this applies to the calling thread only.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
                while let job = next() {
                    job.run()
                    state.withLock { $0.pending -= 1 }
                }
            }
        } catch {
            let jobs = state.withLock { state in
                defer { state = State() }
                return state.waiting
            }
            for job in jobs { job.fail(error) }
        }
    }

    /// Removes and returns the next job: the first of a network other than the one served last.
    private func next() -> Job? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            let index = state.waiting.firstIndex { $0.network != state.lastServed } ?? 0
            state.lastServed = state.waiting[index].network
            return state.waiting.remove(at: index)
        }
    }
}

/// Too many passwords wait to be checked.
package struct PasswordHasherBusy: Error {}
