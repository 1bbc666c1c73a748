internal import Foundation
package import GRDB
internal import Glibc
internal import HostSystem

/// Copies files of one kind of database, and restores copies.
package struct DatabaseCopier: Sendable {
    /// The two ends of a copy, which may be open to different users only.
    package enum Side: Sendable {
        case source
        case destination
    }

    /// Called before files of a side are opened: a command that root runs takes the rights of the folder's owner there.
    package typealias Entering = (Side) throws -> Void

    /// The owner of databases of this kind, for messages, such as "a hub's".
    private let kind: String
    /// True for a database of this kind, in any version.
    private let isOfKind: @Sendable (Database) throws -> Bool
    private let migrator: DatabaseMigrator

    /// - Parameters:
    ///   - kind: The owner of databases of this kind, for messages, such as "a hub's".
    ///   - migrator: The migrations that this program knows.
    ///   - isOfKind: True for a database of this kind, in any version.
    package init(
        of kind: String,
        _ migrator: DatabaseMigrator,
        isOfKind: @escaping @Sendable (Database) throws -> Bool
    ) {
        self.kind = kind
        self.migrator = migrator
        self.isOfKind = isOfKind
    }

    /// Copies a file, which a server may be using, into one file without a write-ahead log.
    ///
    /// The copy is checked, and gets its name only when it is complete; a copy that had the name before is replaced,
    /// and nothing else. Until then its name ends in `.part`; a file of that name is removed, unless it is the source.
    /// Only its owner may read it, since it may contain secrets. When the call returns, the copy and its name are on
    /// disk.
    ///
    /// - Parameters:
    ///   - source: The file of a database.
    ///   - destination: The name of the copy.
    ///   - entering: Called before files of a side are opened.
    ///   - finish: Changes the copy before it gets its name; outside of a transaction.
    /// - Throws: ``DatabaseCopyError``, ``DatabaseFileError`` for a database of a newer version, or a `DatabaseError`,
    ///   for example if the disk is full.
    package func copy(
        _ source: String,
        to destination: String,
        entering: Entering = { _ in },
        finish: (Database) throws -> Void = { _ in }
    ) throws {
        try copy(source, to: destination, acceptsNewer: false, entering, finish)
    }

    private func copy(
        _ source: String,
        to destination: String,
        acceptsNewer: Bool,
        _ entering: Entering,
        _ finish: (Database) throws -> Void
    ) throws {
        try entering(.source)
        try Self.refuseOverlap(source, destination)
        let from = try open(source, acceptsNewer: acceptsNewer)
        defer { try? from.close() }
        try entering(.destination)
        try Self.refuseOverlap(source, destination)
        guard Self.isReplaceable(destination) else {
            throw DatabaseCopyError.notWritten(
                path: destination,
                reason: "the file exists and is not a copy of a database"
            )
        }
        let part = destination + ".part"
        for file in Self.files(of: part) { try Self.refuseOverlap(source, file) }
        Self.remove(part)
        do {
            do {
                try Self.copyAndCheck(from, source, to: part, finish)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                throw DatabaseCopyError.damaged(path: source)
            }
            try Self.move(part, to: destination)
        } catch {
            Self.remove(part)
            throw error
        }
    }

    /// Gives a complete file its name; returns when both are on disk.
    private static func move(_ file: String, to path: String) throws(DatabaseCopyError) {
        do throws(HostError) {
            try HostFile.move(file, to: path)
        } catch {
            throw .notWritten(path: path, reason: error.reason, isTemporary: error.isTemporary)
        }
    }

    /// Replaces a database, which must not be in use, with a copy.
    ///
    /// The replaced database may be of a newer version: going back to an earlier one is a reason to restore a copy. A
    /// call that fails removes the files that it has made, and no others: the copy itself may have the name of the
    /// temporary file, `hub.sqlite.restored`, and is refused then. That file stays only if the disk fails while the
    /// folder is synced. A call replaces what a killed or failed one has left.
    ///
    /// - Parameters:
    ///   - copy: The file of the copy.
    ///   - database: The name of the database.
    ///   - entering: Called before files of a side are opened.
    ///   - finish: Changes the restored database before it gets its name; outside of a transaction.
    ///   - finishKept: Changes the copy of the replaced database; outside of a transaction.
    /// - Returns: The replaced database under its new path, `nil` if there was none; all files are then on disk.
    /// - Throws: ``DatabaseCopyError`` if the copy cannot be used; the database is then unchanged.
    package func restore(
        _ copy: String,
        to database: String,
        entering: Entering = { _ in },
        finish: (Database) throws -> Void = { _ in },
        finishKept: (Database) throws -> Void = { _ in }
    ) throws -> FormerDatabase? {
        let incoming = database + ".restored"
        // Outside of the 'do' below: until the copying has ended, a file of this name is not of this call.
        try self.copy(copy, to: incoming, entering: entering, finish: finish)
        do {
            let kept = FileManager.default.fileExists(atPath: database) ? try keep(database, finishKept) : nil
            Self.giveToFolderOwner(incoming)
            for leftover in Self.files(of: database) where leftover != database { unlink(leftover) }
            // From here on the kept database may be the only one that is complete.
            try Self.move(incoming, to: database)
            return kept
        } catch {
            unlink(incoming)
            throw error
        }
    }

    /// Changes a database that is not in use and that this program can use; the change survives a power cut.
    ///
    /// - Throws: ``DatabaseCopyError``, or a `DatabaseError`.
    package func change(_ database: String, _ change: (Database) throws -> Void) throws {
        try open(database, acceptsNewer: false).close()
        let queue = try DatabaseFile.writer(database)
        defer { try? queue.close() }
        try queue.writeWithoutTransaction(change)
    }
}

// MARK: - The database that is replaced

extension DatabaseCopier {
    /// Copies a file that is about to be replaced; the file itself is then complete without its log.
    private func keep(_ database: String, _ finish: (Database) throws -> Void) throws -> FormerDatabase {
        let former = FormerDatabases(of: database).next
        do {
            do {
                let isNewer = try keep(database, at: former, finish)
                return FormerDatabase(path: former, isOfNewerVersion: isNewer)
            } catch  where Self.isDamage(error) {
                // The damage is the reason for the restore; some of the content may still be saved by hand.
                Self.remove(former)
                try Self.keepDamaged(database, at: former)
                return FormerDatabase(path: former, isOfNewerVersion: false)
            }
        } catch {
            Self.remove(former)
            throw error
        }
    }

    /// - Returns: True if a newer version has written the database.
    private func keep(_ database: String, at former: String, _ finish: (Database) throws -> Void) throws -> Bool {
        let queue = try open(database, acceptsNewer: true)
        let isNewer = try queue.read(migrator.hasBeenSuperseded)
        try queue.close()
        // The rest of the write-ahead log is moved into the file, so that the file alone is complete.
        try copy(database, to: former, acceptsNewer: true, { _ in }, finish)
        Self.giveToFolderOwner(former)
        try HostFile.sync(former)
        try Self.emptyLog(of: database)
        return isNewer
    }

    private static func keepDamaged(_ database: String, at former: String) throws {
        for (file, kept) in zip(files(of: database), files(of: former)) where !file.hasSuffix("-shm") {
            guard FileManager.default.fileExists(atPath: file) else { continue }
            try FileManager.default.copyItem(atPath: file, toPath: kept)
            giveToFolderOwner(kept)
            try HostFile.sync(kept)
        }
    }

    private static func isDamage(_ error: any Error) -> Bool {
        switch error {
        case DatabaseCopyError.damaged, DatabaseCopyError.otherKind: true
        default: (error as? DatabaseError)?.resultCode == .SQLITE_CORRUPT
        }
    }

    /// Moves the contents of a file's write-ahead log into the file, so that the file is complete without the log.
    ///
    /// SQLite would read a log that is left as the log of any file that gets this name.
    package static func emptyLog(of database: String) throws {
        let queue = try DatabaseFile.writer(database)
        defer { try? queue.close() }
        _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }
}

// MARK: - Files

extension DatabaseCopier {
    /// Gives a file that root has created to the owner of its folder; does nothing for other users.
    ///
    /// The owner may have put something else there meanwhile: only a plain file of root's with this one name is given.
    package static func giveToFolderOwner(_ file: String) {
        var (folder, facts) = (stat(), stat())
        guard geteuid() == 0, stat(URL(filePath: file).deletingLastPathComponent().path, &folder) == 0 else { return }
        let descriptor = Glibc.open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard
            fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == 0, facts.st_nlink == 1
        else { return }
        _ = fchown(descriptor, folder.st_uid, folder.st_gid)
    }

    /// Opens a file for reading, and reads from it, so that the files beside it are open as well.
    private func open(_ source: String, acceptsNewer: Bool) throws -> DatabaseQueue {
        let descriptor = Glibc.open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            if let refusal = DatabaseFileError.ofRights(source) { throw refusal }
            throw DatabaseCopyError.notReadable(
                path: source,
                reason: HostError("cannot read", source, code: code).reason
            )
        }
        close(descriptor)
        do {
            let from = try DatabaseFile.reader(source)
            guard try from.read(isOfKind) else { throw DatabaseCopyError.otherKind(path: source, kind: kind) }
            guard try acceptsNewer || !from.read(migrator.hasBeenSuperseded) else {
                throw DatabaseFileError.newerVersion(source)
            }
            return from
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw DatabaseCopyError.otherKind(path: source, kind: kind)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            throw DatabaseCopyError.damaged(path: source)
        }
    }

    /// Fills a new file; a link with its name is not followed.
    private static func copyAndCheck(
        _ from: DatabaseQueue,
        _ source: String,
        to part: String,
        _ finish: (Database) throws -> Void
    ) throws {
        let descriptor = Glibc.open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let error = HostError("cannot write", part, code: errno)
            let isOfFolder = [ENOENT, EACCES, EROFS].contains(error.code)
            throw DatabaseCopyError.notWritten(
                path: part,
                reason: isOfFolder ? "its folder is missing, or this user cannot write to it" : error.reason,
                isTemporary: error.isTemporary
            )
        }
        close(descriptor)
        let to = try DatabaseFile.writer(part)
        defer { try? to.close() }
        do {
            try from.backup(to: to)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw DatabaseCopyError.notWritten(path: part, reason: error.reason, isTemporary: true)
        }
        try to.inDatabase { db in
            guard try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok" else {
                throw DatabaseCopyError.damaged(path: source)
            }
            try db.execute(sql: "PRAGMA journal_mode = DELETE")
            try finish(db)
        }
    }

    private static func refuseOverlap(_ source: String, _ destination: String) throws {
        guard !files(of: source).contains(where: { isSame($0, destination) }) else {
            throw DatabaseCopyError.notWritten(
                path: destination,
                reason: "it belongs to the database that is copied"
            )
        }
    }

    /// True if there is nothing, an empty file, a database, or a link, which is replaced itself: no other file, such as
    /// a key, is overwritten.
    private static func isReplaceable(_ path: String) -> Bool {
        let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        var facts = stat()
        // A file that cannot be examined cannot be written either, and writing reports the reason.
        guard descriptor >= 0 else { return errno == ELOOP || lstat(path, &facts) != 0 }
        defer { close(descriptor) }
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return false }
        var head = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &head, head.count)
        return count == 0 || (count > 0 && head.elementsEqual("SQLite format 3\0".utf8))
    }

    /// True if two paths lead to the same file, through any links.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        var (one, other) = (stat(), stat())
        if stat(left, &one) == 0, stat(right, &other) == 0 {
            return one.st_dev == other.st_dev && one.st_ino == other.st_ino
        }
        let paths = [left, right].map { URL(filePath: $0).standardizedFileURL.resolvingSymlinksInPath().path }
        return paths[0] == paths[1]
    }

    private static func remove(_ database: String) { for file in files(of: database) { unlink(file) } }

    /// Returns the file of a database and those that SQLite may make beside it.
    static func files(of database: String) -> [String] {
        ["", "-wal", "-shm", "-journal"].map { database + $0 }
    }
}

/// The reason why a database cannot be copied.
package enum DatabaseCopyError: Error, CustomStringConvertible {
    case notReadable(path: String, reason: String)
    /// `kind` is the owner of the databases that can be copied.
    case otherKind(path: String, kind: String)
    case damaged(path: String)
    /// `isTemporary` is true if waiting can help, as with a full disk.
    case notWritten(path: String, reason: String, isTemporary: Bool = false)

    /// True if waiting can help, as with a full disk.
    package var isTemporary: Bool { if case .notWritten(_, _, true) = self { true } else { false } }

    package var description: String {
        switch self {
        case .notReadable(let path, let reason): "cannot read '\(path)': \(reason)"
        case .otherKind(let path, let kind): "cannot use '\(path)': it is not \(kind) database"
        case .damaged(let path): "cannot use '\(path)': the database is damaged (SQLite's integrity check fails)"
        case .notWritten(let path, let reason, _): "cannot write '\(path)': \(reason)"
        }
    }
}
