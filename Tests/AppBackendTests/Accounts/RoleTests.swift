import HubProtocol
import Testing

@testable import AppBackend

@Suite struct RoleTests {
    private func roles(_ names: String...) throws -> Set<Role> { Set(try names.map { try #require(Role($0)) }) }

    @Test(arguments: [
        ("editors", true), ("Domain Users", true), ("https://example.org/roles#a", true), ("Ä", true),
        (String(repeating: "a", count: 128), true),
        ("", false), (" a", false), ("a ", false), ("a,b", false), ("a\nb", false), ("a\u{7F}", false),
        (String(repeating: "a", count: 129), false),
    ])
    func `a role is a name without commas and control characters`(text: String, isRole: Bool) {
        #expect((Role(text) != nil) == isRole)
    }

    @Test func `roles are given, taken and listed`() async throws {
        let bench = try SignInBench()
        let (accounts, ann) = (bench.operatorAccounts, try #require(UserName("ann")))
        let password = try Password(new: "correct horse")
        try await accounts.add(ann, password: password, roles: roles("editors", "Domain Users"))
        try await accounts.setRights(of: ann, adding: roles("desk"), removing: roles("editors", "unknown"))
        var account = try await accounts.account(named: ann)
        #expect(try account?.roles == roles("Domain Users", "desk") && account?.mayNotifyOthers == false)
        try await accounts.setRights(of: ann, mayNotifyOthers: true)
        account = try await accounts.account(named: ann)
        #expect(try account?.roles == roles("Domain Users", "desk") && account?.mayNotifyOthers == true)
        let many = Set((0..<Role.maximumPerAccount).compactMap { Role("r\($0)") })
        await #expect(throws: AccountError.tooManyRoles(ann)) { try await accounts.setRights(of: ann, adding: many) }
        let bob = try #require(UserName("bob"))
        await #expect(throws: AccountError.tooManyRoles(bob)) {
            try await accounts.add(bob, password: password, roles: many.union(roles("one more")))
        }
        await #expect(throws: AccountError.unknown(bob)) { try await accounts.setRights(of: bob, adding: roles("x")) }
    }

    @Test func `a role of the configuration lets its users notify others, at once and no longer than they have it`()
        async throws
    {
        let roles = try roles("editors", "desk")
        try await TestBackend.run {
            $0.mayNotifyRoles = roles
        } _: { backend, _ in
            let (accounts, bob) = (Accounts(store: backend.store), try #require(UserName("bob")))
            let target = "/api/notifications?pns=stream&to_tag=ann"
            var statuses: [Int] = []
            for (added, removed) in [(["readers"], []), (["desk"], []), ([], ["desk"])] as [([String], [String])] {
                try await accounts.setRights(
                    of: bob,
                    adding: Set(added.compactMap(Role.init)),
                    removing: Set(removed.compactMap(Role.init))
                )
                statuses.append(try await backend.send("POST", target, as: "bob", #""x""#).status)
            }
            #expect(statuses == [403, 200, 403])
        }
    }
}
