internal import GRDB
package import HostSystem
internal import SQLiteFiles

/// An error of the publisher's file.
package struct PublisherStoreError: Error, Sendable, CustomStringConvertible {
    /// Path of the file.
    package internal(set) var place = ""
    package let reason: String
    /// True if waiting can help, as with a full disk or a file locked by another process.
    package internal(set) var isTemporary = false

    init(reason: String) { self.reason = reason }

    init(_ error: DatabaseError) {
        reason = error.reason
        isTemporary = error.isTemporary
    }

    package var description: String { "cannot use the publisher's database '\(place)': \(reason)" }

    package var exit: ExitStatus { isTemporary ? .tryLater : .badConfiguration }

    /// Turns errors of SQLite into this type; other errors are rethrown.
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
