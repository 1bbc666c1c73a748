import Testing

@testable import OutboundHTTP

@Suite struct RedirectTrailTests {
    private func head(_ status: Int, _ location: String) -> ReplyHead {
        ReplyHead(status: status, headers: OutboundHeaders([("Location", location)]))
    }

    private func trail(
        _ url: String = "https://a.org/feed",
        method: String = "POST",
        limit: Int = 5
    ) throws -> RedirectTrail {
        let request = OutboundRequest(
            method: method,
            url: url,
            headers: [
                ("Authorization", "secret"), ("Cookie", "c"), ("Newswire-Push-Channel", "s"), ("Accept", "a"),
                ("If-None-Match", "\"1\""), ("Content-Type", "text/plain"),
            ],
            body: [1, 2],
            maximumRedirects: limit,
            addresses: .any
        )
        let fields = OutboundHeaders(request.headers).fields
        return RedirectTrail(request, fields, to: try WebAddress(parsing: url))
    }

    @Test(arguments: [
        (301, "POST", "GET", false), (302, "POST", "GET", false), (303, "POST", "GET", false),
        (307, "POST", "POST", true), (308, "POST", "POST", true), (301, "PUT", "PUT", true),
        (303, "PUT", "GET", false), (303, "HEAD", "HEAD", true), (302, "GET", "GET", true),
    ])
    func `method and body follow the status`(
        _ status: Int,
        _ method: String,
        _ expected: String,
        _ keepsBody: Bool
    ) throws {
        var trail = try trail(method: method)
        try trail.follow(head(status, "/next"))
        #expect(trail.method == expected)
        #expect((trail.body != nil) == keepsBody)
        #expect(trail.headers.contains { $0.name == "Content-Type" } == keepsBody)
        #expect(trail.address.text == "https://a.org/next")
    }

    @Test func `leaving the origin drops every header that may be a secret and the policy of the first hop`() throws {
        var trail = try trail("https://me:pw@a.org/feed")
        try trail.follow(head(307, "https://other:creds@b.org/x"))
        #expect(trail.headers.map(\.name) == ["Accept", "If-None-Match", "Content-Type"])
        #expect(trail.address.user == nil)
        #expect(trail.addresses == .publicOnly)
    }

    @Test func `within the origin credentials and policy stay`() throws {
        var trail = try trail("https://me:pw@a.org/feed")
        try trail.follow(head(307, "//a.org/x"))
        #expect(trail.headers.count == 6)
        #expect(trail.address.user == "me")
        #expect(trail.addresses == .any)
    }

    @Test func `a host that is trusted may redirect to its other ports, until another host has answered`() throws {
        var request = OutboundRequest(url: "http://a.lan:8080/feed", headers: [("X-Key", "k")], addresses: .any)
        request.trustsHost = true
        let start = try WebAddress(parsing: request.url)
        var trail = RedirectTrail(request, OutboundHeaders(request.headers).fields, to: start)
        try trail.follow(head(302, "https://a.lan:9443/feed"))
        #expect(trail.addresses == .any && trail.headers.isEmpty && !trail.isAtHome)
        try trail.follow(head(302, "http://a.lan./feed"))
        #expect(trail.addresses == .any)
        try trail.follow(head(302, "http://b.example/"))
        #expect(trail.addresses == .publicOnly)
        try trail.follow(head(302, "http://a.lan:22/"))
        #expect(trail.addresses == .publicOnly, "another host chose this port")
        try trail.follow(head(302, "http://a.lan:23/"))
        #expect(trail.addresses == .publicOnly)
    }

    @Test func `credentials do not come back on a second hop`() throws {
        var trail = try trail()
        try trail.follow(head(307, "https://b.org/"))
        try trail.follow(head(307, "https://a.org/"))
        #expect(!trail.headers.contains { $0.name == "Authorization" })
        #expect(trail.addresses == .publicOnly)
    }

    @Test(arguments: [
        ([301, 308, 302, 301], "https://a.org/2"), ([302, 301], nil), ([308], "https://a.org/1"), ([307], nil),
    ])
    func `only the leading run of permanent steps counts as a move`(_ statuses: [Int], _ moved: String?) throws {
        var trail = try trail()
        for (index, status) in statuses.enumerated() { try trail.follow(head(status, "/\(index + 1)")) }
        #expect(trail.movedPermanentlyTo?.text == moved)
    }

    @Test func `more steps than allowed are an error`() throws {
        var trail = try trail(limit: 2)
        try trail.follow(head(302, "/1"))
        try trail.follow(head(302, "/2"))
        #expect(throws: OutboundError.tooManyRedirects(host: "a.org", limit: 2)) {
            try trail.follow(head(302, "/3"))
        }
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://a.org/", "javascript:1", "http://"])
    func `a redirect to anything but http is an error`(_ location: String) throws {
        var trail = try trail()
        #expect(throws: OutboundError.self) { try trail.follow(head(302, location)) }
    }
}
