import Glibc
import HostSystem
import Synchronization

/// Hashes and checks passwords one after the other, on a thread of its own.
///
/// One derivation takes a core and megabytes for a fraction of a second. Several at once would let whoever sends wrong
/// passwords take all of the machine; the thread also has a low priority, so that signed-in clients go first. Networks of
/// clients take turns.
package final class PasswordHasher: Sendable {
    /// Derivations that wait for the one that runs.
    package static let maximumWaiting = 32
    /// The nice value of the thread.
    private static let niceness: Int32 = 10

    private struct Job: Sendable {
        /// `nil` for what an operator asks for.
        let network: ClientNetwork?
        let run: @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private struct State {
        /// A thread works, or is about to begin.
        var isRunning = false
        var waiting: [Job] = []
        /// Those that wait and the one that runs.
        var pending = 0
        /// The network whose job was the last to begin.
        var lastServed: ClientNetwork?
    }

    /// The cost of new hashes.
    let parameters: ScryptParameters
    private let derive: PasswordHash.Derivation
    /// A hash that no password has, for accounts that are not there.
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
            key: RandomOctets.make(count: PasswordHash.keyBytes)
        )
    }

    /// Number of derivations that run or wait.
    var pendingCount: Int { state.withLock { $0.pending } }

    /// Hashes a password under a new salt.
    ///
    /// - Throws: ``PasswordHasherBusy`` when too many wait.
    func hash(_ password: Password) async throws -> PasswordHash {
        try await run(for: nil) { [parameters, derive] in
            let salt = PasswordHash.randomSalt()
            return PasswordHash(parameters: parameters, salt: salt, key: try derive(password.bytes, salt, parameters))
        }
    }

    /// True if a password has this hash; `nil`, where there is no account, takes the same time and is false.
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

    /// The last job of the network with the most of them, if `job` is of one that has fewer: who floods the server with
    /// wrong passwords gets the refusals.
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
                // On Linux the calling thread's alone.
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

    /// The job to run now: the first of another network than the last one, so that networks take turns.
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
