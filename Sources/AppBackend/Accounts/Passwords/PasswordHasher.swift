import FairShares
import HostSystem
import HubProtocol
import Synchronization

/// Hashes and checks passwords one at a time, on its own thread.
///
/// One derivation needs a core and megabytes of memory for a fraction of a second. If several ran at once, a client
/// that sends wrong passwords could use up the whole machine. The thread has an ordinary priority: with a low one, the
/// work of refusing a flood of attempts would leave it no time for those that wait.
///
/// When too many attempts wait, one of the network, account or password with the most of them is refused; users on
/// networks and devices that they have used before have places of their own, and come first.
package final class PasswordHasher: Sendable {
    /// The largest number of waiting derivations.
    package static let maximumWaiting = 32
    /// The largest number of further ones of users on networks and devices that they have used before, and of
    /// operators.
    static let maximumKnownWaiting = 8

    private struct Job: Sendable {
        let run: @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private struct State {
        /// True if a thread runs, or is about to start.
        var isRunning = false
        var jobs: [Int: Job] = [:]
        /// The waiting jobs in order of arrival.
        var order: [Int] = []
        var places = SharedPlaces<Int>(places: maximumWaiting, kept: maximumKnownWaiting, ways: 3)
        var number = 0
        /// True if the oldest job is next, false if one of the smallest group is.
        var servesOldest = false
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
    var pendingCount: Int { state.withLock { $0.jobs.count + ($0.isRunning ? 1 : 0) } }

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
    func verify(_ password: Password, _ hash: PasswordHash?, for attempt: SignInAttempt) async throws -> Bool {
        let compared = hash ?? dummy
        return try await run(for: attempt) { [derive] in
            compared.hasKey(try derive(password.bytes, compared.salt, compared.parameters))
        }
    }

    /// Queues work for an attempt, or for an operator's request if that is `nil`.
    private func run<Value: Sendable>(
        for attempt: SignInAttempt?,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(
                Job(
                    run: { continuation.resume(with: Result { try work() }) },
                    fail: { continuation.resume(throwing: $0) }
                ),
                attempt
            )
        }
    }

    // MARK: The queue

    private func enqueue(_ job: Job, _ attempt: SignInAttempt?) {
        let groups = attempt?.groups ?? Array(repeating: [.everybody], count: 3)
        let (refused, starts) = state.withLock { state -> (Job?, Bool) in
            guard state.isRunning else {
                state.isRunning = true
                return (nil, true)
            }
            state.number += 1
            let isKnown = attempt?.isKnown ?? true
            switch state.places.enter(state.number, in: groups, isKnown: isKnown, displaces: { $1 == .larger }) {
            case .refused: return (job, false)
            case .free: break
            case .displaced(let other):
                state.jobs[state.number] = job
                state.order.append(state.number)
                state.order.removeAll { $0 == other }
                return (state.jobs.removeValue(forKey: other), false)
            }
            state.jobs[state.number] = job
            state.order.append(state.number)
            return (nil, false)
        }
        refused?.fail(PasswordHasherBusy())
        if starts { startThread(with: job) }
    }

    private func startThread(with first: Job) {
        do {
            try BackgroundThread.start { [self] in
                first.run()
                while let job = next() { job.run() }
            }
        } catch {
            let jobs = state.withLock { state in
                defer { state = State() }
                return Array(state.jobs.values)
            }
            for job in [first] + jobs { job.fail(error) }
        }
    }

    /// Removes and returns the next job: the first of a known user, else in turns one of the smallest groups and the
    /// oldest.
    private func next() -> Job? {
        state.withLock { state in
            let (order, places) = (state.order, state.places)
            guard let oldest = order.first else {
                state.isRunning = false
                return nil
            }
            let next =
                order.first { places.isKept($0) }
                ?? (state.servesOldest ? oldest : order.min { places.weight(of: $0) < places.weight(of: $1) })
                ?? oldest
            if !places.isKept(next) { state.servesOldest.toggle() }
            state.places.remove(next)
            state.order.removeAll { $0 == next }
            return state.jobs.removeValue(forKey: next)
        }
    }
}

/// Too many passwords wait to be checked.
package struct PasswordHasherBusy: Error {}
