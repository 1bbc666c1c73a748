import HubProtocol
import Testing

@Suite struct BackendAddressTests {
    @Test(arguments: [
        ("https://push.example.org:8788", "https://push.example.org:8788"),
        ("HTTPS://Push.Example.org/", "https://push.example.org"),
        ("https://push.example.org:8788/api/", "https://push.example.org:8788"),
        ("http://127.0.0.1:8788/api", "http://127.0.0.1:8788"),
        ("https://[::1]:8788", "https://[::1]:8788"),
    ])
    func `an address is scheme, host and port`(text: String, url: String) throws {
        #expect(try BackendAddress(parsing: text).url == url)
    }

    @Test(arguments: [
        "", "push.example.org", "sb://push.example.org/", "ftp://push.example.org/",
        "https://push.example.org/other/api/",
        "https://alice:secret@push.example.org/", "https://push.example.org/?x", "https://push.example.org:99999",
    ])
    func `other texts are refused with a reason`(text: String) {
        let error = #expect(throws: BackendAddressError.self) { try BackendAddress(parsing: text) }
        #expect(error?.description.contains("is not a valid app backend address: it ") == true)
    }

    @Test(arguments: [
        ("http://push.example.org", true), ("http://10.0.0.1:8788", true), ("http://127.0.0.1:8788", false),
        ("http://localhost", false), ("https://push.example.org", false),
    ])
    func `plain HTTP is for this machine`(text: String, isExposed: Bool) throws {
        #expect(try BackendAddress(parsing: text).isExposed == isExposed)
    }

    @Test(arguments: [
        ("sb://hub.example.org:8787/", "https://hub.example.org:8787"),
        ("http://127.0.0.1:8787/", "http://127.0.0.1:8787"), ("sb://news.example.org/", "https://news.example.org"),
    ])
    func `a hub's own app backend is on the hub's port`(endpoint: String, url: String) throws {
        let hub = try ConnectionString(endpoint: endpoint, keyName: "Listen", key: "a2V5")
        #expect(try BackendAddress(servedBy: hub).url == url)
    }
}
