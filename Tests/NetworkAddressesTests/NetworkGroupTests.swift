import Testing

@testable import NetworkAddresses

struct NetworkGroupTests {
    @Test(arguments: [
        ("192.0.2.7", ["192.0.2.0/24", "192.0.2.7/32"]),
        ("::ffff:192.0.2.7", ["192.0.2.0/24", "192.0.2.7/32"]),
        ("2001:db8:1:2345:3::4", ["2001:db8:1::/48", "2001:db8:1:2300::/56", "2001:db8:1:2345::/64"]),
        ("ffff:ffff:ffff:ffff::", ["ffff:ffff:ffff::/48", "ffff:ffff:ffff:ff00::/56", "ffff:ffff:ffff:ffff::/64"]),
    ])
    func `an address is in networks of several sizes`(text: String, networks: [String]) throws {
        let address = try #require(NetworkAddress(text))
        #expect(NetworkGroup.path(of: address).map(\.description) == networks)
        for network in NetworkGroup.path(of: address) { #expect(NetworkGroup(network.description) == network) }
        let client = NetworkGroup.client(address)
        #expect(client.path.last == client && NetworkGroup.path(of: address).starts(with: client.path))
    }

    @Test(arguments: ["", "/", "192.0.2.0", "192.0.2.0/33", "192.0.2.0/-1", "::/65", "::/x", "local", "1/2/3"])
    func `other texts are not networks`(text: String) {
        #expect(NetworkGroup(text) == nil)
    }
}
