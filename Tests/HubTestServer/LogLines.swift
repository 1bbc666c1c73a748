package import Logging
import Synchronization

/// Records what is logged, a line for each event: its level, its text, and its metadata by key.
package final class LogLines: Sendable {
    private let level: Logger.Level
    private let onLine: @Sendable (String) -> Void
    private let lines = Mutex<[String]>([])
    private let changes = Signal()

    /// - Parameters:
    ///   - level: The lowest level that is recorded.
    ///   - onLine: Called with each line, before the logger returns.
    package init(level: Logger.Level = .trace, onLine: @escaping @Sendable (String) -> Void = { _ in }) {
        self.level = level
        self.onLine = onLine
    }

    package var all: [String] { lines.withLock { $0 } }

    /// Returns when there is such a line.
    package func wait(where isSo: @escaping @Sendable (String) -> Bool) async {
        await changes.wait { self.all.contains(where: isSo) }
    }

    package var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(lines: self) }
        logger.logLevel = level
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
            let line = "\(event.level) \(event.message) \(facts)"
            lines.lines.withLock { $0.append(line) }
            lines.onLine(line)
            lines.changes.notify()
        }
    }
}
