internal import Formats
package import GRDB
internal import Glibc

/// Opens a SQLite file for a command that does not run the program of the file: to check it, to copy it, or to change it
/// for an operator.
package enum DatabaseFile {
    /// Seconds for which a check waits for a process that writes the file.
    static let checkPatience = 1.0

    /// Opens an existing file without changing it.
    package static func reader(_ path: String, patience: Double = DatabaseOpener.busyTimeout) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(patience)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Opens a file whose journal is as its last user left it; commits survive a power cut.
    ///
    /// Copies have a rollback journal: a commit ends with its removal, which only EXTRA syncs.
    ///
    /// Source: sqlite.org/pragma.html, `synchronous`.
    static func writer(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(DatabaseOpener.busyTimeout)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = EXTRA") }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Opens a file in write-ahead mode that another process is using.
    package static func neighbour(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(DatabaseOpener.busyTimeout)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Returns the name with which to open it read-only.
    ///
    /// A reader of a file in write-ahead mode creates missing `-wal` and `-shm` files beside it, and leaves them there.
    /// Without a `-wal`, everything is in the file itself, which can be opened as one that does not change.
    ///
    /// Source: sqlite.org/uri.html, `immutable`. Needs a SQLite built with `SQLITE_USE_URI`, as Debian's is.
    static func readingName(_ path: String) -> String {
        guard access("\(path)-wal", F_OK) != 0 else { return path }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return "file:\(parts.map { PercentEncoding.encode(String($0)) }.joined(separator: "/"))?immutable=1"
    }
}
