package import GRDB

extension DatabaseError {
    /// SQLite's report, for people.
    ///
    /// It never contains the statement or its arguments, which may hold a secret.
    package var reason: String {
        if isDiskFull { return "the disk is full" }
        return switch resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another process has locked it"
        case .SQLITE_CANTOPEN: "it cannot be opened"
        case .SQLITE_READONLY, .SQLITE_PERM: "it is not writable"
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: "it is damaged or not a database"
        default: message ?? resultCode.description
        }
    }

    /// True if there is no space left for the file, or for its index of the write-ahead log.
    ///
    /// SQLite calls the first a full database, and the second, which it makes as it opens the file, an I/O error
    /// (`unixShmMap` in os_unix.c).
    private var isDiskFull: Bool {
        resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE
    }

    /// True if the same statement may work later: after a full or failing disk, or while another process holds the
    /// file.
    package var isTemporary: Bool {
        [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_NOMEM].contains(resultCode)
    }
}
