package import NetworkAddresses

/// Clients' networks that were here before, a limited number.
///
/// When there are too many, one of the group with the most networks is forgotten, so that a client with many networks
/// forgets its own.
package struct KnownNetworks: Sendable {
    private let limit: Int
    private var networks = FairShares<NetworkGroup>()

    /// - Parameter limit: Maximum number, at least 1; a network takes about 400 bytes.
    package init(limit: Int) { self.limit = limit }

    package var count: Int { networks.count }

    package func contains(_ network: NetworkGroup) -> Bool { networks.contains(network) }

    /// Remembers a network.
    package mutating func insert(_ network: NetworkGroup) {
        guard !networks.contains(network) else { return }
        networks.insert(network, in: network.path.map { .network($0) })
        guard networks.count > limit, let (former, _) = networks.yielding(to: network) else { return }
        networks.remove(former)
    }
}
