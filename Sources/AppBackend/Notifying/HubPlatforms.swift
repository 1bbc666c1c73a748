import HubClient
import HubProtocol
import Synchronization

/// Knows which platforms the hub in front delivers to.
final class HubPlatforms: Sendable {
    enum Finding: Sendable, Equatable {
        /// A hub of ours has told which credentials it has.
        case known(Set<Platform>)
        /// Another hub, which does not tell, and has no event streams.
        case unknown

        /// Why nothing is sent to a platform; `nil` if it can be tried.
        func obstacle(_ platform: NotifiedPlatform) -> String? {
            switch self {
            case .known(let platforms):
                if platform == .stream || platforms.contains(platform.platform) { return nil }
                return "The hub has no credentials for '\(platform.rawValue)'."
            case .unknown: return platform == .stream ? "The hub has no event streams." : nil
            }
        }
    }

    /// How long an answer counts: credentials change seldom, and a message costs one call less.
    static let lifetime = Duration.seconds(10)

    /// How long an answer shows that the hub can be reached.
    static let recency = Duration.seconds(30)

    private enum State {
        case empty
        case asking(Task<Finding, any Error>)
        case found(Finding, at: Duration)
    }

    private let hub: HubClient
    private let clock: @Sendable () -> Duration
    private let state = Mutex(State.empty)
    private let answeredAt = Mutex<Duration?>(nil)

    init(hub: HubClient, clock: @escaping @Sendable () -> Duration) {
        self.hub = hub
        self.clock = clock
    }

    /// Asks the hub, unless it has answered a moment ago.
    ///
    /// - Throws: ``HubClientError``.
    func current() async throws -> Finding {
        let now = clock()
        let step = state.withLock { state -> State in
            switch state {
            case .asking: return state
            case .found(_, let at) where now - at < Self.lifetime: return state
            case .found, .empty:
                let task = Task { try await self.ask() }
                state = .asking(task)
                return state
            }
        }
        switch step {
        case .found(let finding, _): return finding
        case .asking(let task): return try await task.value
        case .empty: return .unknown
        }
    }

    /// Asks the hub, unless it has answered lately.
    ///
    /// - Throws: ``HubClientError``.
    func checkHub() async throws {
        if let time = answeredAt.withLock({ $0 }), clock() - time < Self.recency { return }
        _ = try await current()
    }

    private func ask() async throws -> Finding {
        do {
            let finding = try await answer()
            let now = clock()
            answeredAt.withLock { $0 = now }
            state.withLock { $0 = .found(finding, at: now) }
            return finding
        } catch {
            state.withLock { $0 = .empty }
            throw error
        }
    }

    private func answer() async throws(HubClientError) -> Finding {
        do throws(HubClientError) {
            return .known(Set(try await hub.credentials(asking: false).credentials.map(\.platform)))
        } catch .refused(let status, _, _, _) where [400, 404, 405, 501].contains(status) {
            // Another hub's word for an unknown route.
            return .unknown
        }
    }
}
