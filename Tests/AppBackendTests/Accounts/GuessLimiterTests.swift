import HubProtocol
import NetworkAddresses
import Testing
import WebEdge

@testable import AppBackend

@Suite struct GuessLimiterTests {
    private let clock = AccountClock()
    private var limiter: GuessLimiter { GuessLimiter(clock: clock.clock.monotonic) }

    /// An attempt with a password that nobody else has tried.
    private func key(_ user: String, _ network: ClientNetwork = SignInBench.home) throws -> SignInAttempt {
        try attempt(user, network, password: RandomBytes.make(count: 8))
    }

    private func attempt(
        _ user: String,
        _ network: ClientNetwork,
        password: [UInt8],
        isKnown: Bool = false
    ) throws -> SignInAttempt {
        SignInAttempt(user: try #require(UserName(user)), network: network, password: password, isKnown: isKnown)
    }

    private static let attackers: [@Sendable (Int) -> String] = [
        { "203.\($0 / 256).\($0 % 256).1" }, { "2001:db8:\(String($0, radix: 16))::1" },
    ]

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
        for number in 0..<GuessLimiter.maximumKeys * 2 {
            // Only as many in an hour as its other limits allow would count, if they were of one network.
            _ = limiter.begin(try attempt("user\(number)", SignInBench.home, password: [1], isKnown: true))
        }
        #expect(limiter.count <= GuessLimiter.maximumKeys)
        for _ in 0..<2 { #expect(limiter.begin(try key("persistent")) == .admitted) }
        #expect(limiter.begin(try key("persistent")) != .admitted)
    }

    @Test(arguments: attackers)
    func `guesses for one account from ever other networks have a limit, and its owner's networks and devices none`(
        address: @Sendable (Int) -> String
    ) throws {
        let limiter = limiter
        let admitted = try (0..<2_000).count { number in
            clock.advance(by: .milliseconds(250))
            return limiter.begin(try key("alice", SignInBench.network(address(number)))) == .admitted
        }
        #expect((50...60).contains(admitted), "\(admitted)")
        let known = try attempt("alice", SignInBench.elsewhere, password: [1], isKnown: true)
        #expect(limiter.begin(known) == .admitted)
        limiter.succeed(known)
        #expect(limiter.begin(try key("alice", SignInBench.elsewhere)) != .admitted)
        #expect(limiter.begin(try key("bob", SignInBench.elsewhere)) == .admitted)
        clock.advance(by: .seconds(60))
        #expect(limiter.begin(try key("alice", SignInBench.elsewhere)) == .admitted, "one a minute")
    }

    @Test(arguments: attackers)
    func `one password that is tried with ever other names has a limit`(address: @Sendable (Int) -> String) throws {
        let limiter = limiter
        let admitted = try (0..<2_000).count { number in
            clock.advance(by: .milliseconds(250))
            let network = SignInBench.network(address(number))
            return limiter.begin(try attempt("user\(number)", network, password: [7])) == .admitted
        }
        #expect((20...22).contains(admitted), "\(admitted)")
        #expect(limiter.begin(try attempt("bob", SignInBench.home, password: [8])) == .admitted)
        #expect(limiter.begin(try attempt("bob", SignInBench.home, password: [7], isKnown: true)) == .admitted)
    }

    @Test(arguments: ["203.0.113.%", "2001:db8:7:%::1"])
    func `guesses with ever other names and passwords from the networks of one client have a limit`(
        form: String
    ) throws {
        let limiter = limiter
        let admitted = try (0..<2_000).count { number in
            clock.advance(by: .milliseconds(250))
            let network = SignInBench.network(form.replacing("%", with: "\(number % 200)"))
            return limiter.begin(try key("user\(number)", network)) == .admitted
        }
        #expect((180...190).contains(admitted), "\(admitted)")
        #expect(limiter.begin(try key("bob", SignInBench.elsewhere)) == .admitted)
    }

    @Test func `clients that cannot be distinguished do not lock each other out`() throws {
        let limiter = limiter
        for number in 0..<2_000 {
            #expect(limiter.begin(try key("user\(number)", SignInBench.network("127.0.0.1"))) == .admitted)
        }
    }

    @Test func `a right password does not count as a guess`() throws {
        let limiter = limiter
        for number in 0..<500 {
            let attempt = try attempt("alice", SignInBench.network("203.0.\(number % 256).1"), password: [1])
            #expect(limiter.begin(attempt) == .admitted)
            if number % 2 == 0 { limiter.succeed(attempt) } else { limiter.cancel(attempt) }
        }
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
