import Synchronization

/// The reason for a failure that waiting can end, such as a full disk.
struct Obstacle: Sendable, Equatable {
    let reason: String
    let hint: AgentHint?
}

/// An error that may have an ``Obstacle``.
protocol ObstacleError: Error {
    /// The obstacle; `nil` if waiting does not help.
    var obstacle: Obstacle? { get }
}

/// Repeats work that an ``Obstacle`` prevents until it succeeds; reports the obstacle and its end once each.
final class PatientRetry<Failure: ObstacleError>: Sendable {
    private let environment: AgentEnvironment
    /// The consequence of an obstacle, as the end of a sentence.
    private let consequence: String
    private let recovery: String
    private let isBlocked = Mutex(false)

    init(environment: AgentEnvironment, consequence: String, recovery: String) {
        self.environment = environment
        self.consequence = consequence
        self.recovery = recovery
    }

    /// - Throws: The error of `body` if waiting does not help, or when the task is cancelled.
    func perform<Value: Sendable>(
        _ body: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        var wait = RetryWaits.first
        while true {
            do {
                let value = try await body()
                cleared()
                return value
            } catch {
                guard error.obstacle != nil else { throw error }
                blocked(error)
                // Only cancellation shortens a wait.
                guard (try? await environment.sleep(wait)) != nil else { throw error }
                wait = min(wait * 2, RetryWaits.longest)
            }
        }
    }

    func blocked(_ error: Failure) {
        guard let obstacle = error.obstacle else { return }
        guard !isBlocked.withLock({ exchange(&$0, with: true) }) else { return }
        environment.reporter.warning("\(obstacle.reason); \(consequence)")
        if let hint = obstacle.hint { environment.reporter.hint(hint) }
    }

    private func cleared() {
        if isBlocked.withLock({ exchange(&$0, with: false) }) { environment.reporter.notice(recovery) }
    }
}

/// The first and the longest wait between attempts; waits double.
private enum RetryWaits {
    static let first = Duration.seconds(1)
    static let longest = Duration.seconds(30)
}
