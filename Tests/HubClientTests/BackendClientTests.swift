import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import HubClient

@Suite(.timeLimit(.minutes(10))) struct BackendClientTests {
    private let http = OutboundClient(userAgent: "newswire-test/1")

    private func client(_ server: ScriptedHTTPServer) throws -> BackendClient {
        BackendClient(try BackendAddress(parsing: server.baseURL), token: "secret-token", http: http)
    }

    @Test func `a login sends the password in the body, and returns the token`() async throws {
        let server = try ScriptedHTTPServer { _ in
            .status(200, body: #"{"token":"t-1","expires":"2030-01-01T00:00:00Z"}"#)
        }
        let address = try BackendAddress(parsing: server.baseURL + "/api/")
        let issued = try await BackendClient(address, http: http)
            .logIn(user: "alice", password: #"co"rrect\u"#, device: "sofa")
        #expect(issued.token == "t-1" && issued.expires == "2030-01-01T00:00:00Z")
        let request = try #require(server.requests.first)
        #expect((request.method, request.target) == ("POST", "/api/login"))
        #expect(request.header("Authorization") == nil)
        #expect(request.text == #"{"device":"sofa","password":"co\"rrect\\u","user":"alice"}"#)
    }

    @Test(arguments: [#"{"token":"","expires":""}"#, #"{"token":"a\r\nb","expires":""}"#, "{}", "<html/>"])
    func `a token that cannot be sent back is not believed`(body: String) async throws {
        let server = try ScriptedHTTPServer { _ in .status(200, body: body) }
        await #expect(throws: BackendClientError.malformedReply("the token cannot be read")) {
            try await client(server).logIn(user: "alice", password: "x", device: "")
        }
    }

    @Test func `the token is in the header of each call, and names and texts are escaped`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200, body: #"{"results":[]}"#) }
        let client = try client(server)
        _ = try await client.notify("a@b", "say \"hi\"\n", on: "apns")
        _ = try await client.notifySecurely("bob", "text")
        try await client.delete(try InstallationID("agent-1"))
        try await client.logOut()
        let requests = server.requests
        #expect(
            requests.map { "\($0.method) \($0.target)" } == [
                "POST /api/notifications?pns=apns&to_tag=a%40b", "POST /api/notifications",
                "DELETE /api/installations/agent-1", "POST /api/logout",
            ]
        )
        #expect(requests.map { $0.header("Authorization") } == Array(repeating: "Bearer secret-token", count: 4))
        #expect(requests.map { $0.header("Accept") } == Array(repeating: "application/json", count: 4))
        #expect(requests[0].text == #""say \"hi\"\n""#)
        #expect(requests[1].text == #"{"payload":"text","to":"bob"}"#)
    }

    @Test func `results are read where one platform has failed and another accepted`() async throws {
        let body =
            #"{"results":[{"platform":"apns","outcome":"accepted"},"#
            + #"{"platform":"wns","outcome":"failed","reason":"too\u001b large"}]}"#
        let server = try ScriptedHTTPServer { _ in .status(502, body: body) }
        let outcomes = try await client(server).notify("alice", "x", on: "all")
        #expect(
            outcomes == [
                PlatformOutcome(platform: "apns", outcome: "accepted"),
                PlatformOutcome(platform: "wns", outcome: "failed", reason: "too large"),
            ]
        )
    }

    @Test func `a refusal is in the words of the app backend, on one line`() async throws {
        let server = try ScriptedHTTPServer { _ in
            .status(429, headers: [("Retry-After", "7")], body: #"{"error":"Too\nmany."}"#)
        }
        let expected = BackendClientError.refused(status: 429, reason: "Too many.", retryAfter: .seconds(7))
        await #expect(throws: expected) { try await client(server).notify("alice", "x", on: "all") }
        #expect(expected.isTemporary)
        #expect("\(expected)" == "the app backend refused with 429: Too many.")
    }

    @Test func `a missing text is distinguished from an address without an app backend`() async throws {
        let server = try ScriptedHTTPServer { request in
            request.path.hasSuffix("/1")
                ? .status(404, body: #"{"error":"You have no notification with this id."}"#)
                : .status(404, body: "<Error><Code>404</Code></Error>")
        }
        let none = try await client(server).payload(of: 1)
        #expect(none == nil)
        await #expect(throws: BackendClientError.malformedReply("there is no app backend at this address")) {
            try await client(server).payload(of: 2)
        }
    }

    @Test func `a redirect is not followed`() async throws {
        let server = try ScriptedHTTPServer { _ in .redirect(to: "https://elsewhere.example/api/login?x=secret") }
        let error = await #expect(throws: BackendClientError.self) { try await client(server).logOut() }
        #expect(error?.isTemporary == true)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        (401, false), (403, false), (404, false), (409, false), (408, true), (429, true), (500, true), (503, true),
    ])
    func `temporary failures are distinguished from permanent ones`(status: Int, isTemporary: Bool) {
        #expect(BackendClientError.refused(status: status, reason: "", retryAfter: nil).isTemporary == isTemporary)
    }
}
