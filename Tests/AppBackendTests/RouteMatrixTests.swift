import Foundation
import GRDB
import HTTPTypes
import HubProtocol
import HubServer
import OutboundHTTP
import SQLiteFiles
import Testing

@testable import AppBackend

/// Every route, called by everybody who could call it.
@Suite struct RouteMatrixTests {
    /// A request to a route, and the status that each caller gets.
    private struct Attempt {
        /// `ID` stands for what is Alice's: her registration, installation or payload.
        let target: String
        var body: String?
        /// Callers without valid credentials of a user; a route for monitors does not look at them.
        var refused = 401
        /// Another user, who may notify nobody else.
        let other: Int
        /// Alice herself; so the others are not refused for another reason.
        let own: Int

        func path(_ ids: [String: String]) -> String {
            ids.reduce(target) { $0.replacing("\($1.key)/ID", with: "\($1.key)/\($1.value)") }
        }
    }

    /// A route that is not in it fails the test.
    private static let attempts: [String: [Attempt]] = [
        // A token does not log in, and there is no password in the body.
        "POST /api/login": [Attempt(target: "/api/login", other: 401, own: 401)],
        // Each logs out with a token of their own.
        "POST /api/logout": [Attempt(target: "/api/logout", other: 200, own: 200)],
        "POST /api/register": [Attempt(target: "/api/register?handle=CC", other: 200, own: 200)],
        "PUT /api/register/:id": [
            Attempt(
                target: "/api/register/ID",
                body: #"{"Platform":"apns","Handle":"BB"}"#,
                other: 410,
                own: 200
            )
        ],
        // One that is not the caller's stays, and the reply is the same.
        "DELETE /api/register/:id": [Attempt(target: "/api/register/ID", other: 200, own: 200)],
        "PUT /api/installations/:id": [
            Attempt(
                target: "/api/installations/ID",
                body: #"{"installationId":"alices-pc","platform":"apns","pushChannel":"EE"}"#,
                other: 409,
                own: 200
            )
        ],
        "DELETE /api/installations/:id": [Attempt(target: "/api/installations/ID", other: 200, own: 200)],
        "POST /api/notifications": [
            Attempt(
                target: "/api/notifications?pns=stream&to_tag=alice",
                body: #""x""#,
                other: 403,
                own: 200
            ),
            Attempt(target: "/api/notifications", body: #"{"to":"alice","payload":"x"}"#, other: 403, own: 200),
        ],
        "GET /api/notifications/:id": [Attempt(target: "/api/notifications/ID", other: 404, own: 200)],
        "GET /healthz": [Attempt(target: "/healthz", refused: 200, other: 200, own: 200)],
        "GET /readyz": [Attempt(target: "/readyz", refused: 200, other: 200, own: 200)],
        "GET /metrics": [Attempt(target: "/metrics", refused: 200, other: 200, own: 200)],
    ]

    private struct Login: Decodable {
        let token: String
    }

    private func logIn(_ user: String, _ backend: TestBackend) async throws -> String {
        let reply = try await backend.send("POST", "/api/login", as: user)
        try #require(reply.status == 200, "\(reply.body)")
        return "Bearer \(try JSONDecoder().decode(Login.self, from: Data(reply.body.utf8)).token)"
    }

    /// `Authorization` headers that nobody may be let in with, by what they are.
    private func refusedCredentials(
        _ backend: TestBackend,
        _ hub: TestHub,
        _ clock: TestClock
    ) async throws -> [(name: String, headers: [(String, String)])] {
        let expired = try await logIn("alice", backend)
        clock.advance(by: .seconds(30 * 86_400 + 1))
        let revoked = try await logIn("alice", backend)
        let out = try await backend.send("POST", "/api/logout", as: nil, headers: [("Authorization", revoked)])
        try #require(out.status == 200, "\(out.body)")
        let removed = try await logIn("cat", backend)
        try await Accounts(store: backend.store).remove(try #require(UserName("cat")))
        let strings = try hub.service.connectionStrings(endpoint: "http://127.0.0.1:\(hub.port)/")
        let full = try #require(strings.first { $0.keyName == AccessRule.defaultFullName })
        let signature = SharedAccessToken.sign(
            resource: "http://127.0.0.1:\(backend.port)/",
            keyName: full.keyName,
            key: full.key,
            expiresAt: Timestamp(Date()).seconds + 3_600
        )
        let basic = "Basic \(Data("alice:alice".utf8).base64EncodedString())"
        let valid = try await logIn("alice", backend)
        let junk = String(repeating: "A", count: 8_192)
        let single = [
            ("not logged in, as on iOS", "Basic (null)"), ("no base64", "Basic !!!"), ("a scheme alone", "Bearer"),
            ("another scheme", "Digest username=\"alice\""), ("8 KB", junk), ("8 KB of Basic", "Basic \(junk)"),
            ("8 KB of Bearer", "Bearer \(junk)"), ("an expired token", expired), ("a revoked token", revoked),
            ("a removed user's token", removed), ("an operator's key of the hub", signature),
            ("a token and more", "\(valid) x"),
        ]
        return [(name: "none", headers: [])]
            + single.map { (name: $0.0, headers: [("Authorization", $0.1)]) }
            + [
                (name: "two headers", headers: [("Authorization", basic), ("Authorization", valid)]),
                (name: "two tokens", headers: [("Authorization", valid), ("Authorization", valid)]),
            ]
    }

    /// What Alice has, by the part of the path that names it.
    private func prepare(_ backend: TestBackend) async throws -> [String: String] {
        var app = RegisterClient(backend, .forgetting, as: "alice")
        try await app.register("AA")
        let body = #"{"installationId":"alices-pc","platform":"apns","pushChannel":"DD"}"#
        let installed = try await backend.send("PUT", "/api/installations/alices-pc", as: "alice", body)
        try #require(installed.status == 200, "\(installed.body)")
        let pushed = try await backend.send("POST", "/api/notifications", as: "alice", #""for Alice""#)
        try #require(pushed.status == 200, "\(pushed.body)")
        let id = try await backend.store.read { try Int64.fetchOne($0.database, sql: "SELECT id FROM payload") }
        return [
            "register": try #require(app.stored), "installations": "alices-pc", "notifications": "\(try #require(id))",
        ]
    }

    private func send(
        _ route: BackendRoute,
        _ attempt: Attempt,
        _ ids: [String: String],
        _ headers: [(String, String)],
        _ backend: TestBackend
    ) async throws -> BackendReply {
        try await backend.send(
            route.method.rawValue,
            attempt.path(ids),
            as: nil,
            headers: headers,
            attempt.body
        )
    }

    @Test func `every route lets in those whom it should, and nobody else`() async throws {
        let clock = TestClock()
        try await TestBackend.run {
            $0.clock = clock.backend
        } _: { backend, hub in
            let refused = try await refusedCredentials(backend, hub, clock)
            let ids = try await prepare(backend)
            let keys = Set(BackendRoutes.all.map { "\($0.method) \($0.address)" })
            #expect(keys == Set(Self.attempts.keys), "a route without an entry, or an entry without a route")
            for route in BackendRoutes.all {
                let name = "\(route.method) \(route.address)"
                for attempt in try #require(Self.attempts[name], "\(name)") {
                    for (what, headers) in refused {
                        let reply = try await send(route, attempt, ids, headers, backend)
                        #expect(reply.status == attempt.refused, "\(name), \(what): \(reply.body)")
                        let isChallenged = reply.headers["WWW-Authenticate"] != nil
                        #expect(isChallenged == (reply.status == 401), "\(name), \(what)")
                    }
                    for user in ["bob", "ann"] {
                        let headers = [("Authorization", try await logIn(user, backend))]
                        let reply = try await send(route, attempt, ids, headers, backend)
                        #expect(reply.status == attempt.other, "\(name), \(user): \(reply.body)")
                    }
                }
            }
            #expect(try await hub.registrations("username:alice").map(\.pushChannel) == [.handle("AA"), .handle("DD")])
            #expect(try await hub.registrations().count == 2, "nobody has registered anything")
            for route in BackendRoutes.all {
                for attempt in Self.attempts["\(route.method) \(route.address)"] ?? [] {
                    let headers = [("Authorization", try await logIn("alice", backend))]
                    if route.method == .get {
                        let head = try await backend.send("HEAD", attempt.path(ids), as: nil, headers: headers)
                        #expect(head.status == attempt.own && head.body.isEmpty, "HEAD \(route.address)")
                    }
                    let reply = try await send(route, attempt, ids, headers, backend)
                    #expect(reply.status == attempt.own, "\(route.method) \(route.address): \(reply.body)")
                    if route.method == .get, attempt.target.hasSuffix("/ID") {
                        #expect(reply.body.contains(#""Payload":"for Alice","Read":false"#), "nobody else has read it")
                    }
                }
            }
            #expect(try await hub.registrations().isEmpty, "she has deleted both")
        }
    }

    @Test func `a user without the right notifies nobody but themselves, in either way`() async throws {
        try await TestBackend.run { backend, _ in
            for (body, target) in [
                (#""x""#, "/api/notifications?pns=stream&to_tag="),
                (#"{"to":"USER","payload":"x"}"#, "/api/notifications"),
            ] {
                for (addressee, status) in [("bob", 200), ("BOB", 200), ("ann", 403), ("nobody", 403), ("alice", 403)] {
                    let target = target.hasSuffix("=") ? target + addressee : target
                    let body = body.replacing("USER", with: addressee)
                    let reply = try await backend.send("POST", target, as: "bob", body)
                    #expect(reply.status == status, "\(addressee): \(reply.body)")
                }
            }
        }
    }
}
