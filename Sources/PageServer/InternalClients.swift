import HubClient
import HubProtocol
import HubServer
import MountedBackend
import Synchronization

/// The clients of the hubs of this process; each uses a token for many calls.
final class InternalClients: Sendable {
    /// The largest number of clients that are kept.
    private static let maximum = 64

    let calls: InternalCalls
    private let clients = Mutex<[String: HubClient]>([:])

    init(_ calls: InternalCalls) { self.calls = calls }

    func client(of hub: HubName) -> HubClient {
        clients.withLock { clients in
            if let client = clients[hub.text] { return client }
            // Hubs may be created and deleted for years.
            if clients.count >= Self.maximum { clients = [:] }
            let client = Self.makeClient(of: hub, calls)
            clients[hub.text] = client
            return client
        }
    }

    static func makeClient(of hub: HubName, _ calls: InternalCalls) -> HubClient {
        HubClient(hub: hub, at: InternalTransport.origin, through: InternalTransport(calls: calls)) {
            calls.managingRule(of: hub).map { SigningKey(rule: $0.name, key: $0.primaryKey) }
        }
    }
}
