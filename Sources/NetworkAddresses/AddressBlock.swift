/// An address, or all addresses that share its first bits.
package struct AddressBlock: Sendable, Hashable, CustomStringConvertible {
    private let address: NetworkAddress
    private let bits: Int

    /// Reads `10.0.0.0/8`, `fd00::/8` or a single address, IPv6 also in brackets.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = parts.first,
            let address = NetworkAddress(String(host.drop { $0 == "[" }.prefix { $0 != "]" }))
        else { return nil }
        let all = address.bytes.count * 8
        guard let bits = parts.count == 1 ? all : Int(parts[1]), 0...all ~= bits else { return nil }
        self.address = address
        self.bits = bits
    }

    package var description: String {
        bits == address.bytes.count * 8 ? address.description : "\(address)/\(bits)"
    }

    package func contains(_ other: NetworkAddress) -> Bool {
        other.bytes.count == address.bytes.count && AddressPrefix(address.bytes, bits).contains(other.bytes)
    }
}
