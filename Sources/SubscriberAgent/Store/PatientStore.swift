import Synchronization

/// Repeats writes that a full disk refused until there is space; reports the failure once, and its end once.
final class PatientStore: Sendable {
    /// The first and the longest wait between attempts; waits double.
    static let waits = (first: Duration.seconds(1), longest: Duration.seconds(30))

    private let environment: AgentEnvironment
    private let isBlocked = Mutex(false)

    init(environment: AgentEnvironment) { self.environment = environment }

    /// - Throws: ``AgentStoreError`` of a kind that waiting does not clear; the last error when the task is cancelled.
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
                // Only the end of the task cuts a wait short.
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
        environment.reporter.warning("\(error); not reading on until it can be written")
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
