import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import AppBackend

@Suite struct AccountsTests {
    private func name(_ text: String) throws -> UserName { try #require(UserName(text)) }

    @Test(arguments: [
        ("alice", true), ("Alice.B_c@example-1", true), ("-", true), (String(repeating: "a", count: 64), true),
        ("", false), (String(repeating: "a", count: 65), false), ("a b", false), ("bob#1", false), ("a:b", false),
        ("älice", false), ("a/b", false), ("a\n", false), ("a,b", false), ("$a", false), ("a\u{202E}", false),
    ])
    func `a name has letters, digits and few other characters`(text: String, isName: Bool) {
        #expect((UserName(text) != nil) == isName)
    }

    @Test func `an account is listed as it was added`() async throws {
        let bench = try SignInBench()
        try await bench.add("bob")
        bench.clock.advance(by: .seconds(60))
        try await bench.add("Alice", mayNotifyOthers: true)
        let accounts = try await bench.operatorAccounts.list()
        #expect(accounts.map(\.name.text) == ["Alice", "bob"])
        #expect(accounts.map(\.mayNotifyOthers) == [true, false])
        #expect(accounts[0].createdAt - accounts[1].createdAt == .seconds(60))
        let found = try await bench.operatorAccounts.account(named: name("ALICE"))
        #expect(found == accounts[0])
    }

    @Test func `a name is taken once, ignoring case`() async throws {
        let bench = try SignInBench()
        try await bench.add("Alice")
        await #expect(throws: AccountError.taken(try name("alice"))) { try await bench.add("aLICE") }
        let accounts = try await bench.operatorAccounts.list()
        #expect(accounts.count == 1)
    }

    @Test func `the name of a removed account stays taken for 30 days`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await bench.operatorAccounts.remove(name("Alice"))
        let end = bench.clock.now + .seconds(30 * 86_400)
        await #expect(throws: AccountError.retained(try name("alice"), until: end)) { try await bench.add("alice") }
        bench.clock.advance(by: .seconds(30 * 86_400) - .milliseconds(1))
        await #expect(throws: AccountError.retained(try name("alice"), until: end)) { try await bench.add("ALICE") }
        bench.clock.advance(by: .milliseconds(1))
        try await bench.add("alice")
        let accounts = try await bench.operatorAccounts.list()
        #expect(accounts.map(\.name.text) == ["alice"])
    }

    @Test func `what is done to an unknown user is refused`() async throws {
        let bench = try SignInBench()
        let (accounts, nobody) = (bench.operatorAccounts, try name("nobody"))
        let refusal = AccountError.unknown(nobody)
        await #expect(throws: refusal) { try await accounts.setPassword(of: nobody, to: Password(new: "long enough")) }
        await #expect(throws: refusal) { try await accounts.setRights(of: nobody, mayNotifyOthers: true) }
        await #expect(throws: refusal) { try await accounts.remove(nobody) }
        await #expect(throws: refusal) { try await accounts.tokens(of: nobody) }
        await #expect(throws: refusal) { try await accounts.revokeToken(1, of: nobody) }
        // Nothing of it was kept, as the name of a removed account would be.
        try await bench.add("nobody")
        await #expect(throws: AccountError.noToken(1, of: nobody)) { try await accounts.revokeToken(1, of: nobody) }
    }

    @Test func `a user who may notify others may do so at once, and no longer`() async throws {
        let bench = try SignInBench()
        try await bench.add("desk")
        let token = try await bench.logIn("desk")
        for mayNotify in [true, false] {
            try await bench.operatorAccounts.setRights(of: name("desk"), mayNotifyOthers: mayNotify)
            let byPassword = try await bench.caller("desk")
            let byToken = try await bench.caller(token: token)
            #expect(byPassword.mayNotifyOthers == mayNotify)
            #expect(byToken.mayNotifyOthers == mayNotify)
        }
    }

    @Test func `neither password nor token is in any file`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice", "correct horse")
        let token = try await bench.logIn("alice", "correct horse")
        let secret = try #require(Base64URL.decode(token))
        let files = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
        #expect(files.contains("backend.sqlite"))
        for file in files {
            let content = try Data(contentsOf: URL(filePath: bench.folder.file(file)))
            for secret in [Data("correct horse".utf8), Data(token.utf8), Data(secret)] {
                #expect(content.range(of: secret) == nil, "\(file)")
            }
        }
        // What is no secret is found.
        let all = try files.map { try Data(contentsOf: URL(filePath: bench.folder.file($0))) }
        #expect(all.contains { $0.range(of: Data("alice".utf8)) != nil })
    }

    @Test func `a new user does not get what was sent to the name before`() async throws {
        let bench = try SignInBench()
        let now = bench.clock.now
        let bounds = PayloadBounds(waiting: 1, total: 10)
        let place = try await bench.store.changePayloads { table in
            try table.insert(
                for: "carol",
                from: "alice",
                within: bounds,
                now: now,
                expiresAt: now + .seconds(60)
            ) { _ in Data([1]) }
        }
        guard case .stored(let id) = place else {
            Issue.record("\(place)")
            return
        }
        try await bench.add("Carol")
        let kept = try await bench.store.readPayloads { try $0.payload(id, of: "carol", now: now) }
        #expect(kept == nil)
    }
}
