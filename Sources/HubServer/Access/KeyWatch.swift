import HubProtocol
import ServiceLifecycle

/// Tells whoever keeps connection strings when they are no longer what they were.
final class KeyWatch: Service {
    private let rules: @Sendable () -> [AccessRule]
    private let beginnings: AsyncStream<@Sendable () -> Void>
    private let continuation: AsyncStream<@Sendable () -> Void>.Continuation

    /// `rules` are those that connection strings are made of.
    init(rules: @escaping @Sendable () -> [AccessRule]) {
        self.rules = rules
        (beginnings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Begins to watch; `onChange` is called within ``Housekeeping/rulesInterval`` of a change.
    func begin(onChange: @escaping @Sendable () -> Void) { continuation.yield(onChange) }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await onChange in self.beginnings {
                var known = self.rules()
                while (try? await Task.sleep(for: Housekeeping.rulesInterval)) != nil {
                    let now = self.rules()
                    if now != known { onChange() }
                    known = now
                }
            }
        }
    }
}
