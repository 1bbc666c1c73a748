import HTTPTypes
import HubRouting
import NetworkAddresses
import Testing
import WebEdge

@testable import HubServer

/// The addresses that replies carry.
struct AddressTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var authority: String? = "hub.example"
        var headers: [String: String] = [:]
        var peer = "192.0.2.1"
        let expected: String
    }

    static let cases = [
        Case(testDescription: "host", expected: "hub.example"),
        Case(testDescription: "host and port, as written", authority: "Hub.Example:8443", expected: "Hub.Example:8443"),
        Case(testDescription: "IPv6", authority: "[2001:db8::1]:8443", expected: "[2001:db8::1]:8443"),
        Case(testDescription: "no host", authority: nil, expected: "localhost:8787"),
        Case(testDescription: "no valid host", authority: "a/b", expected: "localhost:8787"),
        Case(testDescription: "credentials in the host", authority: "user@hub.example", expected: "localhost:8787"),
        Case(testDescription: "line break in the host", authority: "a\r\nX: y", expected: "localhost:8787"),
        Case(testDescription: "port out of range", authority: "hub.example:70000", expected: "localhost:8787"),
        Case(testDescription: "no port after the colon", authority: "hub.example:", expected: "localhost:8787"),
        Case(
            testDescription: "forwarded by a stranger",
            headers: ["X-Forwarded-Host": "evil.example", "X-Forwarded-Port": "1", "Forwarded": "host=evil.example"],
            peer: "198.51.100.1",
            expected: "hub.example"
        ),
        Case(
            testDescription: "forwarded by a proxy",
            headers: ["X-Forwarded-Host": "news.example"],
            expected: "news.example"
        ),
        Case(
            testDescription: "a proxy that was mapped for a socket of both kinds",
            headers: ["X-Forwarded-Host": "news.example"],
            peer: "::ffff:192.0.2.1",
            expected: "news.example"
        ),
        Case(
            testDescription: "what the nearest proxy has added counts",
            headers: ["X-Forwarded-Host": "evil.example, news.example"],
            expected: "news.example"
        ),
        Case(
            testDescription: "with a port of its own",
            headers: ["X-Forwarded-Host": "news.example:8443", "X-Forwarded-Port": "9000"],
            expected: "news.example:8443"
        ),
        Case(
            testDescription: "with a port beside it",
            headers: ["X-Forwarded-Host": "news.example", "X-Forwarded-Port": "8443"],
            expected: "news.example:8443"
        ),
        Case(testDescription: "a port alone", headers: ["X-Forwarded-Port": "8443"], expected: "hub.example:8443"),
        Case(
            testDescription: "the standard port of https",
            headers: ["X-Forwarded-Proto": "https", "X-Forwarded-Port": "443"],
            expected: "hub.example"
        ),
        Case(
            testDescription: "the standard port of http, which would be wrong behind https",
            headers: ["X-Forwarded-Proto": "http", "X-Forwarded-Port": "80"],
            expected: "hub.example"
        ),
        Case(
            testDescription: "Forwarded",
            headers: [
                "Forwarded": #"for=10.0.0.1;host=evil.example, for=10.0.0.2; Host="news.example:8443";proto=https"#
            ],
            expected: "news.example:8443"
        ),
        Case(
            testDescription: "no valid host from the proxy",
            headers: ["X-Forwarded-Host": "a b", "X-Forwarded-Port": "x"],
            expected: "hub.example"
        ),
        Case(testDescription: "nothing from the proxy", headers: ["X-Forwarded-Host": " , "], expected: "hub.example"),
    ]

    @Test(arguments: cases)
    func `a reply's addresses lead to where the client has called`(_ each: Case) throws {
        let client = ClientAddress(
            publicAddress: .own(.name("localhost")),
            port: 8787,
            trustedProxies: [try #require(AddressBlock("192.0.2.0/24"))]
        )
        var request = HTTPRequest(method: .post, scheme: nil, authority: each.authority, path: "/")
        for (name, value) in each.headers { request.headerFields[try #require(HTTPField.Name(name))] = value }
        #expect("\(client.authority(request, peer: NetworkAddress(each.peer)))" == each.expected)
    }

    @Test(
        arguments: [
            ("hub.example:8443", "hub.example:8443"), ("HUB.example", "HUB.example"),
            ("evil.example:8443", "news.example:8443"),
            ("localhost:8787", "localhost:8787"), ("[::1]:1", "[::1]:1"), ("10.0.0.7:8787", "10.0.0.7:8787"),
            ("10.0.0.8", "news.example"),
        ]
    )
    func `with names of its own a hub repeats no host that a client has invented`(called: String, expected: String) {
        let client = ClientAddress(
            publicAddress: .own(.name("localhost")),
            port: 8787,
            trustedProxies: [],
            hostNames: [.name("news.example"), .name("hub.example")]
        )
        let request = HTTPRequest(method: .post, scheme: nil, authority: called, path: "/")
        let authority = client.authority(request, peer: nil, local: NetworkAddress("10.0.0.7"))
        #expect("\(authority)" == expected)
    }

    @Test func `a host that a trusted proxy has passed on is repeated, whatever the hub's names`() throws {
        let client = ClientAddress(
            publicAddress: .own(.name("localhost")),
            port: 8787,
            trustedProxies: [try #require(AddressBlock("192.0.2.0/24"))],
            hostNames: [.name("news.example")]
        )
        let request = HTTPRequest(method: .post, scheme: nil, authority: "front.example", path: "/")
        #expect("\(client.authority(request, peer: NetworkAddress("192.0.2.1")))" == "front.example")
    }

    @Test(arguments: [
        (nil, "news.example"), ("evil.example:8443", "news.example"), ("news.example", "news.example"),
        ("hub.example:8787", "hub.example:8787"), ("127.0.0.1:8787", "127.0.0.1:8787"),
    ])
    func `a public address replaces invented hosts with their ports`(called: String?, expected: String) throws {
        let client = ClientAddress(
            publicAddress: .configured(try #require(Authority("news.example"))),
            port: 8787,
            trustedProxies: [],
            hostNames: [.name("hub.example")]
        )
        let request = HTTPRequest(method: .post, scheme: nil, authority: called, path: "/")
        #expect("\(client.authority(request, peer: nil))" == expected)
    }

    @Test func `without trusted proxies nobody is asked who called`() {
        let client = ClientAddress(
            publicAddress: .own(.name("localhost")),
            port: 8787,
            trustedProxies: []
        )
        let request = HTTPRequest(method: .post, scheme: nil, authority: "h", path: "/")
        func peer() -> NetworkAddress? {
            Issue.record("asked")
            return nil
        }
        #expect("\(client.authority(request, peer: peer()))" == "h")
    }

    /// Paths below a host, and what comes before and behind the id in the address of what was made.
    static let locations = [
        ("/news/registrationids?api-version=2015-01", "/news/registrationids/", "?api-version=2015-01"),
        ("/news/registrationids/?api-version=2015-01", "/news/registrationids/", "?api-version=2015-01"),
        ("/NEWS/RegistrationIDs/?API-Version=2015-01&x=%7By", "/NEWS/RegistrationIDs/", "?API-Version=2015-01&x=%7By"),
        ("/news/registrationids", "/news/registrationids/", ""),
        ("/news//registrationids//", "/news//registrationids//", ""),
        ("/%6Eews/registrationids?a='\"<b>", "/%6Eews/registrationids/", "?a='%22%3Cb%3E"),
    ]

    @Test(arguments: locations)
    func `the address of what was made is the request's own, with the id`(
        _ target: String,
        _ before: String,
        _ behind: String
    ) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let reply = try await hub.send("POST", target, as: hub.listen)
            #expect(reply.status == 201, "\(reply.body)")
            let location = try #require(reply.headers["location"])
            #expect(location.hasPrefix("https://h\(before)"), "\(location)")
            #expect(location.hasSuffix(behind), "\(location)")
            let id = location.dropFirst("https://h\(before)".count).dropLast(behind.count)
            #expect(!id.isEmpty && id.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" }, "\(location)")
        }
    }

    @Test func `a request that names its whole address is answered like any other`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let target = "http://h/news/messages/?api-version=2015-01"
            let connection = try await Connection.open(hub.port)
            let request = hub.request("POST", "/X", as: hub.full, headers: ["Connection": "close"], #"{"title":"t"}"#)
            try await connection.send(request.replacing("POST /X ", with: "POST \(target) "))
            let reply = try await connection.reply()
            #expect(reply.status == 201)
            #expect(reply.headers["location"]?.hasPrefix("https://h/news/messages/") == true)
        }
    }

    @Test func `a proxy that is trusted says what the reply's addresses begin with`() async throws {
        let headers = ["X-Forwarded-Host": "news.example", "X-Forwarded-Proto": "https"]
        for (proxies, expected) in [(["127.0.0.1"], "https://news.example/"), ([], "https://h/")] {
            try await TestHub.run(try Scratch()) {
                $0.trustedProxies = proxies.compactMap { AddressBlock($0) }
            } _: { hub in
                let reply = try await hub.send("POST", "messages/", as: hub.full, headers: headers, #"{"title":"t"}"#)
                #expect(reply.headers["location"]?.hasPrefix(expected) == true)
                let agent = Agent("a")
                let json = agent.json
                let put = try await hub.send(
                    "PUT",
                    "installations/a/?api-version=2020-06",
                    as: hub.full,
                    channel: agent.secret,
                    headers: headers,
                    json
                )
                #expect(put.headers["content-location"] == "\(expected)news/installations/a?api-version=2020-06")
            }
        }
    }
}

struct AddressTextTests {
    @Test func `text that is repeated in an address is what was sent, fit for it`() {
        #expect(AddressText.escaped("") == "")
        #expect(AddressText.escaped("a=1&B=%20+x") == "a=1&B=%20+x")
        #expect(AddressText.escaped("a=\"\r\nLocation: é") == "a=%22%0D%0ALocation:%20%C3%A9")
    }
}
