package import NIOCore
package import NetworkAddresses
import Synchronization

/// The clients of connections that a trusted TCP balancer has named (``ProxyHeader``).
private enum ProxiedConnections {
    static let clients = Mutex<[ObjectIdentifier: NetworkAddress]>([:])
    /// Most servers have none, and need no lock.
    static let count = Atomic(0)

    static func client(of channel: any Channel) -> NetworkAddress? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        return clients.withLock { clients in
            for connection in [channel, channel.parent].compactMap(\.self) {
                if let client = clients[ObjectIdentifier(connection)] { return client }
            }
            return nil
        }
    }
}

extension Channel {
    /// The address of the client: that of the other end, or the one that a trusted TCP balancer has named; `nil` for a
    /// Unix socket.
    package var clientAddress: NetworkAddress? {
        ProxiedConnections.client(of: self) ?? remoteAddress?.networkAddress?.unmapped
    }

    /// Notes, until the connection closes, the client that a trusted TCP balancer has named.
    package func setClientAddress(_ client: NetworkAddress) {
        let key = ObjectIdentifier(self)
        ProxiedConnections.clients.withLock { $0[key] = client.unmapped }
        ProxiedConnections.count.add(1, ordering: .relaxed)
        closeFuture.whenComplete { _ in
            ProxiedConnections.clients.withLock { $0[key] = nil }
            ProxiedConnections.count.subtract(1, ordering: .relaxed)
        }
    }
}
