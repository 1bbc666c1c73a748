import Foundation
import Glibc
import HostSystem
import Testing

/// Commands beside the services of the package, whose state is in /var/lib/newswire.
///
/// The program sees a scratch folder in the place of /var/lib, in a mount namespace of its own.
@Suite(
    .enabled(
        if: geteuid() == 0 && system("unshare --mount true 2>/dev/null") == 0,
        "needs root and mount namespaces"
    )
)
struct ServiceStateTests {
    /// Nobody, who owns the services' directories here.
    private static let user: uid_t = 65_534
    private let scratch: ScratchFolder
    private let hub: String
    private let home: String

    init() throws {
        scratch = try ScratchFolder()
        hub = scratch.file("lib/newswire/hub")
        home = scratch.file("home")
        for folder in [hub, home] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        for folder in ["", "lib", "lib/newswire"] { try #require(chmod(scratch.file(folder), 0o755) == 0) }
        try #require(chmod(hub, 0o700) == 0 && chown(hub, Self.user, Self.user) == 0 && chmod(home, 0o777) == 0)
    }

    /// Runs the program as root, or as an ordinary user, with the scratch folder as /var/lib.
    private func run(_ arguments: [String], asUser user: uid_t = 0) async throws -> BuiltProgram.Outcome {
        // The user may not be able to reach the build folder.
        let program = scratch.file("newswire")
        if !FileManager.default.fileExists(atPath: program) {
            try FileManager.default.copyItem(atPath: BuiltProgram.path, toPath: program)
        }
        let become = user == 0 ? "exec" : "exec setpriv --reuid \(user) --regid \(user) --clear-groups"
        let script = #"mount --bind "$1" /var/lib && shift && cd / && \#(become) "$@""#
        var environment = BuiltProgram.base
        environment["XDG_STATE_HOME"] = nil
        environment["HOME"] = home
        let child = ChildProcess(
            arguments: [
                "/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, "sh", scratch.file("lib"), program,
            ] + arguments,
            environment: environment,
            timeout: .seconds(120)
        )
        let outcome = try await child.run()
        guard case .exited(let status) = outcome.ending else {
            throw HostError("cannot run", "\(arguments)", because: "\(outcome)")
        }
        return .init(status: status, output: outcome.standardOutput, errors: outcome.standardError)
    }

    private func startService() async throws -> RunningProgram {
        try await RunningProgram(["hub", "--port", "0", "--state", hub], folder: scratch.path)
    }

    private func foreignFiles() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: hub).filter { file in
            let owner = try FileManager.default.attributesOfItem(atPath: "\(hub)/\(file)")[.ownerAccountID] as? Int
            return owner != Int(Self.user)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `root's commands find the hub's service, and what they create belongs to its user`() async throws {
        let service = try await startService()
        let copy = scratch.file("copy")
        let commands = [
            ["send", "--message", "x"], ["hub", "keys"],
            ["hub", "keys", "--rotate", "DefaultListenSharedAccessSignature"],
            ["hub", "invite"], ["hub", "list"], ["hub", "certificate", "--pem"], ["hub", "backup", copy],
            ["messages", "list"], ["user", "list"], ["hub", "audit"],
        ]
        for command in commands {
            let outcome = try await run(command)
            let isEmpty = command == ["user", "list"]
            #expect(outcome.status == (isEmpty ? 78 : 0), "\(command): \(outcome.errors)")
            if isEmpty { #expect(outcome.errors.contains("there are no users in '/var/lib/newswire/hub'")) }
        }
        #expect(try foreignFiles() == [])
        #expect(await service.stop() == 0)
        // The stopped service's files are opened by the commands alone.
        for command in [["hub", "keys"], ["hub", "invite"], ["hub", "backup", copy]] {
            let outcome = try await run(command)
            #expect(outcome.status == 0, "\(command): \(outcome.errors)")
        }
        #expect(try foreignFiles() == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: home) == [])
        let again = try await startService()
        #expect(await again.stop() == 0, "\(again.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `another user gets the command for root, and no directory`() async throws {
        let service = try await startService()
        for command in [
            ["send", "--category", "World", "--message", "it's late"], ["hub", "keys"], ["hub", "invite"],
            ["hub", "backup", "/tmp/copy"], ["hub", "list"], ["hub", "audit"], ["user", "list"], ["messages", "list"],
        ] {
            let outcome = try await run(command, asUser: 65_533)
            #expect(outcome.status == 78, "\(command): \(outcome.errors)")
            #expect(outcome.errors.contains("'/var/lib/newswire/hub' belongs to '"), "\(outcome.errors)")
            #expect(
                outcome.errors.contains("hint: sudo \(scratch.file("newswire")) \(command[0]) "),
                "\(outcome.errors)"
            )
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: home) == [])
        let send = try await run(["send", "--message", "it's late"], asUser: 65_533)
        #expect(send.errors.contains(#"send --message 'it'\''s late'"#), "\(send.errors)")
        let agent = try await run(["subscribe", "--categories", "World"], asUser: 65_533)
        #expect(agent.errors.contains("sudo newswire hub keys --local"), "\(agent.errors)")
        await service.stop()
    }

    @Test(.timeLimit(.minutes(10)))
    func `a hub of root's own comes before the service's`() async throws {
        let own = "\(home)/.local/state/newswire/hub"
        let mine = try await RunningProgram(["hub", "--port", "0", "--state", own], folder: scratch.path)
        let service = try await startService()
        let keys = try await run(["hub", "keys", "--local"])
        let expected = try String(contentsOfFile: "\(own)/full.connection", encoding: .utf8)
        #expect(keys.output.contains(expected.trimmingCharacters(in: .whitespacesAndNewlines)))
        await mine.stop()
        await service.stop()
    }
}

@Suite struct ReadingCommandTests {
    @Test(
        arguments: [
            ["hub", "keys"], ["hub", "certificate"], ["hub", "invite"], ["hub", "audit"], ["hub", "backup", "copy"],
            ["hub", "log", "status", "--offline"], ["hub", "list"], ["user", "list"], ["user", "audit"], ["inbox"],
            ["categories"], ["unsubscribe"], ["logout"], ["notify", "alice", "x"], ["send", "--message", "x"],
            ["messages", "list"], ["feeds", "list", "--feeds", "feeds"], ["check"],
        ]
    )
    func `a command that only reads creates no directory`(command: [String]) async throws {
        let scratch = try ScratchFolder()
        let outcome = try await BuiltProgram.run(
            command.map { $0 == "copy" ? scratch.file($0) : $0 },
            environment: ["XDG_STATE_HOME": scratch.file("state")]
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [], "\(outcome.errors)")
    }
}
