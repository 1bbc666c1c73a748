import Synchronization

/// Repeats writes that failed on a full disk until there is space; reports the failure and its end once each.
final class PatientStore: Sendable {
    /// The first and the longest wait between attempts; waits double.
    static let waits = (first: Duration.seconds(1), longest: Duration.seconds(30))

    private let environment: AgentEnvironment
    private let isBlocked = Mutex(false)

    init(environment: AgentEnvironment) { self.environment = environment }

    /// - Throws: ``AgentStoreError`` if waiting does not help, or when the task is cancelled.
    func perform<Value: Sendable>(
        _ body: @Sendable () async throws(AgentStoreError) -> Value
    ) async throws(AgentStoreError) -> Value {
        var wait = Self.waits.first
        while true {
            do {
                let value = try await body()
                cleared()
                return value
            } catch {
                guard case .blocked = error else { throw error }
                blocked(error)
                // Only cancellation shortens a wait.
                guard (try? await environment.sleep(wait)) != nil else { throw error }
                wait = min(wait * 2, Self.waits.longest)
            }
        }
    }

    func blocked(_ error: AgentStoreError) {
        let isNews = isBlocked.withLock { isBlocked in
            defer { isBlocked = true }
            return !isBlocked
        }
        guard isNews else { return }
        environment.reporter.warning("\(error); no further messages are read until it can be written")
        environment.reporter.hint(.space)
    }

    private func cleared() {
        let isNews = isBlocked.withLock { isBlocked in
            defer { isBlocked = false }
            return isBlocked
        }
        if isNews { environment.reporter.notice("the inbox can be written again") }
    }
}
