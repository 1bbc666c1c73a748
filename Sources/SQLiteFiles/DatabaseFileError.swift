internal import GRDB
internal import Glibc
internal import HostSystem

/// The reason why a database cannot be used.
package struct DatabaseFileError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Cause: Sendable, Equatable {
        /// A newer version of the program has written it.
        case newerVersion
        /// A power cut could take back what was reported as stored.
        case notDurable
        /// It was in use, and its content is gone.
        case lost
        /// It is damaged, or not a database.
        case damaged
        /// This user cannot read and write it.
        case rights
        /// Waiting can help, as with a full disk or a file locked by another process.
        case temporary
        case other
    }

    package let path: String
    package let cause: Cause
    package let reason: String

    package var isTemporary: Bool { cause == .temporary }
    package var description: String { "cannot use '\(path)': \(reason)" }

    package init(_ path: String, _ cause: Cause, _ reason: String) {
        self.path = path
        self.cause = cause
        self.reason = reason
    }

    /// Creates an error of a database; `nil` if SQLite, or an opener, did not raise `error`.
    package init?(_ error: any Error, path: String) {
        if let error = error as? DatabaseFileError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else { return nil }
        let isRefused = [.SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM].contains(error.resultCode)
        if isRefused, let refusal = Self.ofRights(path) {
            self = refusal
            return
        }
        let isDamaged = [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
        self.init(path, error.isTemporary ? .temporary : isDamaged ? .damaged : .other, error.reason)
    }

    /// Adds the name of a database's file to the errors of SQLite that `body` throws.
    ///
    /// - Throws: ``DatabaseFileError``, and any other error of `body` as it is.
    package static func naming<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw DatabaseFileError(error, path: path) ?? error
        }
    }

    /// Does the same as the other function of this name, for work that waits.
    package static func naming<Value>(
        _ path: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw DatabaseFileError(error, path: path) ?? error
        }
    }

    /// Returns the reason of any error for people, without SQL statements, their arguments and rows, which may hold a
    /// secret.
    package static func reason(_ error: any Error) -> String {
        switch error {
        case let error as DatabaseFileError: error.reason
        case let error as DatabaseError: error.reason
        // GRDB describes a value that it cannot read with its row, the statement and the arguments.
        case is RowDecodingError: "a row of the database cannot be read"
        default: TerminalText.safe("\(error)")
        }
    }

    /// Creates an error from `errno`.
    package init(_ path: String, code: Int32) {
        let error = HostError("cannot create", path, code: code)
        self.init(path, error.isTemporary ? .temporary : code == EACCES ? .rights : .other, error.reason)
    }

    package static func newerVersion(_ path: String) -> DatabaseFileError {
        DatabaseFileError(path, .newerVersion, "it was written by a newer version of newswire")
    }

    static func lost(_ path: String, _ state: String, sign: String) -> DatabaseFileError {
        DatabaseFileError(path, .lost, "\(state), but '\(sign)' shows that it was in use")
    }
}

// MARK: - Rights

extension DatabaseFileError {
    /// Returns the error of a database that this user cannot read and write, with the command that corrects it.
    ///
    /// - Returns: `nil` if the user can, or if there is another reason.
    static func ofRights(_ path: String) -> DatabaseFileError? {
        let files = DatabaseCopier.files(of: path).filter {
            faccessat(AT_FDCWD, $0, R_OK | W_OK, AT_EACCESS) != 0 && errno == EACCES
        }
        var facts = stat()
        guard let file = files.first else { return nil }
        guard stat(file, &facts) == 0 else {
            return DatabaseFileError(path, .rights, "this user cannot search its folder")
        }
        let (user, owner) = (SystemAccount.name(geteuid()), SystemAccount.name(facts.st_uid))
        let names = files.map(\.shellWord).joined(separator: " ")
        let cure =
            facts.st_uid == geteuid()
            ? "run: chmod u+rw \(names)"
            : "'\(file)' belongs to '\(owner)'; run as root: chown \(user):\(SystemAccount.groupName(getegid())) \(names)"
        return DatabaseFileError(path, .rights, "the user '\(user)' cannot read and write it; \(cure)")
    }
}
