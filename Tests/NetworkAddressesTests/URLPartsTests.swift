import Testing

@testable import NetworkAddresses

@Suite struct URLPartsTests {
    @Test(arguments: [
        ("https://a.example", "https", "a.example", ""),
        ("HTTPS://A.example/x?y#z", "https", "A.example", "/x?y#z"),
        ("sb://h:80/", "sb", "h:80", "/"),
        ("http://u:p@h?q", "http", "u:p@h", "?q"),
        ("http://h#f://g", "http", "h", "#f://g"),
        ("file:///etc/x", "file", "", "/etc/x"),
        ("://h", "", "h", ""),
        // A combining mark does not hide the slash.
        ("http://h/\u{301}x", "http", "h", "/\u{301}x"),
    ])
    func `a URL has three parts`(text: String, scheme: String, authority: String, rest: String) throws {
        let parts = try #require(URLParts(text))
        #expect(parts.scheme == scheme)
        #expect(parts.authority == authority)
        #expect(Array(parts.rest.utf8) == Array(rest.utf8))
    }

    @Test(arguments: ["", "a.example", "http:/h", "mailto:a@b.example"])
    func `another text is not a URL`(text: String) { #expect(URLParts(text) == nil) }

    /// A combining mark makes one character of a sign and itself.
    @Test func `a combining mark hides no sign of an authority`() throws {
        #expect(URLParts("http://u@\u{301}h/")?.server == "\u{301}h")
        #expect(HostAndPort(":\u{301}80").host.isEmpty)
        #expect(HostAndPort("[::1]\u{301}").host == "[::1]")
    }

    @Test func `user information ends at the last at sign`() throws {
        let parts = try #require(URLParts("http://u@v:p@h:8/"))
        #expect(parts.hasUser)
        #expect(parts.server == "h:8")
        #expect(URLParts("http://@h/")?.hasUser == true)
        #expect(URLParts("http://h/@")?.hasUser == false)
    }

    @Test(
        arguments: [
            ("h", "h", nil, true), ("h:80", "h", 80, true), ("h:65535", "h", 65_535, true), ("h:00080", "h", 80, true),
            ("[::1]", "[::1]", nil, true), ("[::1]:80", "[::1]", 80, true), ("", "", nil, true), (":80", "", 80, true),
            ("h:", "h", nil, false), ("h:0", "h", nil, false), ("h:65536", "h", nil, false),
            ("h:000080", "h", nil, false),
            ("h:+80", "h", nil, false), ("h:٨", "h", nil, false), ("h:8:0", "h", nil, false), ("::1", "", nil, false),
            ("[::1]80", "[::1]", nil, false), ("[::1", "[::1", nil, true),
        ] as [(String, String, Int?, Bool)]
    )
    func `an authority has a host and perhaps a port`(text: String, host: String, port: Int?, isValid: Bool) {
        let parts = HostAndPort(text)
        #expect(parts.host == host)
        #expect(parts.port == port)
        #expect(parts.isValid == isValid)
    }

    @Test func `zero is a port only where it has a meaning`() {
        #expect(HostAndPort("h:0").port(from: 0) == 0)
        #expect(HostAndPort("h").port(from: 0) == nil)
    }

    @Test(
        arguments: [
            (.https, "h:443", "h"), (.https, "h:80", "h:80"), (.http, "h:80", "h"), (.https, "[::443]", "[::443]"),
            (.https, "h", "h"),
        ] as [(WebScheme, String, String)]
    )
    func `a scheme implies a port`(scheme: WebScheme, authority: String, expected: String) {
        #expect(scheme.withoutPort(authority) == expected)
    }
}
