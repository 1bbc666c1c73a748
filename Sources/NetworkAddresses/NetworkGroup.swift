/// A network whose addresses one client may have: the first 8 to 64 bits of an address.
///
/// Clients are counted by network, because a client with one of its addresses can usually get the others: a provider
/// gives a customer an IPv6 network of 64, 56 or 48 bits.
package struct NetworkGroup: Sendable, Hashable {
    /// The first bits, at the upper end; the others are 0.
    private let prefix: UInt64
    private let length: UInt8
    private let isIPv4: Bool

    private init(prefix: UInt64, length: Int, isIPv4: Bool) {
        self.prefix = length > 0 ? prefix & ~0 << UInt64(64 - length) : 0
        self.length = UInt8(length)
        self.isIPv4 = isIPv4
    }

    /// Creates the network of an address; an IPv4-mapped one counts as IPv4.
    ///
    /// `length` is the number of bits, at most 32 for IPv4 and 64 for IPv6.
    package init(_ address: NetworkAddress, length: Int) {
        let bytes = address.unmapped.bytes
        let isIPv4 = bytes.count == 4
        let prefix = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } << (isIPv4 ? 32 : 0)
        self.init(prefix: prefix, length: length, isIPv4: isIPv4)
    }

    /// The networks of an address, from the largest to the smallest: 24 and 32 bits of an IPv4 address, 48, 56 and 64
    /// of an IPv6 address.
    package static func path(of address: NetworkAddress) -> [NetworkGroup] {
        let all = NetworkGroup(address, length: address.unmapped.bytes.count == 4 ? 32 : 64)
        return all.isIPv4 ? [all.part(24), all] : [all.part(48), all.part(56), all]
    }

    /// The network of a client: 24 bits of an IPv4 address, 64 of an IPv6 address.
    package static func client(_ address: NetworkAddress) -> NetworkGroup {
        NetworkGroup(address, length: address.unmapped.bytes.count == 4 ? 24 : 64)
    }

    /// A client's network and those that contain it, from the largest to the smallest.
    package var path: [NetworkGroup] {
        isIPv4 || length != 64 ? [self] : [part(48), part(56), self]
    }

    /// The network that contains it and has so many bits.
    private func part(_ length: Int) -> NetworkGroup {
        NetworkGroup(prefix: prefix, length: length, isIPv4: isIPv4)
    }

    /// Number of bits that its addresses share.
    package var bits: Int { Int(length) }

    /// True for a network of this machine's own addresses.
    package var isLoopback: Bool { isIPv4 ? prefix >> 56 == 127 && length >= 8 : prefix == 0 && length == 64 }

    private var address: NetworkAddress {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: prefix >> UInt64(56 - 8 * $0)) }
        let octets = isIPv4 ? Array(bytes.prefix(4)) : bytes + [UInt8](repeating: 0, count: 8)
        return NetworkAddress(octets: octets) ?? .unspecified
    }
}

extension NetworkGroup: CustomStringConvertible {
    /// The network in CIDR notation, such as `192.0.2.0/24`.
    package var description: String { "\(address)/\(length)" }

    /// Reads the form of ``description``; `nil` for other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = NetworkAddress(String(parts[0])), let length = Int(parts[1]),
            0...(address.unmapped.bytes.count == 4 ? 32 : 64) ~= length
        else { return nil }
        self.init(address, length: length)
    }
}
