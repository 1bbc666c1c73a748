import Foundation
import HubProtocol
import Testing

/// The tutorials' `RegisterClient`, call by call.
///
/// Source: protocol §9; the samples in Azure/azure-notificationhubs-android, -ios and -dotnet.
struct RegisterClient {
    /// What an app does about 410.
    enum Variant: CaseIterable {
        /// Android and Windows forget the id and ask for a new one.
        case forgetting
        /// iOS goes on with the id that it has.
        case keeping
    }

    struct Failed: Error {
        let status: Int
        let body: String
    }

    let backend: TestBackend
    let variant: Variant
    var user: String
    var platform = "apns"
    /// The id in the app's settings.
    var stored: String?

    init(_ backend: TestBackend, _ variant: Variant, as user: String) {
        self.backend = backend
        self.variant = variant
        self.user = user
    }

    mutating func register(_ handle: String, tags: [String] = []) async throws {
        var status = try await upsert(try await storedID(or: handle), handle, tags)
        if status.status == 410 {
            if variant == .forgetting { stored = nil }
            status = try await upsert(try await storedID(or: handle), handle, tags)
        }
        guard status.status == 200 else { throw Failed(status: status.status, body: status.body) }
    }

    /// Strips the first and the last character, whatever they are.
    private mutating func storedID(or handle: String) async throws -> String {
        if let stored { return stored }
        let reply = try await backend.send("POST", "/api/register?handle=\(handle)", as: user)
        guard reply.status == 200 else { throw Failed(status: reply.status, body: reply.body) }
        let id = String(reply.body.dropFirst().dropLast())
        stored = id
        return id
    }

    private func upsert(_ id: String, _ handle: String, _ tags: [String]) async throws -> BackendReply {
        let names = tags.map { #""\#($0)""# }.joined(separator: ",")
        let body = #"{"Platform":"\#(platform)","Handle":"\#(handle)","Tags":[\#(names)]}"#
        return try await backend.send("PUT", "/api/register/\(id)", as: user, body)
    }
}
