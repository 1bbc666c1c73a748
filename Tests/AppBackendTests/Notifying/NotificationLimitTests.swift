import Foundation
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import Synchronization
import Testing

@testable import AppBackend

/// How often one may notify, and what a hub that is not ours is believed.
@Suite struct NotificationLimitTests {
    private func status(
        _ backend: TestBackend,
        _ sender: String,
        _ addressee: String
    ) async throws -> (Int, String?) {
        let target = "/api/notifications?pns=stream&to_tag=\(addressee)"
        let reply = try await backend.send("POST", target, as: sender, #""hello""#)
        return (reply.status, reply.headers["Retry-After"])
    }

    @Test func `a sender has sixty a minute, and an addressee thirty, whether there is such a user or not`()
        async throws
    {
        let clock = TestClock()
        try await TestBackend.run {
            $0.clock = clock.backend
        } _: { backend, _ in
            for number in 0..<UserNotifier.addresseesLimit {
                let (status, _) = try await status(backend, "alice", "nobody")
                #expect(status == 200, "\(number)")
            }
            clock.advance(by: .seconds(10))
            #expect(try await status(backend, "alice", "Nobody") == (429, "50"))
            #expect(try await status(backend, "desk", "nobody") == (429, "50"), "whoever sends")
            // The refused one counts for the sender.
            for number in 0..<(UserNotifier.sendersLimit - UserNotifier.addresseesLimit - 1) {
                #expect(try await status(backend, "alice", "bob\(number)").0 == 200, "\(number)")
            }
            #expect(try await status(backend, "ALICE", "ann") == (429, "50"))
            #expect(try await status(backend, "desk", "ann").0 == 200)
            clock.advance(by: .seconds(50))
            #expect(try await status(backend, "alice", "nobody").0 == 200)
        }
    }

    // MARK: - Another hub

    /// Runs a backend in front of a hub that answers as told; sends are 201 but to platforms in `refusals`.
    private func run(
        credentials: ScriptedReply,
        refusals: [String: Int] = [:],
        _ body: (TestBackend, ScriptedHTTPServer) async throws -> Void
    ) async throws {
        let server = try ScriptedHTTPServer { request in
            if request.path == "/news/credentials" { return credentials }
            let format = request.header("ServiceBusNotification-Format") ?? ""
            return .status(refusals[format] ?? 201)
        }
        let string = try ConnectionString(endpoint: server.baseURL, keyName: "Full", key: "k")
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = try HubClient(connection: string, hub: HubName("news"), http: http)
        let scratch = try ScratchFolder()
        // It stands still, however slow the machine is.
        let clock = TestClock().backend
        try await TestBackend.run(client, store: scratch.file("b.sqlite")) {
            $0.clock = clock
        } _: {
            try await body($0, server)
        }
        await http.shutdown()
    }

    private static let ours = ScriptedReply.status(
        200,
        body: #"{"credentials":[{"platform":"apns","isUsable":true},{"platform":"wns","isUsable":false}]}"#
    )

    @Test func `a hub that does not tell its credentials is sent everything but streams`() async throws {
        try await run(credentials: .status(404), refusals: ["gcm": 400]) { backend, server in
            let reply = try await backend.send(
                "POST",
                "/api/notifications?pns=all&to_tag=bob",
                as: "alice",
                headers: [("Accept", "application/json")],
                #""hello""#
            )
            #expect(reply.status == 200, "\(reply.body)")
            let formats = server.requests.compactMap { $0.header("ServiceBusNotification-Format") }
            #expect(formats.sorted() == ["apple", "browser", "fcmv1", "gcm", "windows"])
            for name in ["gcm", "stream"] {
                #expect(reply.body.contains(#"{"platform":"\#(name)","outcome":"skipped""#), "\(reply.body)")
            }
            let stream = try await backend.send(
                "POST",
                "/api/notifications?pns=stream&to_tag=bob",
                as: "alice",
                #""hello""#
            )
            #expect(stream.status == 409)
        }
    }

    @Test(arguments: [(ours, 4), (ScriptedReply.status(404), 0)])
    func `each message on each platform has an idempotency key of its own, at hubs of ours alone`(
        credentials: ScriptedReply,
        keyed: Int
    ) async throws {
        try await run(credentials: credentials) { backend, server in
            for platform in ["all", "apns"] {
                let target = "/api/notifications?pns=\(platform)&to_tag=bob"
                let reply = try await backend.send("POST", target, as: "alice", #""hello""#)
                #expect(reply.status == 200, "\(reply.body)")
            }
            let keys = server.requests.filter { $0.path == "/news/messages/" }
                .compactMap { $0.header(HeaderName.idempotencyKey) }
            #expect(keys.count == keyed && Set(keys).count == keys.count, "\(keys)")
        }
    }

    @Test(arguments: [(ours, true), (ScriptedReply.status(404), false)])
    func `a hub of ours guards the tags, another is warned of`(credentials: ScriptedReply, isGuarded: Bool) async throws
    {
        try await run(credentials: credentials) { backend, _ in
            let inspection = HubInspection(platforms: backend.backend.platforms, logger: .quiet)
            #expect(try await inspection.guardsTags() == isGuarded)
            try await backend.backend.probe()
        }
    }

    @Test func `the hub is asked for its credentials now and then, and given the tag and the format`() async throws {
        try await run(credentials: Self.ours) { backend, server in
            for _ in 0..<3 {
                let target = "/api/notifications?pns=wns&to_tag=Bob"
                #expect(try await backend.send("POST", target, as: "alice", #""a<b""#).status == 200)
            }
            let requests = server.requests
            #expect(requests.count { $0.path == "/news/credentials" } == 1)
            let sent = try #require(requests.last)
            #expect(sent.header("ServiceBusNotification-Tags") == "username:bob")
            #expect(sent.header("X-WNS-Type") == "wns/toast")
            #expect(sent.text.contains("From alice: a&lt;b"))
        }
    }

    @Test(arguments: [(["apple": 500], 502), (["apple": 503], 503), (["apple": 401], 502)])
    func `the hub's refusal of the platform that was named is the reply`(
        refusals: [String: Int],
        status: Int
    ) async throws {
        try await run(credentials: Self.ours, refusals: refusals) { backend, _ in
            let target = "/api/notifications?pns=apns&to_tag=bob"
            let reply = try await backend.send("POST", target, as: "alice", #""hello""#)
            #expect(reply.status == status && (reply.headers["Retry-After"] != nil) == (status == 503))
        }
    }

    @Test func `a notification that reached some platforms only says which it did not`() async throws {
        try await run(credentials: Self.ours, refusals: ["windows": 500]) { backend, _ in
            let target = "/api/notifications?pns=all&to_tag=bob"
            let plain = try await backend.send("POST", target, as: "alice", #""hello""#)
            #expect(plain.status == 502 && plain.body.contains("wns") && !plain.body.contains("apns"), "\(plain.body)")
            let json = [("Accept", "application/json")]
            let reply = try await backend.send("POST", target, as: "alice", headers: json, #""hello""#)
            #expect(reply.status == 502)
            #expect(reply.body.contains(#"{"platform":"apns","outcome":"accepted"}"#), "\(reply.body)")
            #expect(reply.body.contains(#"{"platform":"wns","outcome":"failed","reason":""#), "\(reply.body)")
        }
    }

    @Test func `a hub that does not answer is 503, and asked again the next time`() async throws {
        try await run(credentials: .hangUp) { backend, server in
            for _ in 0..<2 {
                let target = "/api/notifications?pns=all&to_tag=bob"
                let reply = try await backend.send("POST", target, as: "alice", #""hello""#)
                #expect(reply.status == 503 && reply.headers["Retry-After"] == "5", "\(reply.body)")
            }
            #expect(server.requests.count >= 2)
        }
    }
}
