/// Numbers of rows in the database.
struct BackendFigures: Sendable, Equatable {
    var accounts = 0
    var tokens = 0
    var registrations = 0
    var installations = 0
    var payloadsWaiting = 0
    var payloadsFetched = 0
    /// Number of removed users whose devices the hub may still have.
    var removedOwners = 0
}
