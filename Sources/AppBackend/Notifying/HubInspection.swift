import HubProtocol
import Logging
import ServiceLifecycle

/// Checks at the start that the hub protects the tags of users, and warns if it does not.
struct HubInspection: Service {
    /// The pause between two attempts to reach the hub.
    private static let pause = Duration.seconds(30)

    let platforms: HubPlatforms
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var isFirst = true
            while !Task.isCancelled {
                do {
                    if try await !guardsTags() {
                        logger.warning(
                            """
                            the hub does not guard reserved tags: a client with its Listen key can register for any user's \
                            notifications; give the hub's keys to no app
                            """
                        )
                    }
                    break
                } catch {
                    // A stop is no failure.
                    if Task.isCancelled { break }
                    if isFirst { logger.warning("the hub cannot be reached", metadata: ["error.reason": "\(error)"]) }
                    isFirst = false
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
        // When one service ends, the others are stopped.
        try? await gracefulShutdown()
    }

    /// True if the hub is a newswire hub.
    ///
    /// - Throws: ``HubError``.
    func guardsTags() async throws -> Bool { try await platforms.current() != .unknown }
}
