package import FairShares
package import NetworkAddresses

/// The network that a client calls from: 24 bits of an IPv4 address, 64 of an IPv6 address.
package struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
    private let network: NetworkGroup?
    /// True for a client that cannot be distinguished from others.
    package let isEverybody: Bool

    package init(_ address: NetworkAddress?) {
        network = address.map { .client($0) }
        isEverybody = ClientGrouping.standard.isEverybody(address)
    }

    /// The groups by which clients share what is limited, from the largest to the smallest.
    package var path: [ShareGroup] {
        guard !isEverybody, let network else { return [.everybody] }
        return network.path.map { .network($0) }
    }

    /// The network in CIDR notation, such as `192.0.2.0/24`; `local` for a client without an address.
    package var description: String { network?.description ?? "local" }
}
