import GRDB
import HubProtocol
import SQLiteFiles

extension BackendStore {
    /// Counts the content of the database, without expired tokens and payloads.
    func figures(at now: Timestamp) async throws -> BackendFigures {
        try await read { db in
            let device = "device WHERE isRegistered = 1 AND kind = ?"
            let payload = "payload WHERE expiresAt > ? AND isRead = ?"
            return BackendFigures(
                accounts: try db.count("account"),
                tokens: try db.count("token WHERE expiresAt > ?", [now]),
                registrations: try db.count(device, [DeviceKey.Kind.registration.rawValue]),
                installations: try db.count(device, [DeviceKey.Kind.installation.rawValue]),
                payloadsWaiting: try db.count(payload, [now, false]),
                payloadsFetched: try db.count(payload, [now, true]),
                removedOwners: try db.count("removedAccount WHERE \(Self.hasDevices)")
            )
        }
    }
}
