import GRDB
import HubProtocol
import SQLiteFiles

extension BackendStore {
    /// Counts the content of the database, without expired tokens and payloads.
    func figures(at now: Timestamp) async throws -> BackendFigures {
        try await read { db in
            func count(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \(sql)", arguments: arguments) ?? 0
            }
            let device = "device WHERE isRegistered = 1 AND kind = ?"
            let payload = "payload WHERE expiresAt > ? AND isRead = ?"
            return BackendFigures(
                accounts: try count("account"),
                tokens: try count("token WHERE expiresAt > ?", [now]),
                registrations: try count(device, [DeviceKey.Kind.registration.rawValue]),
                installations: try count(device, [DeviceKey.Kind.installation.rawValue]),
                payloadsWaiting: try count(payload, [now, false]),
                payloadsFetched: try count(payload, [now, true]),
                removedOwners: try count("removedAccount WHERE \(Self.hasDevices)")
            )
        }
    }
}
