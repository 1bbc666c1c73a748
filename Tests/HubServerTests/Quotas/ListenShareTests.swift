import FairShares
import Foundation
import HubProtocol
import HubRouting
import HubStore
import NetworkAddresses
import SharedLog
import Testing

@testable import HubServer

/// What the holders of one Listen key may store beside each other.
struct ListenShareTests {
    private static func configure(_ configuration: inout HubConfiguration) throws {
        configuration.trustedProxies = [try #require(AddressBlock("127.0.0.1"))]
        configuration.listenQuota.count = 320
        // A proof that stages can be repeated is given elsewhere, and takes time.
        configuration.rehearsesStages = false
    }

    private static func put(_ hub: TestHub, _ id: String, from address: String, tag: String = "World") async throws
        -> Reply
    {
        let body = #"{"installationId":"\#(id)","platform":"apns","pushChannel":"62BC","tags":["\#(tag)"]}"#
        let headers = ["X-Forwarded-For": address]
        return try await hub.send("PUT", "installations/\(id)", as: hub.listen, headers: headers, body)
    }

    /// Stores installations until the hub refuses one.
    private static func fill(_ hub: TestHub, _ name: String, from address: String) async throws -> Int {
        for number in 0..<400 {
            let reply = try await put(hub, "\(name)-\(number)", from: address)
            if reply.status == 200 { continue }
            #expect(reply.status == 403 && reply.error?.code == ProtocolError.Code.listenQuota, "\(reply.body)")
            #expect(reply.body.contains("listen-registrations"), "\(reply.body)")
            return number
        }
        return 400
    }

    @Test func `a network that stores all it can leaves room for others, and what is stored can be renewed`()
        async throws
    {
        let scratch = try Scratch()
        var result = Result { () throws in () }
        func configure(_ configuration: inout HubConfiguration) {
            result = Result { try Self.configure(&configuration) }
        }
        try await TestHub.run(scratch, configure: configure) { hub in
            try result.get()
            #expect(try await Self.fill(hub, "a", from: "203.0.113.1") == 160)
            #expect(try await Self.put(hub, "a-x", from: "203.0.113.77").status == 403, "of the same network")
            #expect(try await Self.put(hub, "a-0", from: "203.0.113.1", tag: "Sports").status == 200)
            #expect(try await Self.put(hub, "b", from: "198.51.100.1").status == 200)
            #expect(try await hub.send("DELETE", "installations/a-1", as: hub.listen).status == 204)
            #expect(try await Self.put(hub, "a-2", from: "203.0.113.1", tag: "Politics").status == 200)
        }
        // It is counted in the file.
        try await TestHub.run(scratch, configure: configure) { hub in
            #expect(hub.hub.status.listenUsage.count == 160)
            let network = "2001:db8:7:"
            var stored = 0
            for number in 0..<40 {
                let reply = try await Self.put(hub, "c-\(number)", from: "\(network)\(number)::1")
                if reply.status == 200 { stored += 1 }
            }
            #expect((1...5).contains(stored), "\(stored)")
            for number in 0..<100 {
                let reply = try await Self.put(hub, "d-\(number)", from: "10.0.\(number).1")
                #expect(reply.status == 200, "\(number): \(reply.body)")
            }
            #expect(try await Self.put(hub, "e", from: "198.51.101.1").status == 200)
        }
    }

    @Test func `the last places are kept for networks that are known`() async throws {
        var result = Result { () throws in () }
        try await TestHub.run(
            try Scratch(),
            configure: { configuration in result = Result { try Self.configure(&configuration) } }
        ) { hub in
            try result.get()
            for number in 0..<311 {
                let reply = try await Self.put(hub, "d-\(number)", from: "10.\(number / 256).\(number % 256).1")
                try #require(reply.status == 200, "\(number): \(reply.body)")
            }
            let new = try await Self.put(hub, "new", from: "198.51.100.1")
            #expect(new.status == 403 && new.body.contains("198.51.100.0/24"), "\(new.body)")
            #expect(try await Self.put(hub, "d-7", from: "10.0.7.1", tag: "Sports").status == 200)
            #expect(hub.hub.status.listenUsage.count == 311)
        }
    }

    @Test func `clients that cannot be distinguished have the whole quota`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.listenQuota.count = 40
        } _: { hub in
            let stored = try await Self.fill(hub, "a", from: "203.0.113.1")
            #expect(stored == 40)
        }
    }

    @Test func `ten thousand agents behind one address are within the quotas`() throws {
        let network = NetworkGroup.client(try #require(NetworkAddress("2001:db8::1")))
        let usage = (0..<10_000).reduce(into: ShareUsage()) { usage, _ in
            usage.add(3_000, to: [.key("Listen"), .network(network)])
        }
        let use = usage.use(of: .network(network))
        let quota = ListenQuota()
        #expect(use.count < ShareUsage.part(of: quota.count, used: use.count, bits: 64))
        #expect(use.bytes < ShareUsage.part(of: quota.bytes, used: use.bytes, bits: 64))
    }

    @Test func `nodes count what was written at another one, for the network that it came from`() async throws {
        try await TwoNodes.run(configure: Self.configure) { nodes in
            try await nodes.a.accept("first")
            try await nodes.hearHeartbeat()
            for number in 0..<3 {
                #expect(try await Self.put(nodes.b, "p-\(number)", from: "203.0.113.1").status == 200)
            }
            #expect(try await Self.put(nodes.a, "q", from: "2001:db8:1:2::1").status == 200)
            try await nodes.catchUp()
            #expect(nodes.channel.requests.count == 3, "they were forwarded")
            for node in [nodes.a, nodes.b] {
                let uses = try await node.hub.ask { view in
                    ["203.0.113.0/24", "2001:db8:1::/48", "2001:db8:1:2::/64"].map { text in
                        NetworkGroup(text).map { view.registry.listenShares.use(of: .network($0)).count } ?? 0
                    }
                }
                #expect(uses == [3, 1, 1])
            }
        }
    }
}
