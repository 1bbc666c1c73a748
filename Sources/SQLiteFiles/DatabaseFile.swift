package import GRDB
internal import Glibc
internal import HubProtocol

/// Reading of a SQLite file that leaves it unchanged.
package enum DatabaseFile {
    /// Seconds that a look waits for whoever writes the file.
    private static let patience = 1.0

    /// Looks at a file that `migrator` keeps, without changing it.
    ///
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at path: String, keptBy migrator: DatabaseMigrator) -> String? {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(patience)
            let file = try DatabaseQueue(path: readingName(path), configuration: configuration)
            let isNewer = try file.read(migrator.hasBeenSuperseded)
            try file.close()
            return isNewer ? "it was written by a newer newswire" : nil
        } catch let error as DatabaseError {
            return error.reason
        } catch {
            return "\(error)"
        }
    }

    /// The name to open it by, read-only.
    ///
    /// A reader of a file in write-ahead mode makes `-wal` and `-shm` beside it when they are missing, and leaves them
    /// there. Without a `-wal` everything is in the file itself, and it can be opened as one that does not change.
    ///
    /// Source: sqlite.org/uri.html, `immutable`. Needs a SQLite built with `SQLITE_USE_URI`, as Debian's is.
    private static func readingName(_ path: String) -> String {
        guard access("\(path)-wal", F_OK) != 0 else { return path }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return "file:\(parts.map { PercentEncoding.encode(String($0)) }.joined(separator: "/"))?immutable=1"
    }
}
