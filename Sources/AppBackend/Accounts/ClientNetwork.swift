package import NetworkAddresses

/// The network that a client calls from: 24 bits of an IPv4 address, 64 of an IPv6 address.
///
/// Password guesses are counted by network: a client with one of its addresses can usually get the others.
package struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
    /// The network in CIDR notation, such as `192.0.2.0/24`; `local` for a client without an address.
    package let description: String

    package init(_ address: NetworkAddress?) {
        guard let bytes = address?.unmapped.bytes else {
            description = "local"
            return
        }
        let kept = bytes.count == 4 ? 3 : 8
        let network = Array(bytes.prefix(kept)) + [UInt8](repeating: 0, count: bytes.count - kept)
        description = "\(NetworkAddress(octets: network).map(\.description) ?? "local")/\(kept * 8)"
    }
}
