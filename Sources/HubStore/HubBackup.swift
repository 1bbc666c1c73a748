import Foundation
import GRDB
import Glibc

/// Copies of a hub's file.
///
/// A copy bears a mark, and so does a database that was restored: the hub that starts with it knows that messages may have
/// been accepted after the copy was made, and announces their loss.
package enum HubBackup {
    /// The `user_version` of a copy; a hub's own file has 0.
    static let copyMark = 1

    /// The two ends of a copy, which may be for different users to open.
    package enum Side: Sendable {
        case source
        case destination
    }

    /// Called before files of a side are opened: a command of root takes on the rights of the folder's owner there.
    package typealias Entering = (Side) throws -> Void

    /// Copies a hub's file, which a hub may be serving from, into one file without a log beside it.
    ///
    /// The copy is checked, and stands under its name only when it is whole; a copy that stood there before is replaced,
    /// and nothing else. It is for its owner alone to read, since it holds keys.
    ///
    /// - Throws: ``HubBackupError``, or a `DatabaseError` such as of a full disk.
    package static func copy(
        _ source: String,
        to destination: String,
        entering: Entering = { _ in }
    ) throws {
        try entering(.source)
        try refuseOverlap(source, destination)
        let from = try open(source)
        defer { try? from.close() }
        try entering(.destination)
        try refuseOverlap(source, destination)
        guard isReplaceable(destination) else {
            throw HubBackupError.notWritten(path: destination, reason: "it is there, and is no copy of a database")
        }
        let part = destination + ".part"
        for leftover in files(of: part) { unlink(leftover) }
        do {
            do {
                try copyAndCheck(from, source, to: part)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                throw HubBackupError.damaged(path: source)
            }
            guard rename(part, destination) == 0 else {
                throw HubBackupError.notWritten(path: destination, reason: String(cString: strerror(errno)))
            }
        } catch {
            for leftover in files(of: part) { unlink(leftover) }
            throw error
        }
    }

    /// Puts a copy in the place of a hub's file that nobody uses.
    ///
    /// Agents are told of a gap when they pass the end of the copy.
    ///
    /// - Returns: Where the replaced file was moved to, `nil` when there was none.
    /// - Throws: ``HubBackupError`` when the copy cannot be used; the hub's file is as it was then.
    package static func restore(
        _ copy: String,
        to database: String,
        entering: Entering = { _ in }
    ) throws -> String? {
        let incoming = database + ".restored"
        try Self.copy(copy, to: incoming, entering: entering)
        let kept = FileManager.default.fileExists(atPath: database) ? try keep(database) : nil
        giveToFolderOwner(incoming)
        for leftover in files(of: database) where leftover != database { unlink(leftover) }
        guard rename(incoming, database) == 0 else {
            throw HubBackupError.notWritten(path: database, reason: String(cString: strerror(errno)))
        }
        return kept
    }

    /// Marks a hub's file that nobody uses as a copy: somebody has put it back by other means.
    ///
    /// - Throws: ``HubBackupError`` or ``HubStoreError`` when it is not a hub's file that this program can use.
    package static func declareRestored(_ database: String) throws {
        try open(database).close()
        let queue = try DatabaseQueue(path: database)
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.execute(sql: "PRAGMA user_version = \(copyMark)")
        }
    }

    private static func refuseOverlap(_ source: String, _ destination: String) throws {
        guard !files(of: source).contains(where: { isSame($0, destination) }) else {
            throw HubBackupError.notWritten(path: destination, reason: "it belongs to the database that is copied")
        }
    }

    /// Copies a file that is about to be replaced.
    ///
    /// - Returns: Where it is kept.
    private static func keep(_ database: String) throws -> String {
        let former = unusedName(database + ".before-restore")
        do {
            // Whatever still stands in the log beside the file goes into it, so that the file alone is whole.
            try copy(database, to: former)
            giveToFolderOwner(former)
            try emptyLog(of: database)
        } catch {
            guard isDamage(error) else { throw error }
            // That is why it is replaced; somebody may still save something of it.
            for (file, kept) in zip(files(of: database), files(of: former)) where !file.hasSuffix("-shm") {
                guard FileManager.default.fileExists(atPath: file) else { continue }
                try FileManager.default.copyItem(atPath: file, toPath: kept)
                giveToFolderOwner(kept)
            }
        }
        return former
    }

    private static func isDamage(_ error: any Error) -> Bool {
        switch error {
        case HubBackupError.damaged, HubBackupError.notAHub: true
        default: (error as? DatabaseError)?.resultCode == .SQLITE_CORRUPT
        }
    }

    /// Moves what stands in the log beside a file into it, so that the file is whole without it, whatever happens next.
    ///
    /// A log that is left beside a file which takes the other's name would be read as that one's.
    static func emptyLog(of database: String) throws {
        let queue = try DatabaseQueue(path: database)
        defer { try? queue.close() }
        _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }

    /// The name, else the first that is free of the name with `-2`, `-3`, … behind it.
    private static func unusedName(_ name: String) -> String {
        var candidate = name
        var number = 1
        while FileManager.default.fileExists(atPath: candidate) {
            number += 1
            candidate = "\(name)-\(number)"
        }
        return candidate
    }

    /// Lets the hub's own user open what root has put into the hub's folder; does nothing for anybody else.
    ///
    /// That user may have put something else there meanwhile: only a plain file of root's with this one name is given.
    static func giveToFolderOwner(_ file: String) {
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

    /// Opens a hub's file for reading, and reads from it, so that everything beside it is open as well.
    private static func open(_ source: String) throws -> DatabaseQueue {
        let descriptor = Glibc.open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw HubBackupError.notReadable(path: source) }
        close(descriptor)
        var reading = Configuration()
        reading.readonly = true
        reading.busyMode = .timeout(5)
        let from: DatabaseQueue
        do {
            from = try DatabaseQueue(path: source, configuration: reading)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw HubBackupError.notAHub(path: source)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            throw HubBackupError.damaged(path: source)
        }
        do {
            try from.read { db in
                guard try db.tableExists("hub"), try db.tableExists("log") else {
                    throw HubBackupError.notAHub(path: source)
                }
                guard try !Schema.migrator.hasBeenSuperseded(db) else { throw HubStoreError.newerSchema(path: source) }
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            throw HubBackupError.damaged(path: source)
        }
        return from
    }

    /// Fills a new file, which a link that stands under its name does not become.
    private static func copyAndCheck(_ from: DatabaseQueue, _ source: String, to part: String) throws {
        let descriptor = Glibc.open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason =
                [ENOENT, EACCES, EROFS].contains(errno)
                ? "its folder is missing, or not this user's to write to" : String(cString: strerror(errno))
            throw HubBackupError.notWritten(path: part, reason: reason)
        }
        close(descriptor)
        let to = try DatabaseQueue(path: part)
        defer { try? to.close() }
        try from.backup(to: to)
        try to.inDatabase { db in
            guard try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok" else {
                throw HubBackupError.damaged(path: source)
            }
            try db.execute(sql: "PRAGMA journal_mode = DELETE")
            try db.execute(sql: "PRAGMA user_version = \(copyMark)")
        }
    }

    /// True if there is nothing, an empty file, a database, or a link, which is replaced itself: nobody's key is written over.
    private static func isReplaceable(_ path: String) -> Bool {
        let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        var facts = stat()
        // Where nothing can be looked at nothing can be written either, which is said then.
        guard descriptor >= 0 else { return errno == ELOOP || lstat(path, &facts) != 0 }
        defer { close(descriptor) }
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return false }
        var head = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &head, head.count)
        return count == 0 || (count > 0 && head.elementsEqual("SQLite format 3\0".utf8))
    }

    /// Whether two names are of one file, by whatever links.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        var (one, other) = (stat(), stat())
        if stat(left, &one) == 0, stat(right, &other) == 0 {
            return one.st_dev == other.st_dev && one.st_ino == other.st_ino
        }
        let paths = [left, right].map { URL(filePath: $0).standardizedFileURL.resolvingSymlinksInPath().path }
        return paths[0] == paths[1]
    }

    private static func files(of database: String) -> [String] {
        ["", "-wal", "-shm", "-journal"].map { database + $0 }
    }
}

/// Why a hub's file cannot be copied.
package enum HubBackupError: Error, CustomStringConvertible {
    case notReadable(path: String)
    case notAHub(path: String)
    case damaged(path: String)
    case notWritten(path: String, reason: String)

    package var description: String {
        switch self {
        case .notReadable(let path): "cannot read '\(path)': there is no such file, or it may not be read"
        case .notAHub(let path): "cannot use '\(path)': it is not a hub's database"
        case .damaged(let path): "cannot use '\(path)': the database is damaged (SQLite's integrity check fails)"
        case .notWritten(let path, let reason): "cannot write '\(path)': \(reason)"
        }
    }
}
