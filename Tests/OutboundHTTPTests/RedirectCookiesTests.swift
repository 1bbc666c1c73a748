import Testing

@testable import OutboundHTTP

@Suite struct RedirectCookiesTests {
    private func sent(_ fields: [String], from: String, to: String) throws -> String? {
        var cookies = RedirectCookies()
        cookies.take(OutboundHeaders(fields.map { ("Set-Cookie", $0) }), from: try WebAddress(parsing: from))
        return cookies.text(for: try WebAddress(parsing: to))
    }

    @Test(
        arguments: [
            (["a=1; Path=/; HttpOnly", "b=2"], "https://a.org/x", "https://a.org/y?z", "a=1; b=2"),
            (["a=1"], "https://a.org/in/out", "https://a.org/", nil),
            (["a=1"], "https://a.org/in/x", "https://a.org/in", "a=1"),
            (["a=1; path=/feed"], "https://a.org/", "https://a.org/feeds", nil),
            (["a=1; path=/feed"], "https://a.org/", "https://a.org/feed/x", "a=1"),
            (["a=1"], "http://a.org/", "https://a.org/", "a=1"),
            (["a=1; Secure"], "https://a.org/", "http://a.org/", nil),
            (["a=1", "a=2"], "https://a.org/", "https://a.org/", "a=2"),
            (["a=1", "a=; Max-Age=0"], "https://a.org/", "https://a.org/", nil),
            (["a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "https://a.org/", "https://a.org/", nil),
            (["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60"], "https://a.org/", "https://a.org/", "a=1"),
            (["a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "https://a.org/", "https://a.org/", "a=1"),
            (["=1", "nothing", "", ";", "a=x\u{1}y"], "https://a.org/", "https://a.org/", nil),
            (["a=x=y"], "https://a.org/", "https://a.org/", "a=x=y"),
            // Never for another origin, whatever the cookie says.
            (["a=1; Domain=org; Path=/"], "https://a.org/", "https://b.org/", nil),
            (["a=1; Domain=.a.org"], "https://a.org/", "https://www.a.org/", nil),
            (["a=1"], "https://a.org/", "https://a.org:8443/", nil),
        ] as [([String], String, String, String?)]
    )
    func `a cookie goes back to the origin that set it`(
        fields: [String],
        from: String,
        to: String,
        expected: String?
    ) throws {
        #expect(try sent(fields, from: from, to: to) == expected)
    }

    @Test func `a flood of cookies is cut at the limits`() throws {
        let many = (0..<10_000).map { "c\($0)=1" }
        #expect(try sent(many, from: "https://a.org/", to: "https://a.org/")?.split(separator: ";").count == 50)
        let long = (0..<50).map { "c\($0)=\(String(repeating: "x", count: 4_000))" }
        #expect(try #require(try sent(long, from: "https://a.org/", to: "https://a.org/")).utf8.count <= 8_192)
        let huge = "c=\(String(repeating: "x", count: 5_000))"
        #expect(try sent([huge], from: "https://a.org/", to: "https://a.org/") == nil)
        var cookies = RedirectCookies()
        let address = try WebAddress(parsing: "https://a.org/")
        for hop in 0..<20 {
            cookies.take(OutboundHeaders((0..<50).map { ("Set-Cookie", "h\(hop)c\($0)=1") }), from: address)
        }
        #expect(cookies.text(for: address)?.split(separator: ";").count == 50)
    }
}
