import Testing

@testable import OutboundHTTP

@Suite struct WebAddressTests {
    @Test(arguments: [
        ("http://Example.ORG", "http://example.org/"),
        ("https://example.org:443/a?b#c", "https://example.org/a?b"),
        ("http://user:pass@example.org:8080/a", "http://example.org:8080/a"),
        ("http://example.org/ä b", "http://example.org/%c3%a4%20b"),
        ("http://[::1]:81/", "http://[::1]:81/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://example.org/a/../b", "http://example.org/b"),
        ("http://Bücher.example:81/ä", "http://xn--bcher-kva.example:81/%c3%a4"),
        ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
        ("http://169.254。169.254/", "http://169.254.169.254/"), ("http://１２７.1/", "http://127.0.0.1/"),
        ("http://169.254%E3%80%82169.254/", "http://169.254.169.254/"), ("http://ⓛocalhost/", "http://localhost/"),
    ])
    func `an address is normalised and sheds user information and fragment`(_ text: String, _ normal: String) throws {
        #expect(try WebAddress(parsing: text).text.lowercased() == normal)
    }

    @Test(arguments: [
        "", "example.org/feed", "/feed", "ftp://example.org/", "file:///etc/passwd", "gopher://example.org/",
        "http://", "http://exa mple.org/", "http://example.org:99999/", "http://a\u{0}b/",
        "http://ü..example/", "http://a／b.example/", "http://℀.example/", "http://a＠b.example/", "http://a%FF.example/",
        "javascript:alert(1)", "http://example.org/" + String(repeating: "a", count: 9_000),
    ])
    func `an address that cannot be fetched is refused`(_ text: String) {
        #expect(throws: OutboundError.self) { try WebAddress(parsing: text) }
    }

    @Test func `user information is decoded and kept apart`() throws {
        let address = try WebAddress(parsing: "https://me%40home:s%3Acret@example.org/a")
        #expect(address.user == "me@home")
        #expect(address.password == "s:cret")
        #expect(!address.text.contains("cret"))
        #expect(try WebAddress(parsing: address.textWithCredentials()) == address)
        let international = try WebAddress(parsing: "https://me%40home:s%3Acret@bücher.example/a")
        #expect(international.user == "me@home" && international.password == "s:cret")
        #expect(international.text == "https://xn--bcher-kva.example/a")
    }

    @Test(arguments: [
        "https://a.org/", "https://a.org/3/device/00af", "https://a.org/v1/projects/p-1:send", "https://a.org//a/",
        "https://a.org:443/a", "https://A.org/a", "https://a.org", "https://a.org.b/a", "https://a.org@b/a",
        "http://a.org/a",
        "https://a.org/a/../b", "https://a.org/./", "https://a.org/a?b", "https://a.org/a#b", "https://a.org/a b",
        "https://a.org/ä", "https://a.org/%41", "https://a.org/a\\b", "https://a.org:444/a", "https://x:y@a.org/a",
        "https://a.org/a\u{0}b", "https://a.org/" + String(repeating: "a", count: 9_000),
    ])
    func `a sibling is what the parser makes of it, or none`(_ text: String) throws {
        for known in ["https://a.org/known?b", "https://a.org:444/known"] {
            guard let sibling = try WebAddress(parsing: known).sibling(text) else { continue }
            #expect(try WebAddress(parsing: text) == sibling)
        }
        #expect(try WebAddress(parsing: "https://me:secret@a.org/").sibling("https://a.org/a") == nil)
    }

    @Test func `plain paths of one origin are siblings`() throws {
        let known = try WebAddress(parsing: "https://a.org:8443/3/device/1")
        #expect(known.sibling("https://a.org:8443/3/device/00af") != nil)
        #expect(known.sibling("https://a.org:8443/v1/projects/p-1/messages:send")?.origin == "https://a.org:8443")
    }

    @Test(arguments: [
        ("https://a.org/x", "https://a.org/y", true), ("https://a.org/x", "https://a.org:443/y", true),
        ("http://a.org/x", "https://a.org/x", true), ("https://a.org/x", "http://a.org/x", false),
        ("http://a.org:8080/x", "https://a.org/x", false), ("https://a.org/", "https://b.org/", false),
        ("https://a.org/", "https://a.org:444/", false), ("https://a.org/", "https://sub.a.org/", false),
    ])
    func `credentials stay within an origin or move from http to https`(
        _ from: String,
        _ to: String,
        _ expected: Bool
    ) throws {
        #expect(try WebAddress(parsing: from).sharesCredentials(with: WebAddress(parsing: to)) == expected)
    }

    @Test(arguments: [
        ("https://me:secret@example.org/feed?token=1", "https://example.org/feed?…"),
        ("https://example.org/feed", "https://example.org/feed"), ("::", "(unreadable address)"),
    ])
    func `a redacted address names host and path only`(_ text: String, _ expected: String) {
        #expect(redactedURL(text) == expected)
    }

    @Test(arguments: [
        ("https://Example.org:443/a", "example.org", "example.org"),
        ("http://me@bücher.example:81/", "xn--bcher-kva.example", "xn--bcher-kva.example:81"),
        ("http://0x7f.1/", "127.0.0.1", "127.0.0.1"), ("http://a.example\\@b.example/", "b.example", "b.example"),
        ("http://[::1]:80/", "[::1]", "[::1]"), ("ftp://a.example/", nil, nil),
    ])
    func `a site is named as requests read its address`(_ text: String, _ host: String?, _ authority: String?) {
        let site = try? WebSite(of: text)
        #expect(site?.host == host && site?.authority == authority)
    }
}
