internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import GRDB
internal import Glibc
internal import HubProtocol
internal import SQLiteFiles

/// The publisher's database: one SQLite file, and the only place with SQL in this module.
///
/// All changes of one fetch commit in one transaction. After a kill at any point, either the document was never read,
/// or its validators, marks and messages are all stored.
///
/// Calls block on purpose: GRDB's asynchronous writes roll back when their task is cancelled.
package final class PublisherStore: Sendable {
    /// A function that is called before each statement and each commit; an error that it throws ends the transaction,
    /// as a kill would.
    package typealias StatementHook = @Sendable (_ sql: String) throws -> Void

    /// Path of the file, or of the file that was copied into memory.
    private let place: String
    private let database: any DatabaseWriter
    private let hook: StatementHook?

    /// Opens or creates the file, migrates it, and makes sure that commits survive a power failure.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``; also if a newer version wrote the file.
    package convenience init(path: String, hook: StatementHook? = nil) throws {
        let opener = DatabaseOpener(Self.migrator)
        // One connection: everything goes through the writer, and GRDB's pool writes to the file whenever it is opened.
        try self.init(database: opener.queue(at: path), place: path, hook: hook)
    }

    private init(database: any DatabaseWriter, place: String, hook: StatementHook?) throws {
        self.place = place
        self.database = database
        self.hook = hook
        try DatabaseFileError.naming(place) { try DatabaseOpener(Self.migrator).migrate(database) }
    }

    /// Returns a copy in memory for a dry run, whose writes are lost.
    ///
    /// It is empty if there is no file.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    static func scratchCopy(of path: String) throws -> PublisherStore {
        let copy = try DatabaseFileError.naming(path) {
            let memory = try DatabaseQueue()
            if try isThere(path) {
                let file = try DatabaseFile.reader(path)
                guard try !file.read(migrator.hasBeenSuperseded) else { throw DatabaseFileError.newerVersion(path) }
                try file.backup(to: memory)
                try file.close()
            }
            return memory
        }
        return try PublisherStore(database: copy, place: path, hook: nil)
    }

    /// True if the file exists; a file in a folder that cannot be searched does not count as missing.
    private static func isThere(_ path: String) throws -> Bool {
        if access(path, F_OK) == 0 { return true }
        guard errno == ENOENT else { throw DatabaseFileError(path, code: errno) }
        return false
    }

    /// Checks a publisher's file without changing it.
    ///
    /// - Returns: The reason why it cannot be used; `nil` if it can.
    package static func problem(at path: String) -> String? { DatabaseOpener(migrator).problem(at: path) }

    package func close() throws { try database.close() }

    // MARK: Notes

    /// Returns a value about the hub or this publisher that is kept between passes.
    func note(_ name: PublisherNote) throws -> String? {
        try read { try $0.note(name) }
    }

    func setNote(_ name: PublisherNote, _ value: String?) throws {
        try transaction { try $0.setNote(name, value) }
    }

    // MARK: Transactions

    /// Runs a transaction that writes; all of its changes are stored, or none.
    func transaction<Value>(_ body: (StoreTransaction) throws -> Value) throws -> Value {
        try DatabaseFileError.naming(place) {
            try hook?("BEGIN")
            return try database.write { database in
                let value = try body(StoreTransaction(database: database, hook: hook))
                try hook?("COMMIT")
                return value
            }
        }
    }

    /// Reads through the writer: the publisher must see what it has just written.
    func read<Value>(_ body: (StoreTransaction) throws -> Value) throws -> Value {
        try DatabaseFileError.naming(place) {
            try database.writeWithoutTransaction { try body(StoreTransaction(database: $0, hook: hook)) }
        }
    }
}

extension StoreTransaction {
    func note(_ name: PublisherNote) throws -> String? {
        try rows("SELECT value FROM note WHERE name = ?", [name.rawValue]).first?.decode(forColumn: "value")
    }

    func setNote(_ name: PublisherNote, _ value: String?) throws {
        guard let value else { return try run("DELETE FROM note WHERE name = ?", [name.rawValue]) }
        try run(
            "INSERT INTO note (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            [name.rawValue, value]
        )
    }
}
