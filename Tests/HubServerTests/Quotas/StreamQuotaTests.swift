import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import NIOHTTP1
import NetworkAddresses
import Testing
import WebEdge

@testable import HubServer

struct StreamQuotaTests {
    private let clock = TestClock()

    private func quota(open: Int, openingsPerSecond: Int = 1) -> StreamQuota {
        var limit = StreamLimit()
        limit.open = open
        limit.openingsPerSecond = openingsPerSecond
        return StreamQuota(limit, clock: { [clock] in clock.monotonic })
    }

    private func grant(_ rights: AccessRights = .listen, rule: String = "Listen") -> Grant {
        Grant(rights: rights, credential: Credential(rule: rule, key: "k"))
    }

    private func key(_ address: String = "192.0.2.1", rule: String = "Listen") -> QuotaKey {
        QuotaKey(hub: 1, credential: grant(rule: rule).credential, address: NetworkAddress(address))
    }

    @Test func `a rule has so many streams open from one address, and more when some have ended`() throws {
        let quota = quota(open: 2)
        var places = [try quota.place(for: grant(), key()), try quota.place(for: grant(), key())]
        clock.advance(by: 10)
        let refusal = #expect(throws: ProtocolError.self) { try quota.place(for: grant(), key()) }
        #expect(refusal?.status == 429 && refusal?.retryAfter == 60)
        #expect(try quota.place(for: grant(), key("192.0.2.2")) != nil)
        #expect(try quota.place(for: grant(), key(rule: "Other")) != nil)
        places.removeLast()
        #expect(quota.count == 1)
        #expect(try quota.place(for: grant(), key()) != nil)
    }

    @Test func `a rule opens streams from one address at a rate`() throws {
        let quota = quota(open: 3)
        for _ in 0..<3 { _ = try quota.place(for: grant(), key()) }
        let refusal = #expect(throws: ProtocolError.self) { try quota.place(for: grant(), key()) }
        #expect(refusal?.status == 429 && refusal?.retryAfter == 1)
        #expect(quota.count == 0, "a refused one is not open")
        clock.advance(by: 1)
        _ = try quota.place(for: grant(), key())
    }

    @Test func `Manage has no quota`() throws {
        let quota = quota(open: 1)
        for _ in 0..<10 { #expect(try quota.place(for: grant([.listen, .manage]), key()) == nil) }
    }

    @Test func `10,000 agents that return through one proxy are all admitted, within a minute or all at once`() throws {
        for seconds in [0.0, 60] {
            let quota = StreamQuota(StreamLimit(), clock: { [clock] in clock.monotonic })
            // Of those whose former streams the hub has not missed yet.
            var places: [StreamPlace?] = []
            for _ in 0..<20_000 {
                places.append(try quota.place(for: grant(), key()))
                if places.count == 10_000 { clock.advance(by: 60) }
                if places.count > 10_000 { clock.advance(by: seconds / 10_000) }
            }
            #expect(quota.count == 20_000)
        }
    }

    // MARK: - Whose requests they are

    private static let proxies = ["10.0.0.0/8", "192.0.2.7"].compactMap { AddressBlock($0) }

    static let sources: [(peer: String, fields: [String: String], source: String)] = [
        ("203.0.113.5", [:], "203.0.113.5"),
        ("203.0.113.5", ["X-Forwarded-For": "1.1.1.1"], "203.0.113.5"),
        ("10.0.0.1", [:], "10.0.0.1"),
        ("10.0.0.1", ["X-Forwarded-For": "198.51.100.1"], "198.51.100.1"),
        ("::ffff:10.0.0.1", ["x-forwarded-for": "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["X-Forwarded-For": "6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["X-Forwarded-For": "6.6.6.6,198.51.100.1 , 10.9.9.9,192.0.2.7"], "198.51.100.1"),
        ("10.0.0.1", ["X-Forwarded-For": "10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", ["X-Forwarded-For": "198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["X-Forwarded-For": "[2001:db8::1]:4711"], "2001:db8::1"),
        ("10.0.0.1", ["X-Forwarded-For": "2001:db8::1"], "2001:db8::1"),
        ("10.0.0.1", ["X-Forwarded-For": "unknown"], "10.0.0.1"),
        ("10.0.0.1", ["X-Forwarded-For": "198.51.100.1, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["Forwarded": "for=6.6.6.6, for=198.51.100.1;proto=https;by=10.0.0.1"], "198.51.100.1"),
        ("10.0.0.1", ["Forwarded": #"proto=http; For="[2001:db8::1]:4711""#], "2001:db8::1"),
        ("10.0.0.1", ["Forwarded": "for=_hidden"], "10.0.0.1"),
        ("10.0.0.1", ["Forwarded": "proto=https"], "10.0.0.1"),
        ("10.0.0.1", ["X-Forwarded-For": ""], "10.0.0.1"),
    ]

    @Test(arguments: sources)
    func `a client has its own address behind proxies that the operator has named`(
        peer: String,
        fields: [String: String],
        source: String
    ) throws {
        let client = ClientAddress(publicAddress: .own(.name("localhost")), port: 0, trustedProxies: Self.proxies)
        var headers = HTTPFields()
        for (name, value) in fields { headers[try #require(HTTPField.Name(name))] = value }
        let expected = NetworkAddress(source)
        #expect(client.source(headers, peer: NetworkAddress(peer)) == expected)
        #expect(client.source(HTTPHeaders(fields.map { ($0, $1) }), peer: NetworkAddress(peer)) == expected)
    }

    // MARK: - At a hub

    private func path(_ agent: Agent, _ verb: String) -> String { "installations/\(agent.id)/\(verb)" }

    @Test func `streams and polls beyond the quota are refused with the time to wait, Manage's are not`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.streamLimit.open = 2
        } _: { hub in
            let agents = (0..<4).map { Agent("a\($0)") }
            for agent in agents { try await hub.register(agent) }
            let first = try await hub.stream(agents[0])
            let second = try await hub.stream(agents[1])
            for verb in ["stream", "pending?wait=0"] {
                for isSecond in [false, true] {
                    let path = path(agents[2], verb)
                    let reply =
                        isSecond
                        ? try await hub.sendSecond("GET", path, as: hub.listen, channel: agents[2].secret)
                        : try await hub.send("GET", path, as: hub.listen, channel: agents[2].secret)
                    #expect(reply.status == 429 && reply.headers["retry-after"] == "60", "\(verb): \(reply.body)")
                    #expect(reply.error?.status == 429)
                }
            }
            let managed = try await hub.send("GET", path(agents[3], "pending?wait=0"), as: hub.full)
            #expect(managed.status == 200)
            try await first.connection.close()
            try await second.connection.close()
            try await opened(hub, agents[2])
        }
    }

    /// Tries until the hub has noticed that streams have ended.
    private func opened(_ hub: TestHub, _ agent: Agent) async throws {
        let patience = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < patience {
            hub.clock.advance(by: 1)
            let path = path(agent, "pending?wait=0")
            if try await hub.send("GET", path, as: hub.listen, channel: agent.secret).status == 200 { return }
        }
        Issue.record("no place was given back")
    }

    @Test func `a poll's place is free when it is answered, and its installation is connected no more`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.streamLimit.open = 1
        } _: { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            for _ in 0..<20 {
                try await opened(hub, agent)
                #expect(try await hub.send("GET", "installations/none/pending", as: hub.listen).status != 200)
            }
            try await hub.wait { hub.streamCount == 0 }
            try await opened(hub, agent)
        }
    }

    @Test func `agents behind a proxy have a quota each`() async throws {
        try await TestHub.run(try Scratch()) { configuration in
            configuration.streamLimit.open = 1
            configuration.trustedProxies = ["127.0.0.1"].compactMap { AddressBlock($0) }
        } _: { hub in
            let agents = [Agent("a"), Agent("b"), Agent("c")]
            for agent in agents { try await hub.register(agent) }
            func open(_ agent: Agent, from address: String) async throws -> Int {
                let headers = ["X-Forwarded-For": address]
                let path = path(agent, "pending?wait=0")
                return try await hub.send("GET", path, as: hub.listen, channel: agent.secret, headers: headers).status
            }
            #expect(try await open(agents[0], from: "198.51.100.1") == 200)
            #expect(try await open(agents[1], from: "198.51.100.2") == 200)
            #expect(try await open(agents[2], from: "198.51.100.1") == 429)
        }
    }
}
