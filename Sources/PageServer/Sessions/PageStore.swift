import Foundation
import GRDB
import HubProtocol
package import SQLiteFiles
import Synchronization

/// The pages' tables of sessions, invitations and operators' actions: in a file of their own beside the hub's, or in the
/// file of a hub that shares its log.
package final class PageStore: Sendable {
    /// Reads take microseconds, and each reader has a cache of its own, of 2 MB at most.
    private static let maximumReaders = 2
    /// The largest number of new sessions from one network in an hour.
    static let maximumNewSessions = 100

    private let database: any TableDatabase
    let chosen = Mutex(ChosenSessions())

    /// Opens or creates the file, and migrates it.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package init(path: String) throws {
        var opener = DatabaseOpener(Self.migrator)
        opener.maximumReaders = Self.maximumReaders
        database = try TableFile(at: path, opener)
    }

    /// Uses tables in the file of a hub.
    package init(in hub: any TableDatabase) { database = hub }

    /// Copies a file into the tables of a hub that shares its log, once.
    ///
    /// - Returns: What has become of the file.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``, a `HostError`, and the errors of the hub's tables.
    package static func copy(_ path: String, into hub: some TableDatabase) async throws -> TableImport.Outcome {
        let copier = TableImport(
            "pages",
            tables: [
                "session", "sessionStart", "invitation", "operatorInvitation", "operatorSession", "operatorAction",
                "feedAddress", "deskDraft",
            ]
        )
        return try await copier.run(from: path, DatabaseOpener(migrator), into: hub)
    }

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE session (
                        sessionID INTEGER PRIMARY KEY,
                        name TEXT NOT NULL UNIQUE,
                        secretHash BLOB NOT NULL,
                        hub TEXT NOT NULL,
                        network TEXT NOT NULL,
                        installation TEXT NOT NULL,
                        channel TEXT NOT NULL,
                        categories TEXT NOT NULL,
                        position TEXT,
                        createdAt INTEGER NOT NULL,
                        seenAt INTEGER NOT NULL
                    ) STRICT;
                    CREATE INDEX sessionBySeenAt ON session (seenAt);
                    CREATE INDEX sessionByNetwork ON session (network, createdAt);
                    CREATE TABLE invitation (
                        invitationID INTEGER PRIMARY KEY,
                        hash BLOB NOT NULL UNIQUE,
                        hub TEXT NOT NULL,
                        expiresAt INTEGER NOT NULL
                    ) STRICT;
                    """
            )
        }
        migrator.registerMigration("users") { db in
            try db.execute(
                sql: """
                    ALTER TABLE session ADD COLUMN user TEXT;
                    ALTER TABLE session ADD COLUMN token BLOB;
                    ALTER TABLE session ADD COLUMN isInvited INTEGER NOT NULL DEFAULT 1;
                    """
            )
        }
        migrator.registerMigration("browsers") { db in
            try db.execute(
                sql: """
                    ALTER TABLE session ADD COLUMN browser TEXT;
                    ALTER TABLE session ADD COLUMN subscription TEXT;
                    CREATE INDEX sessionBySubscription ON session (subscription) WHERE subscription IS NOT NULL;
                    """
            )
        }
        migrator.registerMigration("operators", migrate: OperatorSchema.addTables)
        migrator.registerMigration("starts of sessions", migrate: addSessionStarts)
        migrator.registerMigration("one spelling of hubs", migrate: foldHubs)
        migrator.registerMigration("languages") { db in
            try db.execute(sql: "ALTER TABLE session ADD COLUMN language TEXT")
        }
        migrator.registerMigration("identities of hubs") { db in
            try db.execute(
                sql: "CREATE TABLE hubIdentity (hub TEXT PRIMARY KEY, createdAt INTEGER NOT NULL) STRICT, WITHOUT ROWID"
            )
        }
        migrator.registerMigration("shares of sessions", migrate: addShares)
        migrator.registerMigration("feed addresses", migrate: addFeedAddresses)
        migrator.registerMigration("drafts of the desk", migrate: addDrafts)
        return migrator
    }

    /// Adds the times at which networks began sessions; sessions that were deleted count, too.
    private static func addSessionStarts(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE sessionStart (
                    network TEXT NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT;
                INSERT INTO sessionStart SELECT network, createdAt FROM session;
                DROP INDEX sessionByNetwork;
                CREATE INDEX sessionByHub ON session (hub, seenAt);
                CREATE INDEX sessionStartByNetwork ON sessionStart (network);
                CREATE INDEX sessionStartByTime ON sessionStart (at);
                """
        )
    }

    /// Converts hubs' names to the form of ``HubName/folded``.
    private static func foldHubs(_ db: Database) throws {
        for table in ["session", "invitation", "operatorInvitation", "operatorSession", "operatorAction"] {
            try db.execute(sql: "UPDATE \(table) SET hub = lower(hub)")
        }
    }

    /// - Throws: ``SQLiteFiles/DatabaseFileError``, and the errors of `body`.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value { try await database.read(body) }

    /// Makes a change, all or nothing, and returns when it is on disk.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``, and the errors of `body`.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value { try await database.write(body) }

    /// Executes one statement in a transaction of its own.
    ///
    /// - Returns: Number of changed rows.
    @discardableResult
    func execute(_ sql: String, _ values: [(any DatabaseValueConvertible & Sendable)?]) async throws -> Int {
        try await write { db in
            try db.execute(sql, values)
            return db.changesCount
        }
    }

    /// The reason why the file cannot be used, as of the last change or check; `nil` if it can.
    var obstacle: String? { database.failure }

    /// Checks whether the file can be used; after a failed change, by writing to it.
    func check() async { _ = await database.check() }
}

extension HubName {
    /// The hub's key in the file, which is equal for all spellings of its name.
    var folded: String { text.lowercased() }
}
