import GRDB
import HubProtocol
import HubTestServer
import SQLiteFiles
import Testing

@testable import AppBackend

/// What users of other parties are called here.
@Suite struct ForeignNameTests {
    private let identity = ForeignIdentity(issuer: "https://login.example.org", subject: "1001")

    @Test(arguments: [
        ("corp", true), ("login.example-1", true), (String(repeating: "a", count: 32), true),
        ("", false), ("@corp", false), ("a b", false), ("a_b", false), ("a:b", false), ("\u{E4}", false),
        (String(repeating: "a", count: 33), false),
    ])
    func `a suffix has letters, digits, full stops and hyphens`(text: String, isSuffix: Bool) {
        #expect((NameSuffix(text) != nil) == isSuffix)
    }

    @Test func `a name ends with the suffix, whatever the user is called elsewhere`() throws {
        let suffix = try #require(NameSuffix("Corp"))
        for (claim, name) in [
            ("alice", "alice@corp"), ("Alice.B", "Alice.B@corp"), ("alice@example.org", "alice@example.org@corp"),
            ("alice@corp", "alice@corp@corp"), ("@corp", "@corp@corp"), ("u-1", "u-1@corp"),
        ] {
            let user = ForeignUser(identity, name: claim, suffix: suffix)
            #expect(user.names.map(\.text).first == name)
            #expect(user.names.count == 2 && user.names.allSatisfy { suffix.ends($0) })
        }
        for claim in [
            nil, "", "a b", "\u{E4}", "a:b", "CORP\\alice", "a#b", "\u{202E}a", String(repeating: "a", count: 60),
            "u-0123456789abcdef0123", "U-0123456789ABCDEF0123",
        ] {
            let user = ForeignUser(identity, name: claim, suffix: suffix)
            #expect(user.names.count == 1 && user.names.allSatisfy { suffix.ends($0) }, "\(claim ?? "none")")
        }
    }

    @Test func `a derived name differs for every issuer and subject`() throws {
        let suffix = try #require(NameSuffix("corp"))
        let names = [("a", "b c"), ("a b", "c"), ("a", "b"), ("b", "a"), ("a", "B")].map { issuer, subject in
            suffix.derivedName(ForeignIdentity(issuer: issuer, subject: subject))
        }
        #expect(Set(names).count == 5 && !names.contains(nil))
        let name = try #require(suffix.derivedName(identity))
        #expect(name == suffix.derivedName(identity) && name.text.utf8.count == 22 + 5)
        let longest = try #require(NameSuffix(String(repeating: "a", count: NameSuffix.maximumLength)))
        #expect(longest.derivedName(identity) != nil)
    }

    @Test func `no account with a password gets such a name, nor a password such an account`() async throws {
        let bench = try SignInBench()
        let suffix = try #require(NameSuffix("corp"))
        let accounts = Accounts(store: bench.store, foreignSuffixes: [suffix], clock: bench.clock.clock)
        let password = try Password(new: "correct horse")
        for text in ["alice@corp", "ALICE@CORP", "a@b@corp"] {
            let name = try #require(UserName(text))
            await #expect(throws: AccountError.reserved(name, suffix)) {
                try await accounts.add(name, password: password)
            }
        }
        try await bench.add("alice@corp.example")
        let user = ForeignUser(identity, name: "alice", suffix: suffix)
        let account = try await bench.store.insertAccount(of: user, limit: 1, SignInBench.home, at: bench.clock.now)
        #expect(account.name.text == "alice@corp" && account.identity == identity)
        await #expect(throws: AccountError.foreign(account.name)) {
            try await accounts.setPassword(of: account.name, to: password)
        }
        await #expect(throws: SignInRefusal.wrongCredentials) { try await bench.caller("alice@corp") }
        let listed = try await accounts.list()
        #expect(listed.map(\.name.text) == ["alice@corp", "alice@corp.example"])
    }

    @Test func `an account is made once for an identity, and there are not too many`() async throws {
        let bench = try SignInBench()
        let suffix = try #require(NameSuffix("corp"))
        try await bench.add("alice@corp")
        func insert(_ subject: String, _ name: String, limit: Int = 10) async throws -> Account {
            let identity = ForeignIdentity(issuer: identity.issuer, subject: subject)
            let user = ForeignUser(identity, name: name, suffix: suffix)
            return try await bench.store.insertAccount(of: user, limit: limit, SignInBench.home, at: bench.clock.now)
        }
        let first = try await insert("1", "alice")
        #expect(first.name.text.hasPrefix("u-"), "a name that was there before is nobody else's")
        let second = try await insert("2", "bob")
        let again = try await insert("2", "carol")
        #expect(second.name.text == "bob@corp" && again == second, "a name stays")
        let third = try await insert("3", "BOB")
        #expect(third.name.text.hasPrefix("u-") && third.id != second.id)
        await #expect(throws: AccountError.tooManyForeign) { try await insert("4", "dan", limit: 3) }
        let events = try await bench.auditRecords().filter { $0.what == "account added" && $0.network != nil }
        #expect(events.count == 3)
    }

    @Test func `a removed user is not let in again while the hub has a device of theirs`() async throws {
        let bench = try SignInBench()
        let suffix = try #require(NameSuffix("corp"))
        let accounts = Accounts(store: bench.store, clock: bench.clock.clock)
        let removed = ForeignUser(identity, name: "alice", suffix: suffix)
        let other = ForeignUser(
            ForeignIdentity(issuer: "https://login.example.org", subject: "2"),
            name: "bob",
            suffix: suffix
        )
        let account = try await bench.store.insertAccount(of: removed, limit: 9, SignInBench.home, at: bench.clock.now)
        let key = DeviceKey.registration(.random())
        let former = try await bench.store.insertAccount(of: other, limit: 9, SignInBench.home, at: bench.clock.now)
        try await accounts.remove(former.name)
        // The last call for the device has had no answer.
        let wantedHolder = RegisteredDevice.Holder(user: account.name.key, handle: HandleDigest(.handle("AA")))
        let at = bench.clock.now
        try await bench.store.changeDevices { table in
            try table.reserve(key, for: RegisteredDevice.Holder(user: "carol", handle: nil), limit: 50, at: at)
            try table.want(wantedHolder, of: key, at: at)
        }
        try await accounts.remove(account.name)
        bench.clock.advance(by: Accounts.nameRetention)
        let later = bench.clock.now
        await #expect(throws: AccountError.devicesLeft(account.name)) {
            try await bench.store.insertAccount(of: removed, limit: 9, SignInBench.home, at: later)
        }
        // The devices of one removed user keep nobody else out.
        let bob = try await bench.store.insertAccount(of: other, limit: 9, SignInBench.home, at: later)
        #expect(bob.name.text == "bob@corp")
        try await bench.store.changeDevices { try $0.remove(key) }
        let again = try await bench.store.insertAccount(of: removed, limit: 9, SignInBench.home, at: later)
        #expect(again.name == account.name && again.id != account.id)
    }

    @Test func `what is done for each request reads no table`() async throws {
        let bench = try SignInBench()
        try await QueryPlans.check(bench.store) { db in
            _ = try db.row("\(BackendStore.accountColumns) WHERE issuer = 'a' AND subject = 'b'")
        }
    }
}
