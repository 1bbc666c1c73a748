import NetworkAddresses
import Testing

@testable import WebEdge

/// The headers of TCP balancers.
struct ProxyHeaderTests {
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let four: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 1, 0xDC, 0x04, 0x01, 0xBB]
    private static let six: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [7] + [UInt8](repeating: 1, count: 20)

    private static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 255)] + rest
    }

    private static let headers: [([UInt8], String?)] = [
        (Array("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n".utf8), "192.0.2.1"),
        (Array("PROXY TCP6 2001:db8::7 2001:db8::1 56324 443\r\n".utf8), "2001:db8::7"),
        (Array("PROXY UNKNOWN\r\n".utf8), nil),
        (Array("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n".utf8), nil),
        (binary(0x21, 0x11, four), "192.0.2.1"),
        // With what balancers add, such as a checksum or the name of the TLS server.
        (binary(0x21, 0x11, four + [UInt8](repeating: 9, count: 300)), "192.0.2.1"),
        (binary(0x21, 0x21, six), "2001:db8::7"),
        (binary(0x20, 0x00, []), nil),
        (binary(0x20, 0x11, four), nil),
        (binary(0x21, 0x00, []), nil),
    ]

    @Test func `a header is read however its bytes arrive, and leaves those of the client`() {
        for (header, client) in Self.headers {
            let expected = ProxyHeader.Reading.header(
                client: client.flatMap { NetworkAddress($0) },
                length: header.count
            )
            for count in 0..<header.count { #expect(ProxyHeader.read(header.prefix(count)) == .incomplete) }
            #expect(ProxyHeader.read(header) == expected)
            #expect(ProxyHeader.read(header + Array("GET / HTTP/1.1\r\n".utf8)) == expected)
        }
    }

    @Test func `what begins as a header and cannot become a valid one is malformed`() {
        let texts = [
            "PROXY \r\n", "PROXY TCP4 192.0.2.1 198.51.100.1 56324\r\n", "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 1 65536\r\n", "PROXY TCP4 192.0.2.1 198.51.100.1 1 2\n",
            "PROXY TCP6 192.0.2.1 198.51.100.1 1 2\r\n", "PROXY UNIX /a /b 1 2\r\n",
            "PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
            "PROXY " + String(repeating: "x", count: 200),
        ]
        for text in texts { #expect(ProxyHeader.read(Array(text.utf8)) == .malformed, "\(text)") }
        let binaries = [
            Self.binary(0x11, 0x11, Self.four), Self.binary(0x22, 0x11, Self.four), Self.binary(0x21, 0x12, Self.four),
            Self.binary(0x21, 0x31, Self.six), Self.binary(0x21, 0x11, [1, 2, 3]), Self.binary(0x21, 0x21, Self.four),
            Self.binary(0x21, 0x11, [UInt8](repeating: 0, count: ProxyHeader.maximum)),
        ]
        for bytes in binaries { #expect(ProxyHeader.read(bytes) == .malformed) }
    }

    @Test func `requests and handshakes are bytes of the client`() {
        for text in ["GET / HTTP/1.1\r\n", "POST /", "PUT /", "PROXYS /", "\r\n\r\nGET"] {
            #expect(ProxyHeader.read(Array(text.utf8)) == .none, "\(text)")
        }
        #expect(ProxyHeader.read([0x16, 3, 1]) == .none)
    }

    @Test func `random bytes end nothing`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = Self.headers.randomElement(using: &generator)?.0 ?? []
            for _ in 0..<3 where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            if case .header(_, let length) = ProxyHeader.read(bytes) { #expect(length <= bytes.count) }
        }
    }
}
