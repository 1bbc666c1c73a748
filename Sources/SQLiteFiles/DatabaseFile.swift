package import GRDB
internal import Glibc
internal import HubProtocol

/// Reads a SQLite file without changing it.
package enum DatabaseFile {
    /// Seconds to wait for a process that writes the file.
    private static let patience = 1.0

    /// Checks a file that `migrator` maintains, without changing it.
    ///
    /// - Returns: The reason why it cannot be used; `nil` if it can.
    package static func problem(at path: String, keptBy migrator: DatabaseMigrator) -> String? {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(patience)
            let file = try DatabaseQueue(path: readingName(path), configuration: configuration)
            let isNewer = try file.read(migrator.hasBeenSuperseded)
            try file.close()
            return isNewer ? "it was written by a newer version of newswire" : nil
        } catch let error as DatabaseError {
            return error.reason
        } catch {
            return "\(error)"
        }
    }

    /// Returns the name with which to open it read-only.
    ///
    /// A reader of a file in write-ahead mode creates missing `-wal` and `-shm` files beside it, and leaves them there.
    /// Without a `-wal`, everything is in the file itself, which can be opened as one that does not change.
    ///
    /// Source: sqlite.org/uri.html, `immutable`. Needs a SQLite built with `SQLITE_USE_URI`, as Debian's is.
    private static func readingName(_ path: String) -> String {
        guard access("\(path)-wal", F_OK) != 0 else { return path }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return "file:\(parts.map { PercentEncoding.encode(String($0)) }.joined(separator: "/"))?immutable=1"
    }
}
