import HubProtocol
import NetworkAddresses
import Testing

@testable import AppBackend

@Suite struct GuessLimiterTests {
    private let clock = AccountClock()
    private var limiter: GuessLimiter { GuessLimiter(clock: clock.clock.monotonic) }

    private func key(_ user: String, _ network: ClientNetwork = SignInBench.home) throws -> GuessLimiter.Key {
        GuessLimiter.Key(try #require(UserName(user)), network)
    }

    @Test func `after five failures each further one makes the wait twice as long, up to five minutes`() throws {
        let limiter = limiter
        let alice = try key("alice")
        for _ in 0..<5 { #expect(limiter.begin(alice) == .admitted) }
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            #expect(limiter.begin(alice) == .refused(retryAfter: .seconds(seconds)))
            clock.advance(by: .seconds(seconds) - .milliseconds(1))
            // A refused attempt does not make the wait longer.
            #expect(limiter.begin(alice) == .refused(retryAfter: .milliseconds(1)))
            clock.advance(by: .milliseconds(1))
            #expect(limiter.begin(alice) == .admitted)
        }
    }

    @Test func `other networks and other users do not wait`() throws {
        let limiter = limiter
        for _ in 0..<6 { _ = limiter.begin(try key("Alice")) }
        #expect(limiter.begin(try key("alice")) == .refused(retryAfter: .seconds(1)))
        #expect(limiter.begin(try key("alice", SignInBench.network("192.0.2.200"))) != .admitted)
        #expect(limiter.begin(try key("alice", SignInBench.network("192.0.3.7"))) == .admitted)
        #expect(limiter.begin(try key("bob")) == .admitted)
    }

    @Test func `the right password and an hour without failures clear the account`() throws {
        let limiter = limiter
        let (alice, bob) = (try key("alice"), try key("bob"))
        for _ in 0..<5 { _ = (limiter.begin(alice), limiter.begin(bob)) }
        limiter.succeed(alice)
        #expect(limiter.begin(alice) == .admitted)
        #expect(limiter.begin(bob) != .admitted)
        clock.advance(by: GuessLimiter.memory)
        for _ in 0..<5 { #expect(limiter.begin(bob) == .admitted) }
        #expect(limiter.begin(bob) != .admitted)
    }

    @Test func `an attempt without a verdict does not count`() throws {
        let limiter = limiter
        let alice = try key("alice")
        for _ in 0..<20 {
            #expect(limiter.begin(alice) == .admitted)
            limiter.cancel(alice)
        }
        #expect(limiter.count == 0)
        for _ in 0..<5 { _ = limiter.begin(alice) }
        clock.advance(by: .seconds(1))
        #expect(limiter.begin(alice) == .admitted)
        limiter.cancel(alice)
        // It waits as after the failures before.
        #expect(limiter.begin(alice) == .refused(retryAfter: .seconds(1)))
    }

    @Test func `the table is bounded, and forgets those who failed least`() throws {
        let limiter = limiter
        for _ in 0..<3 { _ = limiter.begin(try key("persistent")) }
        for number in 0..<GuessLimiter.maximumKeys * 2 { _ = limiter.begin(try key("user\(number)")) }
        #expect(limiter.count <= GuessLimiter.maximumKeys)
        for _ in 0..<2 { #expect(limiter.begin(try key("persistent")) == .admitted) }
        #expect(limiter.begin(try key("persistent")) != .admitted)
    }

    @Test(arguments: [
        ("192.0.2.7", "192.0.2.0/24"), ("192.0.2.255", "192.0.2.0/24"), ("::ffff:192.0.2.7", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"), ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"), ("::1", "::/64"),
    ])
    func `clients of one network are one`(address: String, network: String) throws {
        let parsed = NetworkAddress(address)
        #expect(parsed != nil)
        #expect(ClientNetwork(parsed).description == network)
    }

    @Test func `a client without an address has a network too`() {
        #expect(ClientNetwork(nil) == ClientNetwork(nil))
        #expect(ClientNetwork(nil) != SignInBench.home)
    }
}
