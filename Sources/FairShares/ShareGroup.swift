package import NetworkAddresses

/// A group whose members share a part of a budget.
package enum ShareGroup: Sendable, Hashable {
    /// Clients that cannot be distinguished: those on this machine, and those behind a proxy that reports no addresses.
    case everybody
    /// Clients of one network.
    case network(NetworkGroup)
    /// Clients that use one key, or name one account.
    case key(String)
}

/// The groups of clients, by their addresses.
package struct ClientGrouping: Sendable {
    private let isShared: @Sendable (NetworkAddress) -> Bool

    /// - Parameter isShared: True for an address that many unrelated clients have.
    package init(isShared: @escaping @Sendable (NetworkAddress) -> Bool) { self.isShared = isShared }

    /// Loopback addresses are those of everybody: programs on this machine, and clients of a proxy on it.
    package static let standard = ClientGrouping { $0.isLoopback }

    /// True for a client that cannot be distinguished from others.
    package func isEverybody(_ address: NetworkAddress?) -> Bool { address.map { isShared($0.unmapped) } ?? true }

    /// The groups of a client, from the largest to the smallest; never empty.
    package func path(of address: NetworkAddress?) -> [ShareGroup] {
        guard let address, !isEverybody(address) else { return [.everybody] }
        return NetworkGroup.path(of: address).map { .network($0) }
    }
}
