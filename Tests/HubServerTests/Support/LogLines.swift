import Logging
import Synchronization

import class HubTestServer.Signal

/// What was logged, a line an event.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    private let changes = Signal()

    var all: [String] { lines.withLock { $0 } }

    /// Returns when there is such a line.
    func wait(where isSo: @escaping @Sendable (String) -> Bool) async {
        await changes.wait { self.all.contains(where: isSo) }
    }

    /// At the finest level.
    var logger: Logger {
        var logger = Logger(label: "test", factory: { _ in Handler(lines: self) })
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted().joined(separator: " ")
            lines.lines.withLock { $0.append("\(event.level) \(event.message) \(facts)") }
            lines.changes.notify()
        }
    }
}
