import Foundation
import GRDB

/// Copies of a hub's file.
package enum HubBackup {
    /// Copies a hub's file, which a hub may be serving from, into one file without a log beside it.
    ///
    /// The copy is checked, and stands under its name only when it is whole; a copy that stood there before is replaced,
    /// and nothing else.
    ///
    /// - Throws: ``HubBackupError``, or a `DatabaseError` such as of a full disk.
    package static func copy(_ source: String, to destination: String) throws {
        guard !files(of: source).contains(where: { isSame($0, destination) }) else {
            throw HubBackupError.notWritten(path: destination, reason: "it belongs to the database that is copied")
        }
        guard isReplaceable(destination) else {
            throw HubBackupError.notWritten(path: destination, reason: "it is there, and is no copy of a database")
        }
        let part = destination + ".part"
        for leftover in files(of: part) { try? FileManager.default.removeItem(atPath: leftover) }
        do {
            do {
                try copyAndCheck(source, to: part)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                throw HubBackupError.damaged(path: source)
            }
            guard rename(part, destination) == 0 else {
                throw HubBackupError.notWritten(path: destination, reason: String(cString: strerror(errno)))
            }
        } catch {
            for leftover in files(of: part) { try? FileManager.default.removeItem(atPath: leftover) }
            throw error
        }
    }

    /// Puts a copy in the place of a hub's file that nobody uses.
    ///
    /// Agents that have seen more than the copy holds are told of a gap.
    ///
    /// - Returns: Where the replaced file was moved to, `nil` when there was none.
    /// - Throws: ``HubBackupError`` when the copy cannot be used; the hub's file is as it was then.
    package static func restore(_ copy: String, to database: String) throws -> String? {
        let incoming = database + ".restored"
        try Self.copy(copy, to: incoming)
        let kept = FileManager.default.fileExists(atPath: database) ? try keep(database) : nil
        giveToFolderOwner(incoming)
        for leftover in files(of: database) where leftover != database {
            try? FileManager.default.removeItem(atPath: leftover)
        }
        guard rename(incoming, database) == 0 else {
            throw HubBackupError.notWritten(path: database, reason: String(cString: strerror(errno)))
        }
        return kept
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
        let descriptor = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard
            fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == 0, facts.st_nlink == 1
        else { return }
        _ = fchown(descriptor, folder.st_uid, folder.st_gid)
    }

    private static func copyAndCheck(_ source: String, to part: String) throws {
        guard FileManager.default.isReadableFile(atPath: source) else {
            throw HubBackupError.notReadable(path: source)
        }
        var reading = Configuration()
        reading.readonly = true
        reading.busyMode = .timeout(5)
        let from: DatabaseQueue
        do {
            from = try DatabaseQueue(path: source, configuration: reading)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw HubBackupError.notAHub(path: source)
        }
        defer { try? from.close() }
        try from.read { db in
            guard try db.tableExists("hub"), try db.tableExists("log") else {
                throw HubBackupError.notAHub(path: source)
            }
            guard try !Schema.migrator.hasBeenSuperseded(db) else { throw HubStoreError.newerSchema(path: source) }
        }
        let to: DatabaseQueue
        do {
            to = try DatabaseQueue(path: part)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
            throw HubBackupError.notWritten(path: part, reason: "its folder is missing, or not this user's to write to")
        }
        defer { try? to.close() }
        try from.backup(to: to)
        try to.inDatabase { db in
            guard try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok" else {
                throw HubBackupError.damaged(path: source)
            }
            try db.execute(sql: "PRAGMA journal_mode = DELETE")
        }
    }

    /// Whether there is nothing, an empty file, or a database: nobody's key is written over.
    private static func isReplaceable(_ path: String) -> Bool {
        guard let head = FileHandle(forReadingAtPath: path)?.readData(ofLength: 16), !head.isEmpty else { return true }
        return head.elementsEqual("SQLite format 3\0".utf8)
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
