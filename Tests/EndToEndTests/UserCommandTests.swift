import Foundation
import HostSystem
import Testing

/// The accounts of the app backend, as an operator manages them.
@Suite struct UserCommandTests {
    private struct Row: Decodable {
        let name: String
        let mayNotify: Bool
        let roles: [String]
    }

    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func user(_ arguments: String...) async throws -> BuiltProgram.Outcome {
        try await BuiltProgram.run(["user"] + arguments, environment: ["XDG_STATE_HOME": scratch.path])
    }

    private func passwordFile(_ text: String) throws -> String {
        try scratch.write(text, to: "password")
        return scratch.file("password")
    }

    private func list() async throws -> [Row] {
        let outcome = try await user("list", "--json")
        #expect(outcome.status == 0, "\(outcome.errors)")
        return try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
    }

    @Test func `users are added, changed, listed and removed`() async throws {
        let file = try passwordFile("correct horse\n")
        let added = try await user("add", "Alice", "--password-file", file)
        #expect(added.status == 0, "\(added.errors)")
        #expect(added.output.isEmpty)
        let desk = try await user("add", "desk", "--may-notify", "--password-file", file)
        #expect(desk.status == 0, "\(desk.errors)")
        var rows = try await list()
        #expect(rows.map(\.name) == ["Alice", "desk"])
        #expect(rows.map(\.mayNotify) == [false, true])

        let rights = try await user("rights", "desk", "--no-may-notify", "--desk")
        #expect(rights.status == 0 && rights.errors.contains("user 'desk' may use the desk"), "\(rights.errors)")
        let password = try await user("password", "alice", "--password-file", try passwordFile("battery staple"))
        #expect(password.status == 0, "\(password.errors)")
        let tokens = try await user("tokens", "alice")
        #expect(tokens.status == 0, "\(tokens.errors)")
        #expect(tokens.output.isEmpty)
        let devices = try await user("devices", "alice", "--json")
        #expect(devices.status == 0, "\(devices.errors)")
        #expect(devices.output.isEmpty)
        let removed = try await user("remove", "ALICE")
        #expect(removed.status == 0, "\(removed.errors)")
        rows = try await list()
        #expect(rows.map(\.name) == ["desk"])
        #expect(rows.map(\.mayNotify) == [false])

        let audit = try await user("audit", "--user", "alice")
        let events = audit.output.split(separator: "\n").map {
            $0.split(separator: "  ").dropFirst().joined(separator: " ")
        }
        #expect(
            events == [
                "alice account added done at the command line", "alice password changed done at the command line",
                "alice account removed done at the command line",
            ]
        )
        let path = "\(scratch.path)/newswire/hub/backend.sqlite"
        let permissions = try HostFile.permissions(path)
        #expect(permissions == 0o600)
    }

    @Test func `roles are given, taken and listed, and names of another party's users are refused`() async throws {
        let file = try passwordFile("correct horse")
        let added = try await user("add", "carol", "--role", "editors", "--role", "desk", "--password-file", file)
        #expect(added.status == 0, "\(added.errors)")
        var rows = try await list()
        #expect(rows.map(\.roles) == [["desk", "editors"]])
        let rights = try await user("rights", "carol", "--role", "Domain Users", "--without-role", "desk")
        #expect(rights.status == 0 && rights.errors.contains("roles of user 'carol'"), "\(rights.errors)")
        rows = try await list()
        #expect(rows.map(\.roles) == [["Domain Users", "editors"]])
        let text = try await user("list")
        #expect(text.output.hasSuffix("  roles: Domain Users, editors\n"), "\(text.output)")
        let refused = try await BuiltProgram.run(
            ["user", "add", "alice@Proxy", "--password-file", file],
            environment: ["XDG_STATE_HOME": scratch.path, "NEWSWIRE_BACKEND_USER_HEADER_PROXIES": "192.0.2.1"]
        )
        #expect(refused.status == 64 && refused.errors.contains("end with '@proxy'"), "\(refused.errors)")
    }

    @Test func `a password comes from standard input`() async throws {
        let child = ChildProcess(
            arguments: [BuiltProgram.path, "user", "add", "alice", "--password-file", "-"],
            environment: BuiltProgram.base.merging(["XDG_STATE_HOME": scratch.path]) { $1 },
            input: "correct horse\r\n",
            timeout: .seconds(300),
            maximumOutputBytes: 1 << 16
        )
        let outcome = try await child.run()
        #expect(outcome.standardError == "newswire: user 'alice' is added\n")
        let rows = try await list()
        #expect(rows.map(\.name) == ["alice"])
    }

    @Test(arguments: [
        ("short\n", "has at least 8 characters"), ("", "has at least 8 characters"),
        ("two lines\nof text\n", "no control characters or line breaks"),
        (String(repeating: "x", count: 2_000), "larger than"),
    ])
    func `a password that cannot be one is refused, and not shown`(text: String, says: String) async throws {
        let outcome = try await user("add", "alice", "--password-file", try passwordFile(text))
        #expect(outcome.status == 64 || outcome.status == 78, "\(outcome.errors)")
        #expect(outcome.errors.contains(says), "\(outcome.errors)")
        #expect(!outcome.errors.contains("short") && !outcome.errors.contains("xxx"))
    }

    static let mistakes: [(arguments: [String], status: Int32, says: String)] = [
        (["list"], 78, "there are no users in"),
        (["remove", "alice"], 78, "there are no users in"),
        (["add", "a b", "--password-file", "-"], 64, "'a b' is not a valid user name"),
        (["add", "bob#1", "--password-file", "-"], 64, "'bob#1' is not a valid user name"),
        (["add", "alice", "secret"], 64, "secret"),
        (["add", "alice", "--password", "secret"], 64, "--password"),
        (["add", "alice", "--password-file", "/nonexistent"], 78, "/nonexistent"),
        (["rights", "alice"], 64, "--may-notify"),
        (["rights", "alice", "--role", "a,b"], 64, "'a,b' is not a valid role"),
        (["rights", "alice", "--role", "a", "--without-role", "a"], 64, "cannot both name"),
        (["tokens", "alice", "--revoke", "1", "--json"], 64, "cannot be combined"),
        (["audit", "--last", "0"], 64, "--last"),
    ]

    @Test(arguments: mistakes)
    func `a mistake is explained in one line`(arguments: [String], status: Int32, says: String) async throws {
        let outcome = try await BuiltProgram.run(["user"] + arguments, environment: ["XDG_STATE_HOME": scratch.path])
        #expect(outcome.status == status, "\(outcome.errors)")
        #expect(outcome.errors.contains(says), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
    }

    @Test func `what the accounts do not allow is explained in one line`() async throws {
        let file = try passwordFile("correct horse")
        _ = try await user("add", "alice", "--password-file", file)
        _ = try await user("add", "bob", "--password-file", file)
        _ = try await user("remove", "bob")
        for (arguments, says) in [
            (["add", "ALICE", "--password-file", file], "cannot add user 'ALICE': the name is taken"),
            (["add", "bob", "--password-file", file], "cannot add user 'bob': the name of a removed user"),
            (["remove", "bob"], "there is no user 'bob'"),
            (["password", "bob", "--password-file", file], "there is no user 'bob'"),
            (["rights", "bob", "--may-notify"], "there is no user 'bob'"),
            (["tokens", "bob"], "there is no user 'bob'"),
            (["devices", "bob"], "there is no user 'bob'"),
            (["tokens", "alice", "--revoke", "7"], "user 'alice' has no token 7"),
        ] {
            let outcome = try await BuiltProgram.run(
                ["user"] + arguments,
                environment: ["XDG_STATE_HOME": scratch.path]
            )
            #expect(outcome.status == 64, "\(outcome.errors)")
            #expect(outcome.errors.contains(says), "\(outcome.errors)")
        }
    }

    @Test func `without a terminal the command asks for a file`() async throws {
        // A session of its own has no terminal, wherever the tests run.
        let child = ChildProcess(
            arguments: ["/usr/bin/setsid", "-w", BuiltProgram.path, "user", "add", "alice"],
            environment: BuiltProgram.base.merging(["XDG_STATE_HOME": scratch.path]) { $1 },
            timeout: .seconds(300),
            maximumOutputBytes: 1 << 16
        )
        let outcome = try await child.run()
        #expect(outcome.standardError.contains("'/dev/tty'"), "\(outcome.standardError)")
        #expect(outcome.standardError.contains("pass --password-file PATH"), "\(outcome.standardError)")
    }
}
