import HubTestServer
import NetworkAddresses
import OutboundHTTP
import Testing

/// What devices may make this program connect to: nothing but public addresses.
@Suite struct GuardTests {
    private let client = OutboundClient(userAgent: "test/1", proxies: .none)

    private func error(_ url: String) async -> OutboundError? {
        let request = OutboundRequest(
            method: "POST",
            url: url,
            body: [1],
            connectTimeout: .seconds(5),
            totalTimeout: .seconds(20),
            maximumRedirects: 0,
            addresses: .publicOnly
        )
        do throws(OutboundError) {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    /// The first, the last and one other address of each block that is not public.
    static let addresses4 = [
        "0.0.0.0", "0.0.0.1", "0.255.255.255", "10.0.0.0", "10.1.2.3", "10.255.255.255", "100.64.0.0",
        "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.0.0.53", "127.255.255.254", "168.63.129.16",
        "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.0", "172.17.0.1", "172.31.255.255", "192.0.0.1",
        "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.1.1", "192.168.255.255", "198.18.0.1",
        "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.250", "240.0.0.1",
        "255.255.255.255",
    ]

    static let addresses6 = [
        "::", "::1", "::7f00:1", "64:ff9b:1::1", "64:ff9b:1::a9fe:a9fe", "100::1", "2001::1", "2001:2::1",
        "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:808:808::1", "3fff::1",
        "5f00::1", "fc00::1", "fd00:ec2::254", "fd12:3456:789a::1", "fdff::1", "fe80::1", "fe80::a9fe:a9fe", "febf::1",
        "fec0::1", "ff02::1", "ff05::1:3",
    ]

    private static func parts(_ address: String) -> [UInt32] { address.split(separator: ".").compactMap { UInt32($0) } }

    private static func hex(_ number: UInt32) -> String { String(number, radix: 16) }

    /// Ways to write an IPv4 address that the C library's parser, or a translation of international names, knows.
    private static func spellings(_ address: String) -> [String] {
        let parts = parts(address)
        let whole = parts.reduce(0) { $0 << 8 | $1 }
        let wide = String(
            String.UnicodeScalarView(
                address.unicodeScalars.map { $0 == "." ? "。" : Unicode.Scalar($0.value + 0xFEE0) ?? $0 }
            )
        )
        return [
            "\(whole)", "0x\(hex(whole))", "0\(String(whole, radix: 8))",
            parts.map { "0x\(hex($0))" }.joined(separator: "."),
            parts.map { "0\(String($0, radix: 8))" }.joined(separator: "."),
            "\(parts[0]).\(whole & 0xFF_FFFF)", "0x\(hex(parts[0])).\(parts[1]).\(whole & 0xFFFF)", wide,
        ]
    }

    /// IPv6 addresses that carry an IPv4 address to which the connection goes.
    private static func carriers(_ address: String) -> [String] {
        let parts = parts(address)
        let words = "\(hex(parts[0] << 8 | parts[1])):\(hex(parts[2] << 8 | parts[3]))"
        return [
            "[::ffff:\(address)]", "[::ffff:\(words)]", "[0:0:0:0:0:FFFF:\(address)]", "[64:ff9b::\(words)]",
            "[64:ff9b::\(address)]", "[::\(address)]",
        ]
    }

    private static let spelled = [
        "127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.1.1", "172.17.0.1", "100.100.100.200",
    ]

    static let hosts: [String] =
        addresses4 + addresses6.map { "[\($0)]" } + spelled.flatMap { spellings($0) + carriers($0) }
        + ["0.0.0.0", "8.8.8.8"].flatMap { carriers($0).suffix(1) }
        + [
            "0", "0x0", "0.0", "127.1", "127.0.1", "LOCALHOST", "localhost", "a.localhost", "%31%32%37.0.0.1",
            "ⓛocalhost",
        ]
        + addresses4.map { "[::ffff:\($0)]" } + addresses4.map { "[64:ff9b::\($0)]" }

    @Test func `at least two hundred are tried`() { #expect(Set(Self.hosts).count >= 200) }

    @Test func `every address and spelling is refused before a connection`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(201) }
        for host in Set(Self.hosts).sorted() {
            for url in ["https://\(host)/push/x", "http://\(host):\(server.port)/push/x"] {
                guard case .refusedAddress? = await error(url) else {
                    Issue.record("\(url) is not refused")
                    continue
                }
            }
        }
        #expect(server.requests.isEmpty)
        await client.shutdown()
    }

    @Test func `forms that two parsers could read differently reach nothing`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(201) }
        let port = server.port
        for url in [
            "http://127.0.0.1:\(port)#@push.example/", "http://push.example@127.0.0.1:\(port)/",
            "http://push.example:443@127.0.0.1:\(port)/", "http:///127.0.0.1:\(port)/", "http:127.0.0.1:\(port)/",
            "http:\\\\127.0.0.1:\(port)/", "http://127.0.0.1:\(port)\\@10.0.0.1/",
            "http://127.0.0.1:\(port)/?@push.example",
            "http://[::ffff:127.0.0.1]:\(port)/#", "HTTP://127.0.0.1:\(port)/", "//127.0.0.1:\(port)/",
            "http://127.0.0.1:\(port)/\r\nHost: push.example", "http://[::1%25lo]:\(port)/", "http://[::1",
            "file:///etc/passwd",
            "gopher://127.0.0.1:\(port)/_x", "dict://127.0.0.1:\(port)/x", "http://127.0.0.1:99999/", "http://",
        ] {
            #expect(await error(url) != nil, "\(url)")
        }
        #expect(server.requests.isEmpty)
        await client.shutdown()
    }

    @Test func `a service at a public address cannot lead elsewhere`() async throws {
        let inner = try ScriptedHTTPServer { _ in .status(201) }
        let target = inner.url("/admin")
        let outer = try ScriptedHTTPServer { _ in .redirect(307, to: target) }
        let block = try #require(AddressBlock("127.0.0.1"))
        let request = OutboundRequest(
            method: "POST",
            url: outer.url("/push/x"),
            body: [1],
            maximumRedirects: 0,
            addresses: .publicAnd([block])
        )
        #expect(try await client.send(request).status == 307)
        #expect(outer.requests.count == 1 && inner.requests.isEmpty)
        await client.shutdown()
    }

    @Test func `a connection that another request opened does not bypass the guard`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(201) }
        let open = OutboundRequest(method: "POST", url: server.url("/first"), body: [1], addresses: .any)
        #expect(try await client.send(open).status == 201)
        guard case .refusedAddress? = await error(server.url("/second")) else {
            Issue.record("not refused")
            return
        }
        #expect(server.requests.map(\.path) == ["/first"])
        await client.shutdown()
    }
}
