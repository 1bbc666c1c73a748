import GRDB
import SQLiteFiles
import Testing

/// What failures of a file are called (sqlite.org/rescode.html).
struct DatabaseFileErrorTests {
    private struct Other: Error, CustomStringConvertible {
        let description = "something else"
    }

    @Test(arguments: [ResultCode.SQLITE_FULL, .SQLITE_IOERR_SHMSIZE])
    func `a disk without space is full, whichever file of the database SQLite could not extend`(
        code: ResultCode
    ) throws {
        let sqlite = DatabaseError(resultCode: code, message: "as SQLite calls it")
        let error = try #require(DatabaseFileError(sqlite, path: "/a.sqlite"))
        #expect(error.reason == "the disk is full" && error.isTemporary)
        #expect("\(error)" == "cannot use '/a.sqlite': the disk is full")
    }

    @Test func `a failing disk is not called full`() throws {
        let sqlite = DatabaseError(resultCode: .SQLITE_IOERR_READ, message: "disk I/O error")
        let error = try #require(DatabaseFileError(sqlite, path: "/a.sqlite"))
        #expect(error.reason == "disk I/O error" && error.isTemporary)
    }

    @Test func `an error of SQLite gets the name of its file, and any other stays as it is`() async throws {
        let full = DatabaseError(resultCode: .SQLITE_FULL)
        #expect(throws: DatabaseFileError("/a.sqlite", .temporary, "the disk is full")) {
            try DatabaseFileError.naming("/a.sqlite") { throw full }
        }
        #expect(throws: Other.self) { try DatabaseFileError.naming("/a.sqlite") { throw Other() } }
        await #expect(throws: DatabaseFileError("/a.sqlite", .temporary, "the disk is full")) {
            try await DatabaseFileError.naming("/a.sqlite") { () async throws in throw full }
        }
        #expect(DatabaseFileError.reason(full) == "the disk is full")
        #expect(DatabaseFileError.reason(Other()) == "something else")
    }

    @Test func `a reason is SQLite's own, wherever the process has been started`() {
        let sqlite = DatabaseError(resultCode: .SQLITE_CANTOPEN)
        #expect(DatabaseFileError.reason(sqlite) == "it cannot be opened")
    }

    @Test func `a reason never contains a statement or its arguments`() throws {
        let sqlite = DatabaseError(resultCode: .SQLITE_FULL, sql: "INSERT INTO t VALUES (?)", arguments: ["secret"])
        #expect(!DatabaseFileError.reason(sqlite).contains("secret"))
        #expect(!DatabaseFileError.reason(sqlite).contains("INSERT"))
        let database = try DatabaseQueue()
        let unreadable = #expect(throws: RowDecodingError.self) {
            try database.read { try String.fetchAll($0, sql: "SELECT NULL WHERE ? <> ''", arguments: ["secret"]) }
        }
        let reason = DatabaseFileError.reason(try #require(unreadable))
        #expect(reason == "a row of the database cannot be read")
    }
}
