import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import AppBackend

@Suite(.timeLimit(.minutes(1)))
struct SignInTests {
    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    static let refusals: [(name: String, header: String?, refusal: SignInRefusal)] = [
        ("no header", nil, .noCredentials),
        ("empty", "", .noCredentials),
        ("another scheme", "Negotiate YII=", .noCredentials),
        ("another scheme that begins alike", "Basically \(base64("alice:correct horse"))", .noCredentials),
        ("before login, as one client sends it", "Basic (null)", .wrongCredentials),
        ("scheme alone", "Basic", .wrongCredentials),
        ("scheme and space", "Basic ", .wrongCredentials),
        ("no base64", "Basic alice:correct", .wrongCredentials),
        ("no colon", "Basic \(base64("alice"))", .wrongCredentials),
        ("no password", "Basic \(base64("alice:"))", .wrongCredentials),
        ("no name", "Basic \(base64(":correct horse"))", .wrongCredentials),
        ("no possible name", "Basic \(base64("al ice:correct horse"))", .wrongCredentials),
        ("no UTF-8", "Basic \(Data([0x61, 0x3A, 0xFF, 0xFE]).base64EncodedString())", .wrongCredentials),
        ("NUL", "Basic \(base64("alice:correct\u{0}horse"))", .wrongCredentials),
        ("two headers", "Basic \(base64("alice:correct horse")), Basic x", .wrongCredentials),
        ("long", "Basic \(base64("alice:" + String(repeating: "x", count: 100_000)))", .wrongCredentials),
        ("wrong password", "Basic \(base64("alice:correct horsf"))", .wrongCredentials),
        ("password in capitals", "Basic \(base64("alice:CORRECT HORSE"))", .wrongCredentials),
        ("unknown user", "Basic \(base64("mallory:correct horse"))", .wrongCredentials),
        ("token alone", "Bearer", .wrongCredentials),
        ("no token", "Bearer x", .wrongCredentials),
        ("a long token", "Bearer " + String(repeating: "x", count: 100_000), .wrongCredentials),
        ("unknown token", "Bearer \(AccessToken.random().text)", .wrongToken),
    ]

    @Test(arguments: refusals)
    func `credentials that are nobody's are refused`(name: String, header: String?, refusal: SignInRefusal) async throws
    {
        let bench = try SignInBench()
        try await bench.add("alice")
        await #expect(throws: refusal, "\(name)") {
            try await bench.signIn.caller(authorization: header, network: SignInBench.home)
        }
    }

    @Test(arguments: [
        "Basic \(base64("alice:correct horse"))", "basic \(base64("alice:correct horse"))",
        "BASIC   \(base64("ALICE:correct horse"))",
    ])
    func `a right password signs in, whatever the case of scheme and name`(header: String) async throws {
        let bench = try SignInBench()
        try await bench.add("Alice", mayNotifyOthers: true)
        let caller = try await bench.signIn.caller(authorization: header, network: SignInBench.home)
        #expect(caller.name.text == "Alice")
        #expect(caller.mayNotifyOthers)
    }

    @Test(arguments: ["pass:word: with colons", "pässwörd ☂", "  spaces  "])
    func `a password may hold what Basic can carry`(password: String) async throws {
        let bench = try SignInBench()
        try await bench.add("alice", password)
        let caller = try await bench.caller("alice", password)
        #expect(caller.name == UserName("alice"))
    }

    @Test func `an unknown user costs what a wrong password costs`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        for name in ["alice", "mallory"] {
            await #expect(throws: SignInRefusal.wrongCredentials) { try await bench.caller(name, "wrong guess") }
        }
        let calls = bench.scrypt.calls.elements
        #expect(calls.map(\.parameters) == [SignInBench.cheap, SignInBench.cheap])
        #expect(calls.map(\.password) == ["wrong guess", "wrong guess"])
        #expect(Set(calls.map(\.salt.count)) == [16])
    }

    // MARK: Remembered passwords

    @Test func `a right password is checked again after five minutes, a wrong one each time`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        for _ in 0..<3 { _ = try await bench.caller("alice") }
        bench.clock.advance(by: .seconds(299))
        _ = try await bench.caller("alice", from: SignInBench.elsewhere)
        #expect(bench.scrypt.calls.elements.count == 1)
        bench.clock.advance(by: .seconds(1))
        _ = try await bench.caller("alice")
        #expect(bench.scrypt.calls.elements.count == 2)
        for _ in 0..<2 {
            await #expect(throws: SignInRefusal.wrongCredentials) { try await bench.caller("alice", "correct horsf") }
        }
        #expect(bench.scrypt.calls.elements.count == 4)
    }

    @Test func `requests at the same time have their password checked once`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let names = try await withThrowingTaskGroup(of: String.self) { tasks in
            for _ in 0..<50 { tasks.addTask { try await bench.caller("alice").name.text } }
            return try await tasks.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(names == Array(repeating: "alice", count: 50))
        #expect(bench.scrypt.calls.elements.count == 1)
    }

    @Test func `a password that another process changes is void at once`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let token = try await bench.logIn("alice")
        _ = try await bench.caller("alice")
        let name = try #require(UserName("alice"))
        try await bench.operatorAccounts.setPassword(of: name, to: Password(new: "battery staple"))
        await #expect(throws: SignInRefusal.wrongCredentials) { try await bench.caller("alice") }
        await #expect(throws: SignInRefusal.wrongToken) { try await bench.caller(token: token) }
        let caller = try await bench.caller("alice", "battery staple")
        #expect(caller.name == name)
    }

    @Test func `a password set back is asked for again`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        _ = try await bench.caller("alice")
        let name = try #require(UserName("alice"))
        for password in ["battery staple", "correct horse"] {
            try await bench.operatorAccounts.setPassword(of: name, to: Password(new: password))
        }
        _ = try await bench.caller("alice")
        #expect(bench.scrypt.calls.elements.count == 2)
    }

    @Test func `a user whom another process removes is signed out at once`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let token = try await bench.logIn("alice")
        _ = try await bench.caller("alice")
        try await bench.operatorAccounts.remove(try #require(UserName("alice")))
        await #expect(throws: SignInRefusal.wrongCredentials) { try await bench.caller("alice") }
        await #expect(throws: SignInRefusal.wrongToken) { try await bench.caller(token: token) }
        // Nor does the next one of that name inherit anything.
        bench.clock.advance(by: Accounts.nameRetention)
        try await bench.add("alice", "another person")
        await #expect(throws: SignInRefusal.wrongCredentials) { try await bench.caller("alice") }
        await #expect(throws: SignInRefusal.wrongToken) { try await bench.caller(token: token) }
    }

    @Test func `a password that is changed while it is checked is refused`() async throws {
        let gate = Gate()
        let bench = try SignInBench(gate: gate)
        try await bench.add("alice")
        let caller = Task { try await bench.caller("alice") }
        let token = Task { try await bench.logIn("alice") }
        _ = await bench.scrypt.calls.elements(atLeast: 1)
        let name = try #require(UserName("alice"))
        try await bench.operatorAccounts.setPassword(of: name, to: Password(new: "battery staple"))
        gate.open()
        await #expect(throws: SignInRefusal.wrongCredentials) { try await caller.value }
        await #expect(throws: SignInRefusal.wrongCredentials) { try await token.value }
        let tokens = try await bench.operatorAccounts.tokens(of: name)
        #expect(tokens.isEmpty)
    }

    @Test func `raised parameters are taken up at the next sign-in, without a new login`() async throws {
        let raised = ScryptParameters(rounds: 4, blockSize: 2, parallelism: 2)
        let bench = try SignInBench(parameters: raised)
        try await bench.add("alice")
        let token = try await bench.logIn("alice")
        let name = try #require(UserName("alice"))
        let stored = try await bench.store.storedPassword(of: name)
        #expect(stored?.hash.parameters == raised)
        _ = try await bench.caller("alice")
        _ = try await bench.caller(token: token)
        bench.clock.advance(by: RememberedSignIns.lifetime)
        _ = try await bench.caller("alice")
        #expect(bench.scrypt.calls.elements.map(\.parameters) == [SignInBench.cheap, raised, raised])
    }

    // MARK: Guessing

    @Test func `guesses are slowed for the network they come from, and for nobody else`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let token = try await bench.logIn("alice")
        bench.clock.advance(by: RememberedSignIns.lifetime)
        _ = try await bench.caller("alice", from: SignInBench.elsewhere)
        for name in ["alice", "mallory"] {
            for number in 0..<5 {
                await #expect(throws: SignInRefusal.wrongCredentials) {
                    try await bench.caller(name, "guess \(number)")
                }
            }
            await #expect(throws: SignInRefusal.tooManyAttempts(retryAfter: .seconds(1))) {
                try await bench.caller(name, "guess 6")
            }
        }
        let checked = bench.scrypt.calls.elements.count
        // Tokens and a password that was right a moment ago are not guesses; other networks go on.
        _ = try await bench.caller(token: token)
        _ = try await bench.caller("alice")
        #expect(bench.scrypt.calls.elements.count == checked)
        bench.clock.advance(by: RememberedSignIns.lifetime)
        _ = try await bench.caller("alice", from: SignInBench.network("203.0.113.9"))
        // The wait is over, and the right password clears the account.
        bench.clock.advance(by: RememberedSignIns.lifetime)
        _ = try await bench.caller("alice")
        for number in 0..<5 {
            await #expect(throws: SignInRefusal.wrongCredentials) { try await bench.caller("alice", "later \(number)") }
        }
    }

    @Test func `a right password is refused while its network has to wait`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        for number in 0..<5 { _ = try? await bench.caller("alice", "guess \(number)") }
        await #expect(throws: SignInRefusal.tooManyAttempts(retryAfter: .seconds(1))) {
            try await bench.caller("alice")
        }
        _ = try await bench.caller("alice", from: SignInBench.elsewhere)
        bench.clock.advance(by: .seconds(1))
        let caller = try await bench.caller("alice")
        #expect(caller.name == UserName("alice"))
    }

    @Test func `an owner under attack from ever other networks signs in from a network and a device of before`()
        async throws
    {
        let bench = try SignInBench()
        try await bench.add("alice")
        _ = try await bench.caller("alice")
        let token = try #require(AccessToken(try await bench.logIn("alice")))
        await bench.audit.flush()
        bench.clock.advance(by: RememberedSignIns.lifetime)
        var refusals: [SignInRefusal] = []
        for number in 0..<200 {
            bench.clock.advance(by: .milliseconds(250))
            do {
                _ = try await bench.caller("alice", "guess \(number)", from: SignInBench.network("203.0.\(number).1"))
            } catch let refusal as SignInRefusal {
                refusals.append(refusal)
            }
        }
        #expect((50...60).contains(refusals.count { $0 == .wrongCredentials }), "\(refusals)")
        let caller = try await bench.caller("alice", from: SignInBench.network("192.0.2.200"))
        #expect(caller.name == UserName("alice"))
        bench.clock.advance(by: RememberedSignIns.lifetime)
        for number in 0..<20 {
            _ = try? await bench.caller("alice", "more \(number)", from: SignInBench.network("203.0.\(number).1"))
        }
        let login = try #require(PasswordLogin(name: "alice", password: "correct horse"))
        let network = SignInBench.network("198.51.100.77")
        await #expect(throws: SignInRefusal.self) { try await bench.signIn.logIn(login, device: nil, network) }
        _ = try await bench.signIn.logIn(login, device: nil, network, former: token)
        let other = try #require(AccessToken("A" + token.text.dropFirst()))
        bench.clock.advance(by: RememberedSignIns.lifetime)
        for number in 0..<20 {
            _ = try? await bench.caller("alice", "last \(number)", from: SignInBench.network("203.0.\(number).1"))
        }
        let elsewhere = SignInBench.network("198.51.101.77")
        await #expect(throws: SignInRefusal.self) {
            try await bench.signIn.logIn(login, device: nil, elsewhere, former: other)
        }
    }

    @Test func `too many sign-ins at once are refused, and not as guesses`() async throws {
        let gate = Gate()
        let bench = try SignInBench(gate: gate)
        try await bench.add("alice")
        let refusals = await withTaskGroup(of: SignInRefusal?.self) { tasks in
            for number in 0..<40 {
                tasks.addTask {
                    do {
                        _ = try await bench.caller("user\(number)", "wrong guess \(number)")
                        return nil
                    } catch {
                        return error as? SignInRefusal
                    }
                }
            }
            var refusals: [SignInRefusal?] = []
            for _ in 0..<7 { refusals.append(await tasks.next() ?? nil) }
            for number in 0..<6 {
                await #expect(throws: SignInRefusal.overloaded) { try await bench.caller("alice", "guess \(number)") }
            }
            gate.open()
            for await refusal in tasks { refusals.append(refusal) }
            return refusals
        }
        #expect(refusals.prefix(7).allSatisfy { $0 == .overloaded })
        #expect(refusals.dropFirst(7).allSatisfy { $0 == .wrongCredentials })
        #expect(refusals.count == 40)
        let caller = try await bench.caller("alice")
        #expect(caller.name == UserName("alice"))
        let records = try await bench.auditRecords()
        #expect(records.filter { $0.what == "sign-in" && $0.outcome == "refused" }.map(\.count) == [33])
    }
}
