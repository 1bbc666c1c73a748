import Foundation
import HTTPTypes
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import AppBackend

/// Users of an OpenID Connect provider at the routes.
@Suite struct ForeignUserRouteTests {
    private let scratch: ScratchFolder
    private let clock = TestClock()

    init() throws {
        scratch = try ScratchFolder()
        try TestProvider.keySet().write(toFile: scratch.file("jwks.json"), atomically: true, encoding: .utf8)
    }

    private func run(
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, TestHub) async throws -> Void
    ) async throws {
        var provider = try TestProvider.configuration(keys: scratch.file("jwks.json"))
        provider.roleClaim = "roles"
        try await TestBackend.run {
            $0.clock = clock.backend
            $0.provider = provider
            $0.mayNotifyRoles = Set(["editors"].compactMap(Role.init))
            change(&$0)
        } _: { backend, hub in
            try await body(backend, hub)
        }
    }

    private func bearer(_ subject: String, _ name: String, _ more: [String: String?] = [:]) throws -> [(String, String)]
    {
        var claims: [String: String?] = ["sub": "\"\(subject)\"", "preferred_username": "\"\(name)\""]
        claims.merge(more) { $1 }
        let token = try TestProvider.token(TestProvider.claims(at: clock.backend.now(), claims))
        return [("Authorization", "Bearer \(token)")]
    }

    private func register(_ handle: String, _ headers: [(String, String)], _ backend: TestBackend) async throws {
        let reply = try await backend.send("POST", "/api/register", as: nil, headers: headers)
        #expect(reply.status == 200, "\(reply.body)")
        let id = reply.body.dropFirst().dropLast()
        let body = #"{"Platform":"apns","Handle":"\#(handle)"}"#
        let put = try await backend.send("PUT", "/api/register/\(id)", as: nil, headers: headers, body)
        #expect(put.status == 200, "\(put.body)")
    }

    private func notify(_ name: String, _ headers: [(String, String)], _ backend: TestBackend) async throws -> Int {
        let target = "/api/notifications?pns=stream&to_tag=\(name)"
        return try await backend.send("POST", target, as: nil, headers: headers, #""hello""#).status
    }

    @Test func `a user who is called alice elsewhere is not the local alice, and is not addressed as such`()
        async throws
    {
        try await run { backend, hub in
            let alice = try #require(UserName("alice"))
            let id = try await backend.backend.payloads.put("secret", for: alice, from: alice)
            let headers = try bearer("1001", "alice")
            try await register("AA", headers, backend)
            #expect(try await hub.registrations("username:alice@corp").count == 1)
            #expect(try await hub.registrations("username:alice").isEmpty)
            let fetch = try await backend.send("GET", "/api/notifications/\(id)", as: nil, headers: headers)
            #expect(fetch.status == 404)
            // Neither has the right of the local one to notify others.
            #expect(try await notify("alice@corp", headers, backend) == 200)
            #expect(try await notify("alice", headers, backend) == 403)
            let sent = try await backend.send(
                "POST",
                "/api/notifications",
                as: "alice",
                #"{"to":"Alice@Corp","payload":"x"}"#
            )
            #expect(sent.status == 200, "\(sent.body)")
            // There is no password to sign in with.
            for password in ["", "alice@corp", "x"] {
                let text = Data("alice@corp:\(password)".utf8).base64EncodedString()
                let reply = try await backend.send(
                    "POST",
                    "/api/register",
                    as: nil,
                    headers: [("Authorization", "Basic \(text)")]
                )
                #expect(reply.status == 401)
            }
        }
    }

    @Test func `the user is the subject: who takes over a name elsewhere does not take over the user`() async throws {
        try await run { backend, hub in
            try await register("AA", try bearer("1001", "bob"), backend)
            try await register("BB", try bearer("1002", "bob"), backend)
            try await register("CC", try bearer("1001", "robert"), backend)
            let made = try await hub.registrations("username:bob@corp")
            #expect(made.map(\.pushChannel) == [.handle("AA"), .handle("CC")])
            let other = try #require(try await hub.registrations().first { $0.pushChannel == .handle("BB") })
            #expect(other.tags.last?.text.hasPrefix("username:u-") == true)
        }
    }

    @Test func `rights come from roles of the provider, and from the operator`() async throws {
        try await run { backend, _ in
            let plain = try bearer("1001", "ann")
            var status = try await notify("bob", plain, backend)
            #expect(status == 403)
            status = try await notify("bob", try bearer("1001", "ann", ["roles": #"["readers"]"#]), backend)
            #expect(status == 403)
            status = try await notify("bob", try bearer("1001", "ann", ["roles": #"["readers","editors"]"#]), backend)
            #expect(status == 200)
            status = try await notify("bob", plain, backend)
            #expect(status == 403, "a role is that of its token")
            let accounts = Accounts(store: backend.store)
            let name = try #require(UserName("ann@corp"))
            try await accounts.setRights(of: name, adding: Set(["editors"].compactMap(Role.init)))
            status = try await notify("bob", plain, backend)
            #expect(status == 200)
        }
    }

    @Test func `a removed user stays away for thirty days`() async throws {
        try await run { backend, hub in
            try await register("AA", try bearer("1001", "ann"), backend)
            let accounts = Accounts(store: backend.store, clock: clock.backend)
            let name = try #require(UserName("ann@corp"))
            try await accounts.remove(name)
            try await accounts.removeDevices(of: name, from: hub.client)
            for user in ["ann", "another"] {
                let reply = try await backend.send("POST", "/api/register", as: nil, headers: try bearer("1001", user))
                #expect(reply.status == 403, "\(reply.body)")
            }
            clock.advance(by: Accounts.nameRetention)
            try await register("AA", try bearer("1001", "ann"), backend)
            #expect(try await hub.registrations("username:ann@corp").count == 1)
        }
    }

    @Test func `tokens that are not valid are refused at every route`() async throws {
        try await run { backend, hub in
            let now = clock.backend.now()
            let tokens = [
                "a.b.c", "x.y",
                try TestProvider.token(TestProvider.claims(at: now), .otherP256),
                try TestProvider.token(header: #"{"alg":"none"}"#, TestProvider.claims(at: now), .nothing),
                try TestProvider.token(TestProvider.claims(at: now, ["exp": "1"])),
                try TestProvider.token(TestProvider.claims(at: now, ["aud": #""other""#])),
            ]
            for route in BackendRoutes.all where route.access != .monitor {
                for token in tokens {
                    let target = route.address.replacing(":id", with: "1-2-3")
                    let headers = [("Authorization", "Bearer \(token)")]
                    let body = route.method == .get ? nil : ""
                    let reply = try await backend.send(route.method.rawValue, target, as: nil, headers: headers, body)
                    #expect(reply.status == 401, "\(route.method) \(route.address): \(reply.body)")
                }
            }
            #expect(try await hub.registrations().isEmpty)
            let users = try await Accounts(store: backend.store).list()
            #expect(users.allSatisfy { $0.identity == nil })
        }
    }

    @Test func `without a provider its tokens are refused, and without its keys nobody is`() async throws {
        let headers = try bearer("1001", "ann")
        try await run {
            $0.provider = nil
        } _: { backend, _ in
            let reply = try await backend.send("POST", "/api/register", as: nil, headers: headers)
            #expect(reply.status == 401)
        }
        try FileManager.default.removeItem(atPath: scratch.file("jwks.json"))
        try await run { backend, _ in
            let reply = try await backend.send("POST", "/api/register", as: nil, headers: headers)
            #expect(reply.status == 503 && reply.headers["Retry-After"] == "10", "\(reply.body)")
            let local = try await backend.send("POST", "/api/register", as: "bob")
            #expect(local.status == 200)
        }
    }
}
