/// Addresses that one client may have: an IPv4 address, or all of an IPv6 network of 64 bits.
package struct AddressGroup: Sendable, Hashable {
    private let bytes: [UInt8]

    /// Creates the group of an address; an IPv4-mapped one counts as IPv4.
    package init(_ address: NetworkAddress) {
        let plain = address.unmapped.bytes
        bytes = plain.count == 16 ? Array(plain.prefix(8)) : plain
    }
}
