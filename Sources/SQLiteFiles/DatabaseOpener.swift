package import GRDB
internal import Glibc

/// Opens the database of a role of the program: hub, app backend, pages, publisher, agent.
///
/// The one place that decides which commits survive a power cut, how long a lock is waited for, who can read a file, and
/// which files are refused.
package struct DatabaseOpener: Sendable {
    /// Seconds for which another process (a migration, a backup, an operator's shell) may lock a file.
    package static let busyTimeout = 10.0

    private let migrator: DatabaseMigrator
    /// Maximum number of concurrent readers of a pool.
    package var maximumReaders = 5
    /// Files that exist only if the database was in use; without its content, the database is then lost.
    package var signs: [String] = []
    /// True for a database that was never in use, in any schema.
    package var isUnused: @Sendable (Database) throws -> Bool = { db in
        try !(Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema)") ?? false)
    }
    /// Called with each connection before it is used.
    package var prepare: @Sendable (Database) throws -> Void = { _ in }

    package init(_ migrator: DatabaseMigrator) { self.migrator = migrator }

    /// Opens a file for one writer and several readers; creates it if it is missing and was never in use.
    ///
    /// - Throws: ``DatabaseFileError``.
    package func pool(at path: String) throws -> DatabasePool {
        try open(path) { try DatabasePool(path: path, configuration: $0) }
    }

    /// Opens a file for one connection, without writing to an existing file; otherwise as ``pool(at:)``.
    package func queue(at path: String) throws -> DatabaseQueue {
        try open(path) { try DatabaseQueue(path: path, configuration: $0) }
    }

    /// Runs the missing migrations, which other processes may do at the same time.
    ///
    /// - Throws: ``DatabaseFileError``, or the error of the first migration that fails.
    package func migrate(_ database: some DatabaseWriter) throws {
        try DatabaseFileError.naming(database.path) {
            guard try !database.writeWithoutTransaction(migrator.hasCompletedMigrations) else { return }
            try migrator.migrate(besideOthers: database)
        }
    }

    private func open<Connections: DatabaseWriter>(
        _ path: String,
        _ connect: (Configuration) throws -> Connections
    ) throws -> Connections {
        // Signs appear after the content, so they are looked at first.
        let sign = existingSign
        let isFirst = try Self.prepareFile(path, sign: sign)
        return try DatabaseFileError.naming(path) {
            do {
                return try connected(path, sign, connect)
            } catch is DatabaseError where isFirst {
                // If two programs create a database at once, one can fail, and its second attempt finds the database.
                return try connected(path, sign, connect)
            }
        }
    }

    private func connected<Connections: DatabaseWriter>(
        _ path: String,
        _ sign: String?,
        _ connect: (Configuration) throws -> Connections
    ) throws -> Connections {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.maximumReaderCount = maximumReaders
        configuration.prepareDatabase { [prepare] in try prepare($0) }
        let database = try connect(configuration)
        do {
            try database.writeWithoutTransaction { db in
                try Self.makeDurable(db, path)
                try refuse(db, path, sign)
            }
            return database
        } catch {
            try? database.close()
            throw error
        }
    }

    /// Sets what makes each commit of a connection survive a power cut.
    private static func makeDurable(_ db: Database, _ path: String) throws {
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
        // GRDB sets NORMAL when it opens a pool, after `prepareDatabase`; with it a power cut takes the last commits.
        try db.execute(sql: "PRAGMA synchronous = FULL")
        guard mode == "wal", try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
            throw DatabaseFileError(path, .notDurable, "its commits cannot be made durable on this file system")
        }
    }

    // MARK: Checks

    /// Checks a file without changing it.
    ///
    /// - Returns: The reason why it cannot be opened; `nil` if it can, or if it does not exist yet.
    package func problem(at path: String) -> String? {
        do {
            try check(path)
            return nil
        } catch {
            return (error as? DatabaseFileError)?.reason ?? "\(error)"
        }
    }

    /// Checks a file without changing it; a file that does not exist yet can be opened.
    ///
    /// - Throws: ``DatabaseFileError`` if it cannot be opened.
    package func check(_ path: String) throws {
        try DatabaseFileError.naming(path) {
            let sign = existingSign
            guard try !Self.isWithoutContent(path, sign: sign) else { return }
            let file = try DatabaseFile.reader(DatabaseFile.readingName(path), patience: DatabaseFile.checkPatience)
            defer { try? file.close() }
            try file.read { try refuse($0, path, sign) }
        }
    }

    /// True if nothing can be read from a file because it is missing, empty or damaged, or was never in use.
    ///
    /// - Throws: ``DatabaseFileError`` if that is unknown, as for a file that this user cannot read.
    package func isGone(_ path: String) throws -> Bool {
        do {
            if (try? Self.isWithoutContent(path, sign: nil)) ?? true { return true }
            let file = try DatabaseFile.reader(path)
            defer { try? file.close() }
            return try file.read(isUnused)
        } catch {
            let named = DatabaseFileError(error, path: path)
            if named?.cause == .damaged { return true }
            throw named ?? error
        }
    }

    /// Refuses a database that this program cannot use.
    private func refuse(_ db: Database, _ path: String, _ sign: String?) throws {
        guard try !migrator.hasBeenSuperseded(db) else { throw DatabaseFileError.newerVersion(path) }
        if let sign, try isUnused(db) { throw DatabaseFileError.lost(path, "it has no content", sign: sign) }
    }

    // MARK: Files

    /// The first file that shows that the database was in use.
    private var existingSign: String? { signs.first { access($0, F_OK) == 0 } }

    /// True for a file that is missing or empty.
    ///
    /// - Throws: ``DatabaseFileError`` if it was in use.
    private static func isWithoutContent(_ path: String, sign: String?) throws(DatabaseFileError) -> Bool {
        var facts = stat()
        // SQLite removes the log of a file without content. The log gets content after the file, so it is looked at first.
        let log = "\(path)-wal"
        let sign = sign ?? (stat(log, &facts) == 0 && facts.st_size > 0 ? log : nil)
        let isThere = stat(path, &facts) == 0
        guard isThere ? facts.st_size == 0 : errno == ENOENT else { return false }
        if let sign { throw .lost(path, isThere ? "it is empty" : "it is missing", sign: sign) }
        return true
    }

    /// Creates a missing file, for this user only; SQLite gives the files beside it the same mode.
    ///
    /// The file is not opened: closing it would release the locks of this process's other connections.
    ///
    /// - Returns: True for a file without content.
    private static func prepareFile(_ path: String, sign: String?) throws(DatabaseFileError) -> Bool {
        let isFirst = try isWithoutContent(path, sign: sign)
        if isFirst, mknod(path, S_IFREG | 0o600, 0) != 0, errno != EEXIST {
            throw DatabaseFileError(path, code: errno)
        }
        if let error = DatabaseFileError.ofRights(path) { throw error }
        return isFirst
    }
}
