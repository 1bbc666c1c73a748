import Foundation
import GRDB
import Testing

@testable import SQLiteFiles

/// The files that an opener creates, uses and refuses.
@Suite struct DatabaseOpenerTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    /// A folder of one test, removed with it.
    private final class Folder: Sendable {
        let path = NSTemporaryDirectory() + "opener-\(UUID().uuidString)"

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private var path: String { "\(folder.path)/some.sqlite" }
    private var sign: String { "\(folder.path)/sign" }

    private var opener: DatabaseOpener {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: "CREATE TABLE word (text TEXT)") }
        var opener = DatabaseOpener(migrator)
        opener.signs = [sign]
        return opener
    }

    private func make() throws {
        let pool = try opener.pool(at: path)
        try opener.migrate(pool)
        try pool.close()
    }

    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private func cause(_ open: (DatabaseOpener) throws -> Void) -> DatabaseFileError? {
        #expect(throws: DatabaseFileError.self) { try open(opener) }
    }

    @Test func `a missing database is created where none was in use`() throws {
        #expect(opener.problem(at: path) == nil)
        try make()
        try write("", to: sign)
        try make()
        #expect(opener.problem(at: path) == nil)
        #expect(try !opener.isGone(path))
    }

    @Test(arguments: ["missing", "empty", "without content"])
    func `a database that was in use and has no content is refused and stays as it is`(state: String) throws {
        try write("", to: sign)
        switch state {
        case "empty": try write("", to: path)
        case "without content":
            let queue = try DatabaseQueue(path: path)
            try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 1") }
            try queue.close()
        default: break
        }
        let before = try? Data(contentsOf: URL(filePath: path))
        for _ in 1...2 {
            let error = cause { _ = try $0.pool(at: path) }
            #expect(error?.cause == .lost)
            #expect(error?.reason.hasSuffix("but '\(sign)' shows that it was in use") == true, "\(error?.reason ?? "")")
        }
        #expect(cause { _ = try $0.queue(at: path) }?.cause == .lost)
        #expect(opener.problem(at: path)?.contains("shows that it was in use") == true)
        #expect(try opener.isGone(path))
        // SQLite changes the journal's mode in the head of the third.
        if state != "without content" { #expect((try? Data(contentsOf: URL(filePath: path))) == before) }
    }

    @Test func `the log of a lost database is kept, since SQLite would remove it`() throws {
        try write("pages that were not moved into the file", to: "\(path)-wal")
        #expect(cause { _ = try $0.pool(at: path) }?.cause == .lost)
        #expect(try String(contentsOfFile: "\(path)-wal", encoding: .utf8).hasPrefix("pages"))
    }

    @Test func `a damaged database is refused, and can be moved aside`() throws {
        try write("no database, and long enough to be looked at as the head of one", to: path)
        #expect(cause { _ = try $0.pool(at: path) }?.cause == .damaged)
        #expect(try opener.isGone(path))
        let kept = try FormerDatabases(of: path).moveAside()
        #expect(kept?.path == "\(path).before-restore")
        #expect(try FormerDatabases(of: path).moveAside() == nil)
        try make()
    }

    @Test func `a database of a newer version is refused`() throws {
        try make()
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('of tomorrow')") }
        try queue.close()
        #expect(cause { _ = try $0.pool(at: path) }?.cause == .newerVersion)
        #expect(opener.problem(at: path) == "it was written by a newer version of newswire")
    }

    @Test func `a folder that does not exist is named`() {
        let path = "\(folder.path)/none/some.sqlite"
        #expect(cause { _ = try $0.pool(at: path) }?.description == "cannot use '\(path)': no such file or directory")
    }

    @Test func `two connections that create a database at once both get it`() async throws {
        let (opener, path) = (opener, path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...8 {
                group.addTask {
                    let pool = try opener.pool(at: path)
                    try opener.migrate(pool)
                    try await pool.write { try $0.execute(sql: "INSERT INTO word VALUES ('x')") }
                }
            }
            try await group.waitForAll()
        }
        let count = try await DatabaseQueue(path: path).read { try Int.fetchOne($0, sql: "SELECT count(*) FROM word") }
        #expect(count == 8)
    }

    @Test func `health recovers only when a change can be stored`() async throws {
        let pool = try opener.pool(at: path)
        try opener.migrate(pool)
        let health = DatabaseHealth()
        #expect(await health.check(pool) == nil)
        await #expect(throws: DatabaseError.self) {
            try await health.noting { throw DatabaseError(resultCode: .SQLITE_FULL) }
        }
        #expect(health.failure == "the disk is full")
        struct Other: Error {}
        await #expect(throws: Other.self) { try await health.noting { throw Other() } }
        #expect(health.failure == "the disk is full", "another error says nothing about the disk")
        // Another process holds the lock; SQLite's own patience ends after ten seconds, so it is shortened.
        try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA busy_timeout = 1") }
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        #expect(await health.check(pool) == "another process has locked it")
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(await health.check(pool) == nil)
        #expect(health.failure == nil)
    }
}
