import FairShares
import HubRouting
import NIOCore
import NIOEmbedded
import NetworkAddresses
import StreamProbe
import Testing

@testable import HubServer

struct ConnectionQuotaTests {
    private let clock = TestClock()

    private func quota(_ change: (inout ConnectionLimits) -> Void = { _ in }) -> ConnectionQuota {
        var limits = ConnectionLimits()
        limits.open = 100
        limits.unproven = 4
        limits.unprovenOfKnown = 0
        change(&limits)
        return ConnectionQuota(limits, grouping: .standard, clock: { [clock] in clock.monotonic })
    }

    private func channel() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        return channel
    }

    private func close(_ channel: EmbeddedChannel) throws {
        try channel.close().wait()
        channel.embeddedEventLoop.run()
    }

    private func isOpen(_ channel: EmbeddedChannel) -> Bool {
        channel.embeddedEventLoop.run()
        return channel.isActive
    }

    /// An address of a network of its own.
    private func address(_ number: Int) -> NetworkAddress? { NetworkAddress("198.51.\(number).7") }

    @Test func `the oldest connection without a token of the network with most of them makes room`() throws {
        let quota = quota()
        let channels = try (0..<6).map { _ in try channel() }
        for channel in channels[0..<4] { #expect(quota.enter(channel, from: address(1))) }
        #expect(!quota.enter(channels[4], from: address(1)), "none of its own is older than the grace")
        #expect(quota.enter(channels[4], from: address(2)))
        #expect(!isOpen(channels[0]) && isOpen(channels[1]))
        clock.advance(by: 5)
        #expect(quota.enter(channels[5], from: address(1)), "its own oldest makes room")
        #expect(!isOpen(channels[1]) && isOpen(channels[2]) && isOpen(channels[4]))
        #expect(quota.counts == (4, 4))
        for channel in channels[2...] { try close(channel) }
        #expect(quota.counts == (0, 0))
    }

    @Test(arguments: ["2001:db8:1:%::1", "2001:db8:1:ff%::1", "::ffff:192.0.2.%"])
    func `the small networks of a large one give way together`(form: String) throws {
        let quota = quota { $0.unproven = 20 }
        for number in 0..<20 {
            _ = quota.enter(try channel(), from: NetworkAddress(form.replacing("%", with: "\(10 + number)")))
        }
        let others = try (0..<10).map { _ in try channel() }
        for (number, channel) in others.enumerated() { #expect(quota.enter(channel, from: address(number))) }
        #expect(others.allSatisfy(isOpen))
    }

    @Test func `clients of equally many networks wait a second for each other`() throws {
        let quota = quota()
        let channels = try (0..<5).map { _ in try channel() }
        for number in 0..<4 { #expect(quota.enter(channels[number], from: address(number))) }
        #expect(!quota.enter(channels[4], from: address(4)))
        clock.advance(by: 1)
        #expect(quota.enter(channels[4], from: address(4)))
        #expect(!isOpen(channels[0]) && isOpen(channels[1]))
    }

    @Test func `clients that cannot be distinguished are one group`() throws {
        let quota = quota { $0.unproven = 10 }
        for number in 0..<10 {
            #expect(quota.enter(try channel(), from: number % 2 == 0 ? nil : NetworkAddress("127.0.0.\(number)")))
        }
        #expect(!quota.enter(try channel(), from: NetworkAddress("127.9.9.9")))
        #expect(quota.enter(try channel(), from: address(1)))
        clock.advance(by: 5)
        #expect(quota.enter(try channel(), from: NetworkAddress("127.9.9.9")))
    }

    @Test func `a network that has shown a token has places that others cannot take`() throws {
        let quota = quota { $0.unprovenOfKnown = 2 }
        let first = try channel()
        #expect(quota.enter(first, from: address(1)))
        quota.prove(first)
        for number in 10..<14 { #expect(quota.enter(try channel(), from: address(number))) }
        #expect(!quota.enter(try channel(), from: address(20)))
        let again = try channel()
        #expect(quota.enter(again, from: NetworkAddress("198.51.1.200")))
        #expect(isOpen(again) && quota.counts == (6, 5))
    }

    @Test func `when all places are taken the network with most of them gives one up, and open streams last`() throws {
        let quota = quota { $0.open = 5 }
        func enter(_ number: Int) throws -> EmbeddedChannel? {
            let channel = try channel()
            guard quota.enter(channel, from: address(number)) else { return nil }
            quota.prove(channel)
            return channel
        }
        let streams = try (0..<4).map { _ in try #require(try enter(1)) }
        let silent = try channel()
        #expect(quota.enter(silent, from: address(1)))
        #expect(try enter(1) == nil, "its own give it nothing")
        let other = try #require(try enter(2))
        #expect(!isOpen(silent) && streams.allSatisfy(isOpen))
        let further = try #require(try enter(2))
        #expect(!isOpen(streams[0]) && isOpen(streams[1]))
        #expect(try enter(2) == nil, "two and three are as equal as they can be")
        #expect(isOpen(other) && isOpen(further) && quota.counts == (5, 0))
    }

    @Test func `ten thousand agents behind one address connect, and another client beside them`() throws {
        let quota = quota {
            $0 = ConnectionLimits()
            $0.open = 12_000
        }
        for _ in 0..<4 {
            let agents = try (0..<2_500).map { _ in try channel() }
            for agent in agents { try #require(quota.enter(agent, from: address(1))) }
            for agent in agents { quota.prove(agent) }
        }
        #expect(quota.enter(try channel(), from: address(2)))
        #expect(quota.counts == (10_001, 1))
    }

    @Test func `many that come and go leave nothing behind`() throws {
        let quota = quota { $0.unproven = 1_000 }
        for round in 0..<2_000 {
            let channel = try channel()
            try #require(quota.enter(channel, from: address(round % 200)))
            if round % 2 == 0 { quota.prove(channel) }
            try close(channel)
        }
        #expect(quota.counts == (0, 0))
    }

    // MARK: - At a hub

    @Test func `connections that say nothing do not keep requests out`() async throws {
        try await TestHub.run(try Scratch()) { configuration in
            configuration.connectionLimits.unproven = 50
            configuration.connectionLimits.unprovenOfKnown = 0
            configuration.connectionLimits.unprovenGrace = .zero
        } _: { hub in
            var silent: [Connection] = []
            for _ in 0..<200 { silent.append(try await Connection.open(hub.port)) }
            #expect(try await hub.send("GET", "categories", as: hub.listen).status == 200)
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try await hub.stream(agent)
            for _ in 0..<200 { silent.append(try await Connection.open(hub.port)) }
            try await hub.accept("x")
            #expect(try await stream.message().title == "x", "a stream is not displaced")
            // The first ones were.
            for await _ in silent[0].bytes {}
        }
    }

    /// The networks of loopback, as if they were those of other machines.
    private static let apart = ClientGrouping { _ in false }

    @Test func `five addresses that open silent connections again and again keep nobody else out`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.connectionLimits.unproven = 60
            $0.connectionLimits.unprovenOfKnown = 20
            $0.grouping = Self.apart
        } _: { hub in
            let port = hub.port
            let flood = (1...5).map { attacker in
                Task {
                    var opened: [Connection] = []
                    while !Task.isCancelled {
                        let connection = try? await Connection.open(port, from: "127.\(attacker).0.1")
                        if let connection { opened.append(connection) }
                        if opened.count > 200 { opened.removeFirst() }
                    }
                }
            }
            // Wait for full places.
            let patience = ContinuousClock.now + .seconds(30)
            while hub.service.connectionCounts.unproven < 60 {
                try #require(ContinuousClock.now < patience)
                await Task.yield()
            }
            for number in 0..<40 {
                let connection = try await Connection.open(port, from: "127.\(10 + number).0.1")
                try await connection.send(
                    hub.request("GET", "categories", as: hub.listen, headers: ["Connection": "close"])
                )
                let reply = try await connection.reply()
                #expect(reply.status == 200, "\(number)")
            }
            for attacker in flood {
                attacker.cancel()
                await attacker.value
            }
        }
    }

    @Test func `a connection beyond the bound is closed, and the hub goes on`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.connectionLimits.unproven = 3
            $0.connectionLimits.unprovenOfKnown = 0
        } _: { hub in
            var silent: [Connection] = []
            for _ in 0..<3 { silent.append(try await Connection.open(hub.port)) }
            let refused = try await Connection.open(hub.port)
            for await _ in refused.bytes {}
            // The hub may have closed one before, if this took long.
            for connection in silent { try? await connection.close() }
            let patience = ContinuousClock.now + .seconds(30)
            while (try? await hub.send("GET", "/healthz", as: nil))?.status != 200 {
                try #require(ContinuousClock.now < patience)
            }
        }
    }
}
