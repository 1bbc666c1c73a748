import HubClient
import HubProtocol
import Synchronization

/// Finds and caches the platforms that the hub can deliver to.
final class HubPlatforms: Sendable {
    enum Finding: Sendable, Equatable {
        /// The platforms for which a newswire hub has credentials.
        case known(Set<Platform>)
        /// Another hub, which does not report its credentials and has no event streams.
        case unknown

        /// The reason why nothing is sent to a platform; `nil` if sending can be tried.
        func obstacle(_ platform: NotifiedPlatform) -> String? {
            switch self {
            case .known(let platforms):
                if platform == .stream || platforms.contains(platform.platform) { return nil }
                return "The hub has no credentials for '\(platform.rawValue)'."
            case .unknown: return platform == .stream ? "The hub has no event streams." : nil
            }
        }
    }

    /// The age up to which an answer is used: credentials change rarely, and each message saves one call.
    static let lifetime = Duration.seconds(10)

    /// The age up to which an answer proves that the hub can be reached; at least ``staleLifetime``.
    static let recency = Duration.seconds(30)

    /// The age up to which an answer is used while a request asks the hub again.
    static let staleLifetime = Duration.seconds(30)

    private struct State {
        var asking: Task<Finding, any Error>?
        var last: (finding: Finding, at: Duration)?
    }

    private enum Step {
        case wait(Task<Finding, any Error>)
        case use(Finding)
    }

    private let hub: HubClient
    private let clock: @Sendable () -> Duration
    private let state = Mutex(State())

    init(hub: HubClient, clock: @escaping @Sendable () -> Duration) {
        self.hub = hub
        self.clock = clock
    }

    /// Asks the hub, unless a fresh answer is cached.
    ///
    /// - Throws: ``HubClientError``.
    func current() async throws -> Finding {
        let now = clock()
        let step = state.withLock { state -> Step in
            // One slow answer must not hold up every notification.
            let lifetime = state.asking == nil ? Self.lifetime : Self.staleLifetime
            if let last = state.last, now - last.at < lifetime { return .use(last.finding) }
            if let task = state.asking { return .wait(task) }
            let task = Task { try await self.ask() }
            state.asking = task
            return .wait(task)
        }
        switch step {
        case .use(let finding): return finding
        case .wait(let task): return try await task.value
        }
    }

    /// Asks the hub, unless it has answered recently.
    ///
    /// - Throws: ``HubClientError``.
    func checkHub() async throws {
        let now = clock()
        if let last = state.withLock({ $0.last }), now - last.at < Self.recency { return }
        _ = try await current()
    }

    private func ask() async throws -> Finding {
        do {
            let finding = try await answer()
            let now = clock()
            state.withLock { $0 = State(asking: nil, last: (finding, now)) }
            return finding
        } catch {
            state.withLock { $0.asking = nil }
            throw error
        }
    }

    private func answer() async throws(HubClientError) -> Finding {
        do throws(HubClientError) {
            return .known(Set(try await hub.credentials(asking: false).credentials.map(\.platform)))
        } catch  where error.isOfAbsentRoute {
            return .unknown
        }
    }
}
