import Foundation
import HTTPTypes
import HubProtocol
import HubTestServer
import Hummingbird
import NIOCore
import NIOEmbedded
import NetworkAddresses
import OutboundHTTP
import Testing
import WebEdge

@testable import AppBackend

@Suite(.timeLimit(.minutes(1)))
struct LoginRouteTests {
    private static let challenges = [
        #"Basic realm="newswire", charset="UTF-8""#, #"Bearer realm="newswire""#,
    ]

    @Test func `a password is exchanged for a token, which signs in until it is logged out`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await LoginServer.run(bench) { server in
            let body = #"{"user":"alice","password":"correct horse","device":"Alice's phone"}"#
            let login = try await server.send("POST", "/api/login", ["Content-Type": "application/json"], body)
            #expect(login.status == 200, "\(login.text)")
            #expect(login.headers["Content-Type"] == "application/json; charset=utf-8")
            #expect(login.headers["Cache-Control"] == "no-store")
            #expect(Set(login.members.keys) == ["token", "expires"])
            #expect(login.members["expires"] == (bench.clock.now + .seconds(30 * 86_400)).wholeSecond)
            let token = try #require(login.members["token"])
            let me = try await server.me(token: token)
            #expect(me.status == 200)
            #expect(me.text == "alice 127.0.0.0/24")
            let logout = try await server.send("POST", "/api/logout", ["Authorization": "Bearer \(token)"])
            #expect(logout.status == 200)
            #expect(logout.body.isEmpty)
            let again = try await server.send("POST", "/api/logout", ["Authorization": "Bearer \(token)"])
            let after = try await server.me(token: token)
            #expect(again.status == 401)
            #expect(after.status == 401)
            #expect(
                after.headers.all("WWW-Authenticate") == [
                    Self.challenges[0], #"\#(Self.challenges[1]), error="invalid_token""#,
                ]
            )
        }
        let tokens = try await bench.operatorAccounts.tokens(of: try #require(UserName("alice")))
        #expect(tokens.isEmpty)
    }

    @Test func `a user who is attacked from ever other networks logs in with a token of the device's`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let token = try await bench.logIn("alice")
        try await LoginServer.run(bench, trustedProxies: [try #require(AddressBlock("127.0.0.1"))]) { server in
            func logIn(_ password: String, from address: String, _ fields: [String: String] = [:]) async throws -> Int {
                let headers = fields.merging(["X-Forwarded-For": address]) { $1 }
                let body = #"{"user":"alice","password":"\#(password)"}"#
                return try await server.send("POST", "/api/login", headers, body).status
            }
            bench.clock.advance(by: RememberedSignIns.lifetime)
            var statuses: [Int] = []
            for number in 0..<60 {
                statuses.append(try await logIn("guess \(number)", from: "2001:db8:\(number)::1"))
            }
            #expect(statuses == Array(repeating: 401, count: 50) + Array(repeating: 429, count: 10))
            #expect(try await logIn("correct horse", from: "198.51.100.1") == 429)
            let known = ["Authorization": "Bearer \(token)"]
            #expect(try await logIn("correct horse", from: "198.51.100.1", known) == 200)
        }
    }

    @Test(arguments: [
        ("", nil),
        (#"{}"#, nil),
        (#"{"device":"desk"}"#, "desk"),
        (#"{"user":"bob","password":"of the body","device":" \u0000\u202e\n "}"#, nil),
    ])
    func `Basic logs in without a body or with one`(body: String, device: String?) async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await LoginServer.run(bench) { server in
            let header = ["Authorization": SignInBench.basic("alice", "correct horse")]
            let login = try await server.send("POST", "/api/login", header, body)
            #expect(login.status == 200, "\(login.text)")
            let me = try await server.me(token: login.members["token"] ?? "")
            #expect(me.text.hasPrefix("alice "))
        }
        let tokens = try await bench.operatorAccounts.tokens(of: try #require(UserName("alice")))
        #expect(tokens.map(\.device) == [device])
    }

    @Test func `an old token in the header does not prevent a login`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await LoginServer.run(bench) { server in
            let header = ["Authorization": "Bearer \(AccessToken.random().text)"]
            let body = #"{"user":"alice","password":"correct horse"}"#
            let login = try await server.send("POST", "/api/login", header, body)
            #expect(login.status == 200)
            let empty = try await server.send("POST", "/api/login", header)
            #expect(empty.status == 401)
        }
    }

    static let refusals: [(name: String, path: String, header: String?, body: String, status: Int)] = [
        ("nothing", "login", nil, "", 401),
        ("no password", "login", nil, #"{"user":"alice"}"#, 401),
        ("no user", "login", nil, #"{"password":"correct horse"}"#, 401),
        ("wrong password", "login", nil, #"{"user":"alice","password":"correct horsf"}"#, 401),
        ("unknown user", "login", nil, #"{"user":"mallory","password":"correct horse"}"#, 401),
        ("no possible user", "login", nil, #"{"user":"al ice","password":"correct horse"}"#, 401),
        ("null", "login", nil, #"{"user":null,"password":null}"#, 401),
        ("no JSON", "login", nil, "user=alice&password=correct", 400),
        ("no object", "login", nil, #"["alice","correct horse"]"#, 400),
        ("a number", "login", nil, #"{"user":1,"password":2}"#, 400),
        ("too large", "login", nil, "\"\(String(repeating: "x", count: 9_000))\"", 413),
        ("null in Basic", "login", "Basic (null)", "", 401),
        (
            "wrong Basic beside a right body", "login", "Basic eA==", #"{"user":"alice","password":"correct horse"}"#,
            401
        ),
        ("long device", "login", nil, #"{"user":"alice","password":"correct horse","device":"\#(long)"}"#, 400),
        ("nothing", "logout", nil, "", 401),
        ("a password", "logout", SignInBench.basic("alice", "correct horse"), "", 400),
        ("no token", "logout", "Bearer x", "", 401),
        ("null in Basic", "logout", "Basic (null)", "", 401),
    ]
    private static let long = String(repeating: "x", count: 101)

    @Test(arguments: refusals)
    func `what is not right is refused with a reason that repeats nothing`(
        name: String,
        path: String,
        header: String?,
        body: String,
        status: Int
    ) async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await LoginServer.run(bench) { server in
            let headers = header.map { ["Authorization": $0] } ?? [:]
            let reply = try await server.send("POST", "/api/\(path)", headers, body)
            #expect(reply.status == status, "\(name): \(reply.text)")
            let reason = try #require(reply.members["error"], "\(name)")
            for secret in ["correct", "mallory", "xxx"] { #expect(!reason.contains(secret), "\(name): \(reason)") }
            let challenges = reply.headers.all("WWW-Authenticate")
            #expect(challenges == (status == 401 ? Self.challenges : []), "\(name)")
        }
    }

    @Test func `a route that needs a user tells why it refuses`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await LoginServer.run(bench) { server in
            for header in [
                nil, "Basic (null)", "Basic", "Basic %%%", SignInBench.basic("alice", "wrong"), "Bearer", "x",
            ] {
                let reply = try await server.send("GET", "/api/me", header.map { ["Authorization": $0] } ?? [:])
                #expect(reply.status == 401, "\(header ?? "")")
                #expect(reply.headers.all("WWW-Authenticate") == Self.challenges, "\(header ?? "")")
            }
            for number in 0..<4 {
                let header = ["Authorization": SignInBench.basic("alice", "guess \(number)")]
                let reply = try await server.send("GET", "/api/me", header)
                #expect(reply.status == 401)
            }
            let right = ["Authorization": SignInBench.basic("alice", "correct horse")]
            bench.clock.advance(by: .milliseconds(500))
            let slowed = try await server.send("GET", "/api/me", right)
            #expect(slowed.status == 429)
            #expect(slowed.headers["Retry-After"] == "1")
            bench.clock.advance(by: .milliseconds(500))
            let reply = try await server.send("GET", "/api/me", right)
            #expect(reply.status == 200)
        }
    }

    @Test func `too many passwords at once are answered 503`() async throws {
        let gate = Gate()
        let bench = try SignInBench(gate: gate)
        try await LoginServer.run(bench) { server in
            let statuses = try await withThrowingTaskGroup(of: OutboundResponse.self) { tasks in
                for number in 0..<36 {
                    let header = ["Authorization": SignInBench.basic("user\(number)", "wrong guess \(number)")]
                    tasks.addTask { try await server.send("GET", "/api/me", header) }
                }
                var replies: [OutboundResponse] = []
                for _ in 0..<3 { if let reply = try await tasks.next() { replies.append(reply) } }
                gate.open()
                for try await reply in tasks { replies.append(reply) }
                #expect(replies.first?.headers["Retry-After"] == "5")
                return replies.map(\.status)
            }
            #expect(statuses == [503, 503, 503] + Array(repeating: 401, count: 33))
        }
    }

    // MARK: Other sites

    @Test func `another site's page is refused whatever it knows`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let token = try await bench.logIn("alice")
        let body = #"{"user":"alice","password":"correct horse"}"#
        try await LoginServer.run(bench) { server in
            for (method, path, header) in [
                ("POST", "/api/login", nil), ("POST", "/api/logout", "Bearer \(token)"),
                ("GET", "/api/me", "Bearer \(token)"), ("GET", "/api/me", nil),
            ] {
                var headers = ["Origin": "https://evil.example"]
                headers["Authorization"] = header
                let other = try await server.send(method, path, headers, method == "POST" ? body : nil)
                #expect(other.status == 403, "\(path)")
            }
            let own = ["Origin": "http://127.0.0.1:\(server.port)", "Authorization": "Bearer \(token)"]
            let reply = try await server.send("GET", "/api/me", own)
            #expect(reply.status == 200)
        }
    }

    // MARK: Proxies

    @Test func `a trusted proxy tells client and host, and nobody else can`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let headers = [
            "Authorization": SignInBench.basic("alice", "correct horse"),
            "X-Forwarded-For": "198.51.100.9, 203.0.113.5",
            "X-Forwarded-Host": "hub.example.org", "Origin": "https://hub.example.org",
        ]
        try await LoginServer.run(bench) { server in
            let direct = try await server.send("GET", "/api/me", headers)
            #expect(direct.status == 403)
            var plain = headers
            plain["Origin"] = nil
            let believed = try await server.send("GET", "/api/me", plain)
            #expect(believed.text == "alice 127.0.0.0/24")
        }
        try await LoginServer.run(bench, trustedProxies: [try #require(AddressBlock("127.0.0.1"))]) { server in
            let reply = try await server.send("GET", "/api/me", headers)
            #expect(reply.text == "alice 203.0.113.0/24")
            // The port belongs to the origin: the hub's routes read it, too.
            var elsewhere = headers
            elsewhere["X-Forwarded-Port"] = "8443"
            let other = try await server.send("GET", "/api/me", elsewhere)
            #expect(other.status == 403)
            elsewhere["Origin"] = "https://hub.example.org:8443"
            let own = try await server.send("GET", "/api/me", elsewhere)
            #expect(own.status == 200)
        }
    }

    @Test func `a body that does not arrive completely is the client's failure`() async throws {
        let fault = await #expect(throws: RequestFault.self) { try await Self.cutShort().bytes(limit: 100) }
        #expect(fault == .cutShort)
        let bench = try SignInBench()
        let context = WebContext<Caller>(
            source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: SignInBench.quiet)
        )
        let logIn = await #expect(throws: BackendRefusal.self) {
            try await LoginServer.errors.handle(Self.cutShort(), context: context) {
                try await LoginRoutes.logIn($0, $1, bench.signIn)
            }
        }
        #expect(logIn?.status == .badRequest)
    }

    /// A request whose body can be read once.
    private static func cutShort() -> Request {
        let (parts, sender) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream()
        sender.yield(ByteBuffer(string: #"{"user":"#))
        sender.finish(throwing: ChannelError.eof)
        let head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/api/login")
        return Request(head: head, body: RequestBody(asyncSequence: parts))
    }
}
