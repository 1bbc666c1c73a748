internal import GRDB

/// The publisher's file cannot be used.
package struct PublisherStoreError: Error, Sendable, CustomStringConvertible {
    /// Path of the file.
    package internal(set) var place = ""
    package let reason: String
    /// Whether waiting can help: a full disk, a file held by another process.
    package internal(set) var isTemporary = false

    init(reason: String) { self.reason = reason }

    init(_ error: DatabaseError) {
        reason =
            switch error.resultCode {
            case .SQLITE_FULL: "the disk is full"
            case .SQLITE_BUSY, .SQLITE_LOCKED: "another process holds it"
            case .SQLITE_CANTOPEN: "it cannot be opened"
            case .SQLITE_READONLY, .SQLITE_PERM: "it may not be written"
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: "it is damaged or no database"
            default: error.message ?? error.resultCode.description
            }
        isTemporary = [.SQLITE_FULL, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_IOERR].contains(error.resultCode)
    }

    package var description: String { "cannot use the publisher's database '\(place)': \(reason)" }

    package var exit: PublishExit { isTemporary ? .tryLater : .failed }

    /// What somebody could do about it.
    package var advice: String? {
        isTemporary ? "nothing is lost: the next pass goes on from here" : nil
    }

    /// Turns what SQLite reports into this type; other errors pass.
    static func naming<Value>(_ place: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            var named = PublisherStoreError(error)
            named.place = place
            throw named
        } catch var error as PublisherStoreError where error.place.isEmpty {
            error.place = place
            throw error
        }
    }
}
