import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import AppBackend

@Suite struct AccessTokenTests {
    @Test func `a token is 256 random bits in the alphabet of addresses`() {
        let tokens = (0..<100).map { _ in AccessToken.random() }
        #expect(Set(tokens.map(\.text)).count == 100)
        for token in tokens {
            #expect(Base64URL.decode(token.text)?.count == 32)
            #expect(AccessToken(token.text)?.hash == token.hash)
            #expect(!"\(token)".contains(token.text))
        }
    }

    @Test func `a token signs in for 30 days`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let login = try #require(PasswordLogin(name: "alice", password: "correct horse"))
        let issued = try await bench.signIn.logIn(login, device: nil, SignInBench.home)
        #expect(issued.expiresAt - bench.clock.now == .seconds(30 * 86_400))
        bench.clock.advance(by: .seconds(30 * 86_400) - .milliseconds(1))
        let caller = try await bench.caller(token: issued.token.text)
        #expect(caller.name == UserName("alice"))
        bench.clock.advance(by: .milliseconds(1))
        await #expect(throws: SignInRefusal.wrongToken) { try await bench.caller(token: issued.token.text) }
        let tokens = try await bench.operatorAccounts.tokens(of: try #require(UserName("alice")))
        #expect(tokens.isEmpty)
    }

    @Test func `a token is checked without deriving anything`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let token = try await bench.logIn("alice")
        for _ in 0..<10 { _ = try await bench.caller(token: token) }
        #expect(bench.scrypt.calls.elements.count == 1)
    }

    @Test func `a login of too many replaces the user's oldest token, and nobody else's`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await bench.add("bob")
        let bobs = try await bench.logIn("bob")
        var tokens: [String] = []
        for _ in 0..<101 { tokens.append(try await bench.logIn("alice")) }
        await #expect(throws: SignInRefusal.wrongToken) { try await bench.caller(token: tokens[0]) }
        for token in [tokens[1], tokens[100], bobs] { _ = try await bench.caller(token: token) }
        let list = try await bench.operatorAccounts.tokens(of: try #require(UserName("alice")))
        #expect(list.count == AccessToken.maximumPerUser)
    }

    @Test func `tokens are listed with their devices and revoked one by one`() async throws {
        let bench = try SignInBench()
        let (alice, bob) = (try #require(UserName("alice")), try #require(UserName("bob")))
        try await bench.add("alice")
        try await bench.add("bob")
        let phone = try await bench.logIn("alice", device: "phone")
        bench.clock.advance(by: .seconds(5))
        let tablet = try await bench.logIn("alice")
        let list = try await bench.operatorAccounts.tokens(of: alice)
        #expect(list.map(\.device) == ["phone", nil])
        #expect(list[1].createdAt - list[0].createdAt == .seconds(5))
        // Not another user's, by whatever id.
        await #expect(throws: AccountError.noToken(list[0].id, of: bob)) {
            try await bench.operatorAccounts.revokeToken(list[0].id, of: bob)
        }
        _ = try await bench.caller(token: phone)
        try await bench.operatorAccounts.revokeToken(list[0].id, of: alice)
        await #expect(throws: SignInRefusal.wrongToken) { try await bench.caller(token: phone) }
        _ = try await bench.caller(token: tablet)
    }

    @Test func `a logout revokes the token that it presents, once`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let (first, second) = (try await bench.logIn("alice"), try await bench.logIn("alice"))
        let token = try #require(AccessToken(first))
        try await bench.signIn.logOut(token, SignInBench.home)
        await #expect(throws: SignInRefusal.wrongToken) { try await bench.caller(token: first) }
        await #expect(throws: SignInRefusal.wrongToken) { try await bench.signIn.logOut(token, SignInBench.home) }
        _ = try await bench.caller(token: second)
    }

    @Test func `the last use is known to the hour`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let token = try await bench.logIn("alice")
        let (login, name) = (bench.clock.now, try #require(UserName("alice")))
        for (wait, isNoted) in [(Duration.seconds(3_599), false), (.seconds(1), true), (.seconds(3_599), false)] {
            let former = try await bench.operatorAccounts.tokens(of: name).first?.usedAt
            bench.clock.advance(by: wait)
            _ = try await bench.caller(token: token)
            let used = try await bench.operatorAccounts.tokens(of: name).first?.usedAt
            #expect(used == (isNoted ? bench.clock.now : former))
        }
        #expect(bench.clock.now - login == .seconds(7_199))
    }
}
