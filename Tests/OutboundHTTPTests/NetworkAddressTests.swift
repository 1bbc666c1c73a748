import NetworkAddresses
import Testing

@testable import OutboundHTTP

@Suite struct NetworkAddressTests {
    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "100.100.100.200", "127.0.0.1",
        "127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192",
        "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7",
        "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0",
        "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:20::1",
        "2001:db8::1", "2002:7f00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo",
        "febf::1", "fec0::1", "ff02::1",
    ])
    func `an address that is not globally reachable unicast is not public`(_ text: String) throws {
        let address = try #require(NetworkAddress(text))
        #expect(!address.isPublic)
        #expect(!AddressPolicy.publicOnly.allows(address))
        #expect(AddressPolicy.any.allows(address))
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
        "168.63.129.15", "169.253.0.1", "169.255.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.0.1",
        "192.169.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
        "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "2a00::1", "3ffe::1",
    ])
    func `an ordinary address beside the special ranges is public`(_ text: String) throws {
        #expect(try #require(NetworkAddress(text)).isPublic)
    }

    @Test(arguments: ["", "1.2.3", "example.org", "1.2.3.4.5", "[::1]", "::1::"])
    func `a text that is not an address is refused`(_ text: String) {
        #expect(NetworkAddress(text) == nil)
    }

    @Test func `an address is written the way it is read`() throws {
        #expect(try #require(NetworkAddress("::ffff:10.0.0.1")).description == "::ffff:10.0.0.1")
        #expect(try #require(NetworkAddress("10.0.0.1")).description == "10.0.0.1")
    }
}
