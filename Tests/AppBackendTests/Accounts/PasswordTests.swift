import HubProtocol
import HubTestServer
import Testing
import WebEdge

@testable import AppBackend

@Suite struct PasswordTests {
    @Test func `the same letters are the same password however a keyboard composes them`() throws {
        let composed = try Password(new: "caf\u{E9} noir")
        let decomposed = try #require(Password("cafe\u{301} noir"))
        #expect(composed.bytes == decomposed.bytes)
        #expect(composed.bytes != Password("cafe noir")?.bytes)
    }

    @Test(arguments: [
        ("", PasswordProblem.tooShort),
        ("seven77", .tooShort),
        (String(repeating: "x", count: 1_025), .tooLong),
        ("correct\nhorse", .control),
        ("correct\u{0}horse", .control),
        ("correct\u{7F}horse", .control),
    ])
    func `a password that cannot be typed or is too weak is not set`(text: String, problem: PasswordProblem) {
        #expect(throws: problem) { try Password(new: text) }
    }

    @Test func `a short password may be tried, as a name may have one from before`() {
        #expect(Password("x") != nil)
        #expect(Password("") == nil)
        #expect(Password(String(repeating: "x", count: 1_025)) == nil)
    }

    @Test func `a password is not shown where one is printed`() throws {
        #expect(!"\(try Password(new: "correct horse"))".contains("horse"))
    }

    /// Source: RFC 7914 §12, of which the first 32 bytes are derived here.
    @Test func `keys are those of scrypt`() throws {
        let key = try PasswordHash.scrypt(
            Array("pleaseletmein".utf8),
            Array("SodiumChloride".utf8),
            ScryptParameters(rounds: 16_384, blockSize: 8, parallelism: 1)
        )
        let hexadecimal = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(hexadecimal == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
    }

    @Test func `a hash has its own salt, and keeps the parameters that it was made with`() async throws {
        let former = PasswordHasher(parameters: ScryptParameters(rounds: 16, blockSize: 8, parallelism: 1))
        let today = PasswordHasher(parameters: ScryptParameters(rounds: 32, blockSize: 8, parallelism: 2))
        let (right, wrong) = (try Password(new: "correct horse"), try Password(new: "battery staple"))
        let hash = try await former.hash(right)
        let again = try await former.hash(right)
        #expect(hash.salt.count == 16)
        #expect(hash.salt != again.salt)
        #expect(hash.key != again.key)
        let isRight = try await today.verify(right, hash, for: try SignInBench.attempt())
        let isWrong = try await today.verify(wrong, hash, for: try SignInBench.attempt())
        let isNobodys = try await today.verify(right, nil, for: try SignInBench.attempt())
        #expect(isRight)
        #expect(!isWrong)
        #expect(!isNobodys)
    }

    @Test func `the parameters in use are not below OWASP's`() {
        let parameters = ScryptParameters.recommended
        #expect(parameters == ScryptParameters(rounds: 1 << 15, blockSize: 8, parallelism: 3))
    }
}

@Suite(.timeLimit(.minutes(1)))
struct PasswordHasherTests {
    private enum Ending: Equatable {
        case checked(ClientNetwork)
        case busy(ClientNetwork)
    }

    private static func check(
        _ hasher: PasswordHasher,
        _ password: Password,
        _ network: ClientNetwork,
        user: String = "alice",
        isKnown: Bool = false
    ) async -> Ending {
        do {
            let mark = RandomBytes.make(count: 8)
            let attempt = try SignInBench.attempt(user, network, password: mark, isKnown: isKnown)
            _ = try await hasher.verify(password, nil, for: attempt)
            return .checked(network)
        } catch {
            return .busy(network)
        }
    }

    @Test func `one password is checked at a time, 32 wait, and the others are refused`() async throws {
        let gate = Gate()
        let scrypt = FakeScrypt(gate: gate)
        let hasher = PasswordHasher(parameters: SignInBench.cheap, derive: scrypt.derivation)
        let password = try Password(new: "correct horse")
        await withTaskGroup(of: Ending.self) { tasks in
            for _ in 0..<40 { tasks.addTask { await Self.check(hasher, password, SignInBench.home) } }
            // Nothing else can end while the gate is shut.
            for _ in 0..<7 {
                let ending = await tasks.next()
                #expect(ending == .busy(SignInBench.home))
            }
            gate.open()
            var checked = 0
            for await ending in tasks where ending == .checked(SignInBench.home) { checked += 1 }
            #expect(checked == 33)
        }
        #expect(scrypt.mostAtOnce == 1)
        // The slot is free again.
        let ending = await Self.check(hasher, password, SignInBench.home)
        #expect(ending == .checked(SignInBench.home))
    }

    @Test func `a network that fills the queue gets the refusals, and the others their turn`() async throws {
        let gate = Gate()
        let scrypt = FakeScrypt(gate: gate)
        let hasher = PasswordHasher(parameters: SignInBench.cheap, derive: scrypt.derivation)
        let (guess, right) = (try Password(new: "a wrong guess"), try Password(new: "correct horse"))
        await withTaskGroup(of: Ending.self) { tasks in
            for _ in 0..<40 { tasks.addTask { await Self.check(hasher, guess, SignInBench.home) } }
            for _ in 0..<7 {
                let ending = await tasks.next()
                #expect(ending == .busy(SignInBench.home))
            }
            tasks.addTask { await Self.check(hasher, right, SignInBench.elsewhere) }
            let refused = await tasks.next()
            #expect(refused == .busy(SignInBench.home))
            gate.open()
            var endings: [Ending] = []
            for await ending in tasks { endings.append(ending) }
            #expect(endings.filter { $0 == .checked(SignInBench.elsewhere) }.count == 1)
            #expect(endings.filter { $0 == .checked(SignInBench.home) }.count == 32)
        }
        #expect(scrypt.calls.elements[1].password == "correct horse")
    }

    /// Fills the queue with 40 attempts, of which 7 find no place, and then makes another one.
    ///
    /// - Returns: Its ending, and its place in the order in which passwords were checked.
    private func underAttack(
        from address: @escaping @Sendable (Int) -> String,
        user: @escaping @Sendable (Int) -> String,
        _ other: ClientNetwork,
        isKnown: Bool = false
    ) async throws -> (ending: Ending?, place: Int?) {
        let gate = Gate()
        let scrypt = FakeScrypt(gate: gate)
        let hasher = PasswordHasher(parameters: SignInBench.cheap, derive: scrypt.derivation)
        let (guess, right) = (try Password(new: "a wrong guess"), try Password(new: "correct horse"))
        let ending = try await withThrowingTaskGroup(of: Ending.self) { tasks -> Ending? in
            for number in 0..<40 {
                let network = SignInBench.network(address(number))
                tasks.addTask { await Self.check(hasher, guess, network, user: user(number)) }
            }
            for _ in 0..<7 { _ = try await tasks.next() }
            tasks.addTask { await Self.check(hasher, right, other, user: "carol", isKnown: isKnown) }
            var endings: [Ending] = []
            if isKnown {
                let patience = ContinuousClock.now + .seconds(30)
                while hasher.pendingCount < 34 {
                    try #require(ContinuousClock.now < patience)
                    await Task.yield()
                }
            } else if let refused = try await tasks.next() {
                // Of the other one or, for its sake, of an attacker.
                endings.append(refused)
            }
            gate.open()
            for try await ending in tasks { endings.append(ending) }
            return endings.first { $0 == .checked(other) || $0 == .busy(other) }
        }
        return (ending, scrypt.calls.elements.firstIndex { $0.password == "correct horse" })
    }

    struct Attack: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let address: @Sendable (Int) -> String
        let user: @Sendable (Int) -> String
    }

    static let attacks = [
        Attack(
            testDescription: "names from the networks of 64 bits in one of 56",
            address: { "2001:db8:1:ff\(10 + $0)::1" },
            user: { "user\($0)" }
        ),
        Attack(
            testDescription: "names from the networks of 64 bits in one of 48",
            address: { "2001:db8:1:\(1_000 + 256 * $0)::1" },
            user: { "user\($0)" }
        ),
        Attack(testDescription: "names from one network", address: { "203.0.113.\($0)" }, user: { "user\($0)" }),
        Attack(
            testDescription: "one name from ever other networks",
            address: { "203.0.\($0).1" },
            user: { _ in "bob" }
        ),
    ]

    @Test(arguments: attacks)
    func `guesses that fill the queue do not keep another user waiting`(attack: Attack) async throws {
        let other = SignInBench.elsewhere
        let (ending, place) = try await underAttack(from: attack.address, user: attack.user, other)
        #expect(ending == .checked(other))
        #expect(place == 1, "the first after the one that was being checked")
    }

    @Test func `users on networks and devices of theirs come before guesses from ever other networks`() async throws {
        let other = SignInBench.elsewhere
        let unknown = try await underAttack(from: { "203.0.\($0).1" }, user: { "user\($0)" }, other)
        #expect(unknown.ending == .busy(other))
        let known = try await underAttack(from: { "203.0.\($0).1" }, user: { "user\($0)" }, other, isKnown: true)
        #expect(known.ending == .checked(other))
        #expect(known.place == 1)
    }

    @Test func `a derivation that fails fails its caller alone`() async throws {
        struct Failure: Error {}
        let hasher = PasswordHasher(parameters: SignInBench.cheap) { password, salt, _ in
            guard password.first != UInt8(ascii: "!") else { throw Failure() }
            return salt
        }
        await #expect(throws: Failure.self) { try await hasher.hash(Password(new: "!correct horse")) }
        let hash = try await hasher.hash(Password(new: "correct horse"))
        #expect(hash.key == hash.salt)
    }
}
