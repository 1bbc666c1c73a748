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
        limits.openPerAddress = 50
        limits.unproven = 4
        limits.unprovenPerAddress = 2
        change(&limits)
        return ConnectionQuota(limits, clock: { [clock] in clock.monotonic })
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

    private func address(_ number: Int) -> NetworkAddress? { NetworkAddress("198.51.100.\(number)") }

    @Test func `one address has some places for connections without a token, and gets them back`() throws {
        let quota = quota()
        let channels = try (0..<4).map { _ in try channel() }
        #expect(quota.enter(channels[0], from: address(1)))
        #expect(quota.enter(channels[1], from: address(1)))
        #expect(!quota.enter(channels[2], from: address(1)))
        #expect(quota.enter(channels[2], from: address(2)), "others have theirs")
        quota.prove(channels[0])
        #expect(quota.enter(channels[3], from: address(1)), "one with a token is not counted")
        let last = try channel()
        #expect(!quota.enter(last, from: address(1)))
        try close(channels[3])
        #expect(quota.enter(last, from: address(1)))
        for channel in channels.dropLast() + [last] { try close(channel) }
        #expect(quota.counts == (0, 0))
    }

    @Test func `an IPv6 network counts as one address, an IPv4-mapped address as IPv4`() throws {
        let quota = quota()
        #expect(quota.enter(try channel(), from: NetworkAddress("2001:db8::1")))
        #expect(quota.enter(try channel(), from: NetworkAddress("2001:db8::2:1")))
        #expect(!quota.enter(try channel(), from: NetworkAddress("2001:db8::ffff:3:1")))
        #expect(quota.enter(try channel(), from: NetworkAddress("2001:db8:0:1::1")))
        #expect(
            AddressGroup(try #require(NetworkAddress("::ffff:192.0.2.1")))
                == AddressGroup(try #require(NetworkAddress("192.0.2.1")))
        )
    }

    @Test func `when all places are taken the oldest connection without a token makes room`() throws {
        let quota = quota()
        let channels = try (0..<6).map { _ in try channel() }
        for number in 0..<4 {
            #expect(quota.enter(channels[number], from: address(number)))
            clock.advance(by: 1)
        }
        #expect(!quota.enter(channels[4], from: address(4)), "none is older than the grace")
        clock.advance(by: 1)
        quota.prove(channels[0])
        #expect(quota.enter(channels[4], from: address(4)), "the place of one that was proven")
        clock.advance(by: 1)
        #expect(quota.enter(channels[5], from: address(5)))
        channels[1].embeddedEventLoop.run()
        #expect(channels[0].isActive && !channels[1].isActive && channels[2].isActive)
        #expect(quota.counts == (5, 4))
    }

    @Test func `those without a bound of their own have the common one`() throws {
        let quota = quota { $0.unproven = 10 }
        for _ in 0..<10 { #expect(quota.enter(try channel(), from: nil)) }
        #expect(!quota.enter(try channel(), from: nil))
    }

    @Test func `connections with a token have a bound, and so has each address`() throws {
        let quota = quota {
            $0.open = 5; $0.openPerAddress = 3
        }
        func enter(_ number: Int) throws -> Bool {
            let channel = try channel()
            guard quota.enter(channel, from: address(number)) else { return false }
            quota.prove(channel)
            return true
        }
        #expect(try [enter(1), enter(1), enter(1), enter(1)] == [true, true, true, false])
        #expect(try [enter(2), enter(2), enter(2)] == [true, true, false])
        #expect(quota.counts == (5, 0))
    }

    @Test func `many that come and go leave nothing behind`() throws {
        let quota = quota {
            $0.unproven = 1_000; $0.unprovenPerAddress = 1_000
        }
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

    @Test func `a connection beyond the bound is closed, and the hub goes on`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.connectionLimits.unproven = 3
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
