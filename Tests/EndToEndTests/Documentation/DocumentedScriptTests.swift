import Crypto
import Foundation
import HostSystem
import Testing

/// Shell scripts in the documentation, run as their readers run them.
@Suite struct DocumentedScriptTests {
    private static let tools = ["curl", "jq", "openssl"]
    private static let hasTools = tools.allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }

    @Test(.timeLimit(.minutes(5)), .enabled(if: hasTools, "curl, jq and openssl are not all installed"))
    func `the script that sets an APNs key at the management API works`() async throws {
        let scripts = try DocumentedLines.scripts(of: "docs/push-services.md")
        let script = try #require(scripts.first { $0.contains("ApnsCredential") })
        let scratch = try ScratchFolder()
        // The script looks in ~/.local/state.
        let environment = ["HOME": scratch.path, "XDG_STATE_HOME": scratch.file(".local/state")]
        let hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        try #require(hub.isRunning, "\(hub.errors)")
        try scratch.write(P256.Signing.PrivateKey().pemRepresentation, to: "AuthKey_KEY1234567.p8")
        let path = scratch.file(".local/state/newswire/hub/full.connection")
        let connection = try String(contentsOfFile: path, encoding: .utf8)
        let port = try #require(connection.firstMatch(of: /:([0-9]+)\//)?.output.1, "\(hub.errors)")
        #expect(script.contains("localhost:8787"))
        let shell = ChildProcess(
            arguments: [
                "/bin/sh", "-c",
                "cd '\(scratch.path)'\n\(script.replacing("localhost:8787", with: "localhost:\(port)"))",
            ],
            environment: BuiltProgram.base.merging(environment) { $1 },
            timeout: .seconds(60),
            maximumOutputBytes: 1 << 20
        )
        let outcome = try await shell.run()
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        let list = try await BuiltProgram.run(["hub", "credentials", "list"], environment: environment)
        #expect(list.output.hasPrefix("apns  usable"), "\(list.output)\(list.errors)")
        await hub.stop()
    }

    @Test(.timeLimit(.minutes(5)))
    func `the backup script copies what a new machine needs to go on`() async throws {
        let scripts = try DocumentedLines.scripts(of: "docs/backup.md")
        let backup = try #require(scripts.first { $0.contains("newswire hub backup") })
        let restore = try #require(scripts.first { $0.contains("tar ") && $0.contains("newswire hub restore") })
        let scratch = try ScratchFolder()
        let dropIn = "etc/systemd/system/newswire-hub.service.d"
        for folder in ["bin", "etc/newswire", dropIn] {
            try FileManager.default.createDirectory(atPath: scratch.file(folder), withIntermediateDirectories: true)
        }
        let program = scratch.file("bin/newswire")
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: BuiltProgram.path)
        try scratch.write("hub:\n  drain: 1s\n", to: "etc/newswire/newswire.yaml")
        try scratch.write("[Service]\nMemoryMax=4G\n", to: "\(dropIn)/setup.conf")
        let environment = [
            "HOME": scratch.path, "XDG_STATE_HOME": scratch.file("state"),
            "PATH": "\(scratch.file("bin")):/usr/bin:/bin",
        ]
        func run(_ script: String) async throws {
            var text = script.replacing(/(?m)^systemctl .*$/, with: "")
            for (documented, local) in [
                ("/var/lib/newswire", scratch.file("state/newswire")), ("-C /etc", "-C '\(scratch.file("etc"))'"),
                ("cd /etc", "cd '\(scratch.file("etc"))'"),
                ("/srv/backup", scratch.file("backup")), ("2026-11-28", "*"),
            ] {
                text = text.replacing(documented, with: local)
            }
            let shell = ChildProcess(
                arguments: ["/bin/sh", "-e", "-c", text],
                environment: BuiltProgram.base.merging(environment) { $1 },
                timeout: .seconds(60),
                maximumOutputBytes: 1 << 20
            )
            let outcome = try await shell.run()
            #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        }
        func keys() async throws -> [String] {
            let shown = try await BuiltProgram.run(["hub", "keys"], environment: environment)
            let authority = try String(contentsOfFile: scratch.file("state/newswire/hub/ca.pem"), encoding: .utf8)
            return shown.output.matches(of: /SharedAccessKey=(\S+)/).map { String($0.output.1) } + [authority]
        }

        let hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        try #require(hub.isRunning, "\(hub.errors)")
        let before = try await keys()
        #expect(before.count > 2)
        try await run(backup)
        await hub.stop()
        for folder in ["state", "etc/newswire", "etc/systemd"] {
            try FileManager.default.removeItem(atPath: scratch.file(folder))
        }

        try await run(restore)
        let next = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        try #require(next.isRunning, "\(next.errors)")
        #expect(try await keys() == before)
        for file in ["etc/newswire/newswire.yaml", "\(dropIn)/setup.conf"] {
            #expect(FileManager.default.fileExists(atPath: scratch.file(file)), "\(file)")
        }
        await next.stop()
    }

    @Test func `scripts name users and paths that an installation has`() throws {
        var count = 0
        for page in try DocumentedLines.pages() {
            for line in try DocumentedLines.scripts(of: page).flatMap({ $0.split(separator: "\n") }) {
                for words in DocumentedLines.commands(in: String(line)) where words.first == "install" {
                    count += 1
                    for problem in try DocumentedProgramTests.problems(words) {
                        Issue.record("\(page): '\(line)': \(problem)")
                    }
                }
            }
        }
        #expect(count == 2)
    }
}
