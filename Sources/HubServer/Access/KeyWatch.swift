import HubProtocol
import ServiceLifecycle

/// Notifies the owner of files with connection strings when keys change.
final class KeyWatch: Service {
    private let rules: @Sendable () -> [AccessRule]
    private let beginnings: AsyncStream<@Sendable () -> Void>
    private let continuation: AsyncStream<@Sendable () -> Void>.Continuation

    /// Creates a watch on `rules`, from which connection strings are made.
    init(rules: @escaping @Sendable () -> [AccessRule]) {
        self.rules = rules
        (beginnings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Starts to watch; `onChange` is called within ``Housekeeping/rulesInterval`` of a change.
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
