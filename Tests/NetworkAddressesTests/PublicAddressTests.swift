import NetworkAddresses
import Testing

@Suite struct PublicAddressTests {
    private static let own = PublicAddress.own(.name("hub.example.org"))
    private static let configured = PublicAddress.configured(Authority(.name("news.example.org"), port: 0))

    @Test func `a name of the server's machine gets the server's port, and a configured address stays`() throws {
        let port = try #require(Authority("news.example.org:8443"))
        #expect("\(Self.own.authority(port: 8_787))" == "hub.example.org:8787")
        #expect("\(Self.configured.authority(port: 8_787))" == "news.example.org")
        #expect("\(PublicAddress.configured(port).authority(port: 8_787))" == "news.example.org:8443")
    }

    @Test(arguments: [
        (configured, ["127.0.0.1"], "127.0.0.1", true), (configured, ["192.0.2.7"], "0.0.0.0", true),
        // No other program can lead other machines to it.
        (configured, [], "127.0.0.1", true), (configured, [], "::1", true), (configured, [], "localhost", true),
        // A router leads them to it.
        (configured, [], "0.0.0.0", false), (configured, [], "192.0.2.1", false),
        (configured, [], "hub.example.org", false),
        // Whatever is in front of the server, these clients call the server's own port.
        (own, [], "0.0.0.0", false), (own, [], "127.0.0.1", false), (own, ["127.0.0.1"], "127.0.0.1", false),
    ])
    func `an address is a proxy's if there is a trusted one, or if only this machine reaches the server`(
        address: PublicAddress,
        proxies: [String],
        listen: String,
        isOfProxy: Bool
    ) throws {
        let blocks = try proxies.map { try #require(AddressBlock($0)) }
        #expect(address.isOfProxy(trusted: blocks, listen: listen) == isOfProxy)
    }
}
