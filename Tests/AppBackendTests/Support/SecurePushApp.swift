import Foundation

/// The tutorials' secure-push app: takes `secureId` out of a push, reads it as a number, fetches `Payload`.
///
/// Source: protocol §9.
struct SecurePushApp {
    let backend: TestBackend
    let user: String

    struct Received: Equatable {
        let id: Int
        let payload: String
        let isRead: Bool
    }

    /// `nil` for a push without an id.
    static func secureID(in push: String) -> Int? {
        if let whole = Int(push) { return whole }
        guard let object = try? JSONSerialization.jsonObject(with: Data(push.utf8)) as? [String: Any] else {
            return nil
        }
        let message = object["message"] as? [String: Any]
        let data = object["data"] as? [String: Any] ?? message?["data"] as? [String: Any]
        // `intValue` of anything but a string of digits is 0.
        return ((data ?? object)["secureId"] as? String).map { Int($0) ?? 0 }
    }

    func fetch(_ id: Int) async throws -> Received {
        let reply = try await backend.send("GET", "/api/notifications/\(id)", as: user)
        guard reply.status == 200,
            let object = try JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [String: Any],
            let id = object["Id"] as? Int, let payload = object["Payload"] as? String,
            let isRead = object["Read"] as? Bool
        else { throw RegisterClient.Failed(status: reply.status, body: reply.body) }
        return Received(id: id, payload: payload, isRead: isRead)
    }
}
