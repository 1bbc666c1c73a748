import Foundation
import HTTPTypes
import HubProtocol
import NetworkAddresses
import Testing

@testable import AppBackend

/// Users whom a proxy names in a header.
@Suite struct ProxyUsersTests {
    private static let header = "X-Forwarded-User"

    private func users(_ blocks: String...) throws -> ProxyUsers {
        ProxyUsers(
            field: try #require(HTTPField.Name(Self.header)),
            addresses: try blocks.map { try #require(AddressBlock($0)) },
            suffix: try #require(NameSuffix("proxy"))
        )
    }

    private func register(
        _ handle: String,
        _ headers: [(String, String)],
        as user: String? = nil,
        _ backend: TestBackend
    ) async throws -> Int {
        let reply = try await backend.send("POST", "/api/register", as: user, headers: headers)
        guard reply.status == 200 else { return reply.status }
        let body = #"{"Platform":"apns","Handle":"\#(handle)"}"#
        let id = reply.body.dropFirst().dropLast()
        return try await backend.send("PUT", "/api/register/\(id)", as: user, headers: headers, body).status
    }

    @Test func `a listed proxy names the user, who is not the local user of this name`() async throws {
        let proxies = try users("127.0.0.1")
        try await TestBackend.run {
            $0.proxyUsers = proxies
        } _: { backend, hub in
            let statuses = [
                try await register("AA", [(Self.header, "alice")], backend),
                // As it was typed, and with credentials of somebody else, which the proxy may have passed on.
                try await register("BB", [(Self.header, "ALICE")], as: "bob", backend),
                try await register("CC", [(Self.header.lowercased(), "CORP\\alice")], backend),
                // A request without a user is that of its own credentials.
                try await register("DD", [], as: "bob", backend), try await register("EE", [], backend),
            ]
            #expect(statuses == [200, 200, 200, 200, 401])
            #expect(
                try await hub.registrations("username:alice@proxy").map(\.pushChannel) == [
                    .handle("AA"), .handle("BB"),
                ]
            )
            #expect(try await hub.registrations("username:alice").isEmpty)
            #expect(try await hub.registrations("username:bob").map(\.pushChannel) == [.handle("DD")])
            let other = try #require(try await hub.registrations().first { $0.pushChannel == .handle("CC") })
            #expect(other.tags.last?.text.hasSuffix("@proxy") == true)
            // Without the right of the local Alice.
            let target = "/api/notifications?pns=stream&to_tag=bob"
            let reply = try await backend.send("POST", target, as: nil, headers: [(Self.header, "alice")], #""x""#)
            #expect(reply.status == 403)
        }
    }

    @Test func `from elsewhere the header is as if it were not there`() async throws {
        let proxies = try users("192.0.2.0/24", "::1")
        try await TestBackend.run {
            $0.proxyUsers = proxies
            // Trusted to say who its clients are, and not who is signed in.
            $0.trustedProxies = TrustedProxies([AddressBlock("127.0.0.0/8")].compactMap(\.self))
        } _: { backend, hub in
            let invented = [(Self.header, "alice"), ("X-Forwarded-For", "192.0.2.1"), (Self.header, "bob")]
            let statuses = [
                try await register("AA", invented, backend), try await register("BB", invented, as: "ann", backend),
            ]
            #expect(statuses == [401, 200])
            #expect(try await hub.registrations().map(\.tags.last?.text) == ["username:ann"])
        }
    }

    @Test func `without the setting the header is as if it were not there`() async throws {
        try await TestBackend.run { backend, _ in
            let status = try await register("AA", [(Self.header, "alice")], backend)
            #expect(status == 401)
        }
    }

    @Test func `a request with two users, or a name that is not text, is refused`() async throws {
        let proxies = try users("127.0.0.1")
        try await TestBackend.run {
            $0.proxyUsers = proxies
        } _: { backend, _ in
            for headers in [
                [(Self.header, "alice"), (Self.header, "bob")], [(Self.header, "alice"), (Self.header, "alice")],
                [(Self.header, "alice,bob")], [(Self.header, String(repeating: "a", count: 257))],
            ] {
                let status = try await register("AA", headers, backend)
                #expect(status == 400)
            }
            let users = try await Accounts(store: backend.store).list()
            #expect(users.allSatisfy { $0.identity == nil })
        }
    }

    @Test func `an empty header names nobody, and a connection without an address is not from a proxy`() throws {
        let proxies = try users("127.0.0.1")
        let name = try #require(HTTPField.Name(Self.header))
        let peer = NetworkAddress("127.0.0.1")
        #expect(try proxies.user([name: ""], peer: peer) == nil)
        #expect(try proxies.user([name: "alice"], peer: nil) == nil)
        #expect(try proxies.user([name: "alice"], peer: NetworkAddress("127.0.0.2")) == nil)
        let user = try proxies.user([name: "alice"], peer: peer)
        #expect(user?.identity == ForeignIdentity(issuer: "proxy", subject: "alice"))
    }
}
