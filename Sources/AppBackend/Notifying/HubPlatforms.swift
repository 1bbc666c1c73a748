import HubProtocol
import Signals

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

    private let last: SharedValue<Finding>

    init(hub: any NotificationHub, clock: @escaping @Sendable () -> Duration) {
        // One slow answer must not hold up every notification.
        last = SharedValue(lifetime: Self.lifetime, whileComputing: Self.staleLifetime, clock: clock) {
            try await Self.answer(of: hub)
        }
    }

    /// Asks the hub, unless a fresh answer is cached.
    ///
    /// - Throws: ``HubError``.
    func current() async throws -> Finding { try await last.value() }

    /// Asks the hub, unless it has answered recently.
    ///
    /// - Throws: ``HubError``.
    func checkHub() async throws {
        if last.recent(Self.recency) == nil { _ = try await current() }
    }

    private static func answer(of hub: any NotificationHub) async throws(HubError) -> Finding {
        do throws(HubError) {
            return .known(Set(try await hub.credentials(asking: false).credentials.map(\.platform)))
        } catch .unsupported {
            return .unknown
        }
    }
}
