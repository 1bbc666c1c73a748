import Glibc

/// An IPv4 or IPv6 address in the form in which the kernel connects to it.
package struct NetworkAddress: Sendable, Hashable {
    /// 4 or 16 bytes in network order.
    package let bytes: [UInt8]

    /// - Parameter text: Dotted decimal or RFC 4291 text without brackets; a zone (`%eth0`) is dropped.
    package init?(_ text: String) {
        let bare = String(text.prefix { $0 != "%" })
        var four = in_addr()
        var sixteen = in6_addr()
        if inet_pton(AF_INET, bare, &four) == 1 {
            self.bytes = withUnsafeBytes(of: &four) { Array($0) }
        } else if inet_pton(AF_INET6, bare, &sixteen) == 1 {
            self.bytes = withUnsafeBytes(of: &sixteen) { Array($0) }
        } else {
            return nil
        }
    }

    /// - Parameter octets: 4 or 16 bytes in network order.
    package init?(octets: some Collection<UInt8>) {
        guard octets.count == 4 || octets.count == 16 else { return nil }
        self.init(bytes: Array(octets))
    }

    /// - Parameter socketAddress: A `sockaddr_in` or `sockaddr_in6` of any alignment; `nil` for another family.
    package init?(socketAddress: UnsafeRawBufferPointer) {
        guard socketAddress.count >= MemoryLayout<sa_family_t>.size else { return nil }
        let range: Range<Int>
        switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET: range = 4..<8
        case AF_INET6: range = 8..<24
        default: return nil
        }
        guard socketAddress.count >= range.upperBound else { return nil }
        self.bytes = Array(socketAddress[range])
    }

    /// True for a globally reachable unicast address.
    ///
    /// An address that contains the IPv4 address to which the connection will go (mapped, NAT64) is judged by that
    /// address.
    ///
    /// Source: IANA special-purpose address registries (RFC 6890); RFC 6598 (carrier-grade NAT).
    package var isPublic: Bool {
        if bytes.count == 4 {
            return !Self.special4.contains { $0.contains(bytes) }
        }
        if Self.mapped.contains(bytes) || Self.translated.contains(bytes) {
            return !Self.special4.contains { $0.contains(Array(bytes.suffix(4))) }
        }
        return Self.globalUnicast.contains(bytes) && !Self.special6.contains { $0.contains(bytes) }
    }

    /// True for an address of this machine only, including an IPv4 address mapped to IPv6.
    package var isLoopback: Bool {
        let plain = unmapped
        return plain.bytes.count == 4 ? plain.bytes[0] == 127 : bytes == Self.loopback6
    }

    /// The IPv4 address of an IPv4-mapped one, as dual-stack sockets report them; other addresses unchanged.
    package var unmapped: NetworkAddress {
        bytes.count == 16 && Self.mapped.contains(bytes) ? NetworkAddress(bytes: Array(bytes.suffix(4))) : self
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The address `0.0.0.0`.
    static let unspecified = NetworkAddress(bytes: [0, 0, 0, 0])

    private static let loopback6 = [UInt8](repeating: 0, count: 15) + [1]

    private static let special4: [AddressPrefix] = [
        AddressPrefix([0], 8),  // this network; 0.0.0.0 connects to the machine itself
        AddressPrefix([10], 8),
        AddressPrefix([100, 64], 10),  // carrier-grade NAT, and the metadata service of one cloud
        AddressPrefix([127], 8),
        AddressPrefix([168, 63, 129, 16], 32),  // a cloud's host agent on an otherwise public address
        AddressPrefix([169, 254], 16),  // link-local, metadata services
        AddressPrefix([172, 16], 12),
        AddressPrefix([192, 0, 0], 24),
        AddressPrefix([192, 0, 2], 24),
        AddressPrefix([192, 88, 99], 24),
        AddressPrefix([192, 168], 16),
        AddressPrefix([198, 18], 15),
        AddressPrefix([198, 51, 100], 24),
        AddressPrefix([203, 0, 113], 24),
        AddressPrefix([224], 4),  // multicast
        AddressPrefix([240], 4),  // reserved, broadcast
    ]

    /// IPv4 addresses in the form of IPv6, `::ffff:0:0/96`.
    private static let mapped = AddressPrefix([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96)

    /// `64:ff9b::/96`, through which networks without IPv4 reach all IPv4 addresses.
    private static let translated = AddressPrefix([0, 0x64, 0xFF, 0x9B], 96)

    /// `2000::/3`, without loopback, unique local, link-local, site-local and multicast addresses.
    private static let globalUnicast = AddressPrefix([0x20], 3)

    private static let special6: [AddressPrefix] = [
        AddressPrefix([0x20, 0x01], 23),  // protocol assignments: Teredo, benchmarking, ORCHID
        AddressPrefix([0x20, 0x01, 0x0D, 0xB8], 32),  // documentation
        AddressPrefix([0x20, 0x02], 16),  // 6to4 carries any IPv4 address
        AddressPrefix([0x3F, 0xFF], 20),  // documentation
    ]
}

extension NetworkAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
