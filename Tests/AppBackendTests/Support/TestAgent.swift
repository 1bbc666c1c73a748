import Foundation
import HubClient
import HubProtocol
import ServerSentEvents

/// An agent whose user is signed in, on the hub's event stream.
struct TestAgent: Sendable {
    let id: InstallationID
    let secret: PushChannelSecret
    private let hub: TestHub

    /// Registers an agent through the backend.
    init(_ name: String, of user: String, _ backend: TestBackend, _ hub: TestHub) async throws {
        self.hub = hub
        id = try InstallationID(name)
        secret = .random()
        let installation = Installation(id: id, platform: .stream, pushChannel: .handle(secret.text))
        let json = installation.encodedJSON(as: .request)
        let reply = try await backend.send("PUT", "/api/installations/\(name)", as: user, json)
        guard reply.status == 200 else { throw RegisterClient.Failed(status: reply.status, body: reply.body) }
    }

    /// The bodies of so many messages.
    func messages(_ count: Int) async throws -> [String] {
        let stream = try await hub.client.events(installation: id, channel: secret, after: nil)
        var bodies: [String] = []
        while bodies.count < count, let event = try await stream.next() {
            if let data = event.data { bodies.append(try StreamEvent(parsing: data).body) }
        }
        stream.cancel()
        return bodies
    }
}
