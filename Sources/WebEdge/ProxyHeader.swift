package import NetworkAddresses

/// The header by which a TCP balancer names the client of a connection, before the client's first byte.
///
/// Source: The PROXY protocol, versions 1 and 2 (haproxy.org/download/3.0/doc/proxy-protocol.txt).
package enum ProxyHeader {
    package enum Reading: Equatable, Sendable {
        /// The bytes so far can still become a header.
        case incomplete
        /// The bytes are those of a client.
        case none
        /// A header of so many bytes; `client` is `nil` for a connection of the balancer's own, as for health checks.
        case header(client: NetworkAddress?, length: Int)
        /// It begins as a header does, and is not a valid one.
        case malformed
    }

    /// Longest header that is read, in bytes: the addresses, and what balancers add to them.
    package static let maximum = 4_096
    private static let maximumLine = 107
    private static let line = Array("PROXY ".utf8)
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    /// Reads a header at the beginning of a connection's bytes.
    package static func read(_ bytes: some Collection<UInt8>) -> Reading {
        let start = Array(bytes.prefix(maximum + 1))
        for (mark, read) in [(line, readLine), (signature, readBinary)] {
            guard start.starts(with: mark) || mark.starts(with: start) else { continue }
            return start.count < mark.count ? .incomplete : read(start)
        }
        return .none
    }

    /// `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443`, with CRLF.
    private static func readLine(_ bytes: [UInt8]) -> Reading {
        guard let end = bytes.prefix(maximumLine).firstIndex(of: UInt8(ascii: "\n")) else {
            return bytes.count < maximumLine ? .incomplete : .malformed
        }
        guard bytes[end - 1] == UInt8(ascii: "\r") else { return .malformed }
        let words = bytes[..<(end - 1)].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        switch words.count > 1 ? words[1] : "" {
        case "UNKNOWN": return .header(client: nil, length: end + 1)
        case "TCP4", "TCP6":
            guard words.count == 6, let client = NetworkAddress(words[2]), NetworkAddress(words[3]) != nil,
                words[4...].allSatisfy({ UInt16($0) != nil }), client.bytes.count == (words[1] == "TCP4" ? 4 : 16)
            else { return .malformed }
            return .header(client: client, length: end + 1)
        default: return .malformed
        }
    }

    /// Version and command, family, length, then addresses and ports.
    private static func readBinary(_ bytes: [UInt8]) -> Reading {
        let fixed = signature.count + 4
        guard bytes.count >= fixed else { return .incomplete }
        let (command, family) = (bytes[signature.count], bytes[signature.count + 1])
        let rest = Int(bytes[fixed - 2]) << 8 | Int(bytes[fixed - 1])
        guard command == 0x20 || command == 0x21, fixed + rest <= maximum else { return .malformed }
        guard bytes.count >= fixed + rest else { return .incomplete }
        let header = { (client: NetworkAddress?) in Reading.header(client: client, length: fixed + rest) }
        // LOCAL: the balancer's own connection.
        guard command == 0x21 else { return header(nil) }
        switch family {
        case 0x00: return header(nil)
        case 0x11 where rest >= 12: return header(NetworkAddress(octets: bytes[fixed..<(fixed + 4)]))
        case 0x21 where rest >= 36: return header(NetworkAddress(octets: bytes[fixed..<(fixed + 16)]))
        default: return .malformed
        }
    }
}
