import Foundation
import GRDB
import SQLiteFiles
import Synchronization
import Testing

struct SimultaneousMigrationTests {
    @Test func `a file that another process migrates meanwhile is migrated once`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).sqlite").path
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        let other = OtherProcess(file: try DatabasePool(path: path))
        let here = try DatabasePool(path: path)
        here.add(transactionObserver: other, extent: .databaseLifetime)
        try Self.migrator.migrate(besideOthers: here)
        #expect(other.hasMigrated)
        #expect(try here.read(Self.migrator.hasCompletedMigrations))
        #expect(try here.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM second") } == 1)
    }

    @Test func `a migration that fails on its own ends the attempts`() throws {
        let queue = try DatabaseQueue()
        let attempts = Mutex(0)
        var migrator = Self.migrator
        migrator.registerMigration("broken") { db in
            attempts.withLock { $0 += 1 }
            try db.execute(sql: "INSERT INTO nowhere VALUES (1)")
        }
        #expect(throws: DatabaseError.self) { try migrator.migrate(besideOthers: queue) }
        // The first attempt got further than the file was before.
        #expect(attempts.withLock { $0 } == 2)
    }

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first") { try $0.execute(sql: "CREATE TABLE first (a)") }
        migrator.registerMigration("second") {
            try $0.execute(sql: "CREATE TABLE second (a); INSERT INTO second VALUES (1)")
        }
        return migrator
    }

    /// Runs all migrations as soon as this process has run the first one.
    private final class OtherProcess: TransactionObserver {
        private let file: DatabasePool
        private(set) var hasMigrated = false

        init(file: DatabasePool) { self.file = file }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseDidRollback(_ db: Database) {}

        func databaseDidCommit(_ db: Database) {
            guard !hasMigrated, (try? SimultaneousMigrationTests.migrator.appliedIdentifiers(db)) == ["first"] else {
                return
            }
            hasMigrated = true
            try? SimultaneousMigrationTests.migrator.migrate(file)
        }
    }
}
