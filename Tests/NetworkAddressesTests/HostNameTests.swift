import NetworkAddresses
import Testing

@Suite struct HostNameTests {
    @Test(arguments: [
        ("localhost", "localhost", "localhost"), ("Hub.Example.ORG.", "hub.example.org", "hub.example.org"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", "xn--bcher-kva.example"), ("my_hub", "my_hub", "my_hub"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"), ("::1", "::1", "[::1]"),
        ("[2001:DB8::1]", "2001:db8::1", "[2001:db8::1]"),
        ("1.example", "1.example", "1.example"),
    ])
    func `a name or an address is read, and written alone and in addresses`(
        _ text: String,
        _ alone: String,
        _ inAddress: String
    ) throws {
        let name = try #require(HostName(text))
        #expect(name.description == alone)
        #expect(name.urlHost == inAddress)
    }

    @Test(arguments: [
        "", ".", "a..b", "-a", "a-", "a b", "a/b", "a:80", "127.0.0.1:80", "[::1]:80", "[127.0.0.1]", "[a]",
        "*.example",
        "bücher.example", "1.2.3", "1.2.3.4.5", "fe80::1%lo", "a\r\nb", "a@b", "a\"b", "127.1",
        String(repeating: "a", count: 64), String(repeating: "a.", count: 126) + "aa",
    ])
    func `anything else is refused as a host`(_ text: String) {
        #expect(HostName(text) == nil)
    }

    @Test(arguments: [
        ("localhost", true), ("a.localhost", true), ("127.9.9.9", true), ("::1", true), ("::ffff:127.0.0.1", true),
        ("0.0.0.0", false), ("::", false), ("example.org", false), ("localhost.example", false), ("128.0.0.1", false),
    ])
    func `this machine is distinguished from others`(_ text: String, _ isLoopback: Bool) throws {
        #expect(try #require(HostName(text)).isLoopback == isLoopback)
    }
}

@Suite struct AddressBlockTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.1", "127.0.0.2", false), ("::1", "::1", true), ("[fd00::]/8", "fd12::1", true),
        ("fd00::/8", "fe00::1", false), ("0.0.0.0/0", "::1", false), ("0.0.0.0/0", "1.2.3.4", true),
    ])
    func `an address is in a block or not`(_ block: String, _ address: String, _ isInside: Bool) throws {
        #expect(try #require(AddressBlock(block)).contains(try #require(NetworkAddress(address))) == isInside)
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "example.org", "10.0.0.0/8/9", "::/129"])
    func `a text that is not a block is refused`(_ text: String) {
        #expect(AddressBlock(text) == nil)
    }

    @Test func `an address that was mapped for a socket of both kinds is what it was`() throws {
        let mapped = try #require(NetworkAddress("::ffff:10.1.2.3"))
        #expect(mapped.unmapped == NetworkAddress("10.1.2.3"))
        #expect(try #require(NetworkAddress("fd00::1")).unmapped == NetworkAddress("fd00::1"))
    }
}
