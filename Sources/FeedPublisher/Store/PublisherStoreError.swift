package import HostSystem
internal import SQLiteFiles

/// An error of the publisher's file.
package struct PublisherStoreError: Error, Sendable, CustomStringConvertible {
    /// Path of the file.
    package internal(set) var place = ""
    package let reason: String
    /// True if waiting can help, as with a full disk or a file locked by another process.
    package internal(set) var isTemporary = false

    /// True if the file is damaged, so that it must be repaired or replaced.
    package internal(set) var isDamaged = false

    init(reason: String) { self.reason = reason }

    private init(_ error: DatabaseFileError) {
        reason = error.reason
        isTemporary = error.isTemporary
        isDamaged = error.cause == .damaged
    }

    package var description: String { "cannot use the publisher's database '\(place)': \(reason)" }

    package var exit: ExitStatus { isTemporary ? .tryLater : .badConfiguration }

    /// Turns errors of SQLite into this type; other errors are rethrown.
    static func naming<Value>(_ place: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch var error as PublisherStoreError where error.place.isEmpty {
            error.place = place
            throw error
        } catch {
            guard let failure = DatabaseFileError(error, path: place) else { throw error }
            var named = PublisherStoreError(failure)
            named.place = place
            throw named
        }
    }
}
