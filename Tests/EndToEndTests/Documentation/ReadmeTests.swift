import Foundation
import HostSystem
import Testing

/// The README's commands, run on loopback as a newcomer types them.
@Suite final class ReadmeTests {
    private let scratch: ScratchFolder
    /// The hub's port, the same after a restart.
    private let port: Int
    /// Programs that keep running, by machine and command.
    private var running: [String: RunningProgram] = [:]

    init() throws {
        scratch = try ScratchFolder()
        port = try freePort()
        try FileManager.default.createDirectory(atPath: scratch.file("bin"), withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: scratch.file("bin/newswire"),
            withDestinationPath: BuiltProgram.path
        )
        // 'ssh nas COMMAND' runs the command with the state of the hub's machine.
        try scratch.write("#!/bin/sh\nshift\nXDG_STATE_HOME='\(scratch.file("nas"))' exec \"$@\"\n", to: "bin/ssh")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.file("bin/ssh"))
        let list = """
            category: Sports
            feeds:
              - url: file://\(BuiltProgram.repository)/feeds/samples/sports.rss
                local: true
            """
        try scratch.write(list, to: "feeds/sports.yaml")
        try scratch.write("correct horse\n", to: "password")
    }

    /// The environment of one of two machines: 'desk', or the hub's own.
    private func environment(of machine: String) -> [String: String] {
        [
            "XDG_STATE_HOME": scratch.file(machine == "desk" ? "desk" : "nas"), "NEWSWIRE_HUB_PORT": "\(port)",
            "PATH": "\(scratch.file("bin")):/usr/bin:/bin",
        ]
    }

    /// The line for one machine without a network: `nil` if it needs the internet, a build or the emulator.
    private func local(_ line: DocumentedLines.Line) -> String? {
        guard !["make ", "https://example.org", "--emulate"].contains(where: line.text.contains) else { return nil }
        var text = line.text.replacing("nas.example.org", with: "localhost").replacing("0.0.0.0", with: "127.0.0.1")
        // There is no terminal to type a password at.
        if text.contains("user add") || text.contains("newswire login") { text += " --password-file password" }
        return text
    }

    private func run(_ text: String, on machine: String) async throws -> BuiltProgram.Outcome {
        let child = ChildProcess(
            arguments: ["/bin/sh", "-c", "cd '\(scratch.path)' && \(text)"],
            environment: BuiltProgram.base.merging(environment(of: machine)) { $1 },
            timeout: .seconds(120),
            maximumOutputBytes: 1 << 20
        )
        let outcome = try await child.run()
        let status: Int32 = if case .exited(let code) = outcome.ending { code } else { -1 }
        return BuiltProgram.Outcome(status: status, output: outcome.standardOutput, errors: outcome.standardError)
    }

    /// Starts a hub or an agent, in the place of an earlier one of the same machine.
    private func start(_ arguments: [String], on machine: String, _ line: DocumentedLines.Line) async throws {
        let key = "\(machine == "desk" ? "desk" : "nas") \(arguments[0])"
        await running.removeValue(forKey: key)?.stop()
        let program = try await RunningProgram(
            arguments,
            environment: environment(of: machine),
            folder: scratch.path,
            directory: scratch.path
        )
        try #require(program.isRunning, "\(line): \(program.errors)")
        running[key] = program
    }

    /// Looks until a message is in the inbox; bounded by the number of looks, of which each starts a program.
    private func hasReceived(_ text: String, on machine: String) async throws -> Bool {
        for _ in 0..<300 where try await run("newswire inbox --json", on: machine).output.contains(text) { return true }
        return false
    }

    @Test(.timeLimit(.minutes(10)))
    func `the README's commands work in their order, on one machine and on a second`() async throws {
        var count = 0
        for line in try DocumentedLines.lines(of: "README.md") {
            guard let text = local(line) else { continue }
            count += 1
            let calls = DocumentedLines.calls(in: text)
            if let call = calls.first,
                call == ["hub"] || call.starts(with: ["hub", "--listen"]) || call[0] == "subscribe"
            {
                try await start(call, on: line.machine, line)
            } else if !line.text.hasPrefix("newswire publish --feeds /") {
                let outcome = try await run(text, on: line.machine)
                #expect(outcome.status == 0, "\(line): \(outcome.output)\(outcome.errors)")
            }
        }
        #expect(count > 15, "the README has \(count) commands that can be run")
        #expect(try await hasReceived("Breaking Sports News : Extra time in the final", on: "nas"))
        #expect(try await hasReceived("The meeting is at ten", on: "desk"))
        for program in running.values { await program.stop() }
    }
}
