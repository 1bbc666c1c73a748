import Foundation
import HostSystem
import Testing

/// Users at the terminal: logging in, notifying by name, secure notifications.
@Suite struct LoginTests {
    private struct Row: Decodable {
        let message: String
        let state: String
    }

    private struct Outcome: Decodable {
        let platform: String
        let outcome: String
        let reason: String?
    }

    private let scratch: ScratchFolder
    private let environment: [String: String]

    init() throws {
        scratch = try ScratchFolder()
        environment = ["XDG_STATE_HOME": scratch.file("state")]
        try scratch.write("correct horse\n", to: "password")
    }

    private func run(_ arguments: [String], input: String? = nil) async throws -> BuiltProgram.Outcome {
        guard let input else {
            return try await BuiltProgram.run(arguments, environment: environment, timeout: .seconds(300))
        }
        let child = ChildProcess(
            arguments: [BuiltProgram.path] + arguments,
            environment: BuiltProgram.base.merging(environment) { $1 },
            input: input,
            timeout: .seconds(300),
            maximumOutputBytes: 1 << 20
        )
        let outcome = try await child.run()
        let status: Int32 = if case .exited(let code) = outcome.ending { code } else { -1 }
        return BuiltProgram.Outcome(status: status, output: outcome.standardOutput, errors: outcome.standardError)
    }

    private func start(_ arguments: [String]) async throws -> RunningProgram {
        let program = try await RunningProgram(arguments, environment: environment, folder: scratch.path)
        try #require(program.isRunning, "\(program.errors)")
        return program
    }

    private func port(of program: RunningProgram) throws -> String {
        let address = try #require(program.errors.firstMatch(of: /listen\.address=127\.0\.0\.1:([0-9]+)/))
        return String(address.output.1)
    }

    private func addUser(_ name: String, _ more: String...) async throws {
        let outcome = try await run(["user", "add", name, "--password-file", scratch.file("password")] + more)
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    /// Bounded by the number of looks: each starts a program.
    private func inbox(rows: Int) async throws -> [String] {
        for look in 0... {
            let outcome = try await run(["inbox", "--json"])
            let found = try outcome.output.split(separator: "\n").map {
                try JSONDecoder().decode(Row.self, from: Data($0.utf8))
            }
            if found.count >= rows || look == 300 { return found.map(\.message) }
        }
        return []
    }

    @Test(.timeLimit(.minutes(10)))
    func `a user logs in, is notified by name, reads secure notifications and logs out`() async throws {
        let hub = try await start(["hub", "--port", "0", "--no-app-backend"])
        try await addUser("alice")
        try await addUser("desk", "--may-notify")
        var backend = try await start(["backend", "--port", "0", "--host-names", "localhost"])
        let port = try port(of: backend)
        let password = ["--password-file", scratch.file("password")]

        // Over TLS, with the authority of the app backend; before anybody subscribed.
        let authority = scratch.file("state/newswire/hub/ca.pem")
        let secure = ["--backend", "https://localhost:\(port)", "--ca-file", authority]
        let login = try await run(["login", "--user", "alice"] + secure + password)
        #expect(
            login.status == 0 && login.errors.contains("logged in as 'alice' at https://localhost"),
            "\(login.errors)"
        )
        let file = scratch.file("state/newswire/agent/default/login.json")
        let permissions = try HostFile.permissions(file)
        #expect(permissions == 0o600)
        let untrusted = try await run(["login", "--user", "alice", "--profile", "other"] + secure.prefix(2) + password)
        #expect(untrusted.status == 69 && untrusted.errors.contains("--ca-file"), "\(untrusted.errors)")
        let tokens = try await run(["user", "tokens", "alice"])
        #expect(tokens.output.contains("newswire on ") && tokens.output.split(separator: "\n").count == 1)

        let agent = try await start(["subscribe", "--categories", "World"])
        for _ in 0..<300 {
            if try await run(["user", "devices", "alice"]).output.contains("installation") { break }
        }

        // Over plain HTTP of this machine, as another profile.
        let desk = ["--profile", "desk"]
        let plain = ["--backend", "http://127.0.0.1:\(port)"]
        let other = try await run(
            ["login", "--user", "desk"] + desk + plain + ["--password-file", "-"],
            input: "correct horse\n"
        )
        #expect(other.status == 0, "\(other.errors)")
        let sent = try await run(["notify", "Alice", "the bridge \u{1B}[31mis open", "--json"] + desk)
        #expect(sent.status == 0, "\(sent.errors)")
        let outcomes = try sent.output.split(separator: "\n").map {
            try JSONDecoder().decode(Outcome.self, from: Data($0.utf8))
        }
        #expect(outcomes.first { $0.platform == "stream" }?.outcome == "accepted")
        #expect(outcomes.filter { $0.platform != "stream" }.allSatisfy { $0.outcome == "skipped" && $0.reason != nil })
        let named = try await run(["notify", "alice", "x", "--pns", "stream,apns"] + desk)
        #expect(named.status == 0 && named.output.hasPrefix("stream  accepted\napns  skipped: "), "\(named.output)")
        let none = try await run(["notify", "alice", "x", "--pns", "apns"] + desk)
        #expect(none.status == 1 && none.output.hasPrefix("apns  skipped: "), "\(none.errors)")
        let silent = try await run(["notify", "alice", "-", "--secure"] + desk, input: "the safe is open\n")
        #expect(silent.status == 0 && silent.output.contains("stream  accepted"), "\(silent.errors)")
        let refused = try await run(["notify", "desk", "x"])
        #expect(refused.status == 78 && refused.errors.contains("403"), "\(refused.errors)")
        let got = try await inbox(rows: 3)
        #expect(got == ["From desk: the bridge \u{1B}[31mis open", "From desk: x", "the safe is open"])

        // What the app backend is away for.
        #expect(await backend.stop() == 0)
        let away = try await run(["notify", "alice", "x"] + desk)
        #expect(away.status == 69, "\(away.errors)")
        backend = try await start(["backend", "--port", port, "--host-names", "localhost"])

        let logout = try await run(["logout"])
        #expect(logout.status == 0 && logout.errors.contains("logged out 'alice'"), "\(logout.errors)")
        #expect(!HostFile.exists(file))
        let left = try await run(["user", "tokens", "alice"])
        #expect(left.output.isEmpty)
        let devices = try await run(["user", "devices", "alice"])
        #expect(devices.output.isEmpty)
        let late = try await run(["notify", "alice", "too late"] + desk)
        #expect(late.status == 0, "who has no devices looks like everybody else")
        // The hub's own string is found on this machine.
        let news = try await run(["send", "--tags", "World", "--message", "for all"])
        #expect(news.status == 0, "\(news.errors)")
        let after = try await inbox(rows: 4)
        #expect(after.last == "for all" && !after.contains("From desk: too late"))

        #expect(await agent.stop() == 0)
        #expect(!agent.errors.contains("revoked this installation"), "\(agent.errors)")
        #expect(await backend.stop() == 0)
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a wrong password, and a login at a place without an app backend, change nothing`() async throws {
        let hub = try await start(["hub", "--port", "0", "--no-app-backend"])
        try await addUser("alice")
        let backend = try await start(["backend", "--port", "0"])
        let plain = ["--backend", "http://127.0.0.1:\(try port(of: backend))"]
        try scratch.write("wrong horse\n", to: "wrong")
        let wrong = try await run(["login", "--user", "alice", "--password-file", scratch.file("wrong")] + plain)
        #expect(wrong.status == 78 && wrong.errors.contains("401"), "\(wrong.errors)")
        #expect(!wrong.errors.contains("horse"))
        let nobody = ["--backend", "http://127.0.0.1:\(try freePort())"]
        let nowhere = try await run(["login", "--user", "alice", "--password-file", scratch.file("password")] + nobody)
        #expect(nowhere.status == 69 && nowhere.errors.contains("--backend"), "\(nowhere.errors)")
        #expect(!HostFile.exists(scratch.file("state/newswire/agent/default/login.json")))
        let logout = try await run(["logout"])
        #expect(logout.status == 0 && logout.errors.contains("nobody was logged in"))
        #expect(await backend.stop() == 0)
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a subscriber says at a terminal what it has subscribed to`() async throws {
        let hub = try await start(["hub", "--port", "0"])
        let (screen, command) = (scratch.file("screen"), "'\(BuiltProgram.path)' subscribe --categories World,Sports")
        let terminal = ChildProcess(
            arguments: ["/usr/bin/script", "-qfec", command, screen],
            environment: BuiltProgram.base.merging(environment) { $1 },
            timeout: .seconds(300)
        )
        async let ending = terminal.run()
        var text = ""
        for _ in 0..<300 {
            text = (try? String(contentsOfFile: screen, encoding: .utf8)) ?? ""
            if text.contains("subscribed to") { break }
            // Pause enough.
            _ = try await run(["inbox"])
        }
        #expect(text.contains("newswire: subscribed to World, Sports\r\n"), "\(text)")
        let left = try await run(["unsubscribe"])
        #expect(left.status == 0, "\(left.errors)")
        let outcome = try await ending
        #expect(outcome.isSuccess)
        #expect(await hub.stop() == 0)
    }
}
