import GRDB
import Testing

@testable import HubStore

/// What failures of the file are called (sqlite.org/rescode.html).
struct StorageFailureTests {
    @Test(arguments: [ResultCode.SQLITE_FULL, .SQLITE_IOERR_SHMSIZE])
    func `a disk without space is full, whichever file of the database SQLite could not extend`(
        code: ResultCode
    ) throws {
        let failure = try #require(StorageFailure(DatabaseError(resultCode: code, message: "as SQLite calls it")))
        #expect(failure.reason == "the disk is full" && failure.isTemporary)
    }

    @Test func `a failing disk is not called full`() throws {
        let error = DatabaseError(resultCode: .SQLITE_IOERR_READ, message: "disk I/O error")
        let failure = try #require(StorageFailure(error))
        #expect(failure.reason == "disk I/O error" && failure.isTemporary)
    }
}
