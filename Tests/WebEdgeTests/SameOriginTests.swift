import Testing

@testable import WebEdge

@Suite struct SameOriginTests {
    @Test(arguments: [
        ("https://hub.example.org", "hub.example.org", true),
        ("https://hub.example.org", "hub.example.org:443", true),
        ("https://hub.example.org:443", "hub.example.org", true),
        ("http://hub.example.org", "hub.example.org:80", true),
        ("https://hub.example.org:8787", "HUB.example.org:8787", true),
        ("https://[2001:db8::1]:8787", "[2001:db8::1]:8787", true),
        ("https://evil.example", "hub.example.org", false),
        ("https://hub.example.org.evil.example", "hub.example.org", false),
        ("https://hub.example.org:8788", "hub.example.org:8787", false),
        ("https://hub.example.org", "hub.example.org:8787", false),
        ("http://hub.example.org", "hub.example.org:443", false),
        ("null", "hub.example.org", false),
        ("", "", false),
        ("file://", "hub.example.org", false),
        ("hub.example.org", "hub.example.org", false),
    ])
    func `a page is of the same site if its host and port are`(origin: String, authority: String, isOwn: Bool) {
        #expect(SameOrigin.isOwn(origin, authority: authority) == isOwn)
    }
}
