package import GRDB

extension DatabaseError {
    /// SQLite's report, for people.
    ///
    /// Never the statement or its arguments, which may hold a secret.
    package var reason: String {
        switch resultCode {
        case .SQLITE_FULL: "the disk is full"
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another process holds it"
        case .SQLITE_CANTOPEN: "it cannot be opened"
        case .SQLITE_READONLY, .SQLITE_PERM: "it may not be written"
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: "it is damaged or no database"
        default: message ?? resultCode.description
        }
    }

    /// True if the same statement may work later: after a full or failing disk, or another process in the way.
    package var isTemporary: Bool {
        [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_NOMEM].contains(resultCode)
    }
}
