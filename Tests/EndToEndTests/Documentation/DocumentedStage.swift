import Foundation
import HostSystem
import HubTestServer
import Testing

/// The machines on which a test types the commands of a page: 'desk', and the hub's own.
///
/// Both are this machine, each with a state of its own, and example.org is a page with a feed that a proxy serves.
final class DocumentedStage {
    private let scratch: ScratchFolder
    private let proxy: ScriptedHTTPServer
    /// Ports of the hub and of an app backend that runs alone, the same after a restart.
    private let ports: (hub: Int, backend: Int)
    /// Programs that keep running, by machine and command.
    private var running: [String: RunningProgram] = [:]
    /// A hub as the page expects it where it does not start one.
    private let plainHub: [String]
    private var hub: [String] = []
    /// The message that was sent last, and the agent's installation.
    private var (message, agent) = ("", "")
    private var block = 0

    /// `docs` is the folder with the pages of a checkout or of an installation.
    init(page: String, docs: String = "\(BuiltProgram.repository)/docs") throws {
        scratch = try ScratchFolder()
        ports = (try freePort(), try freePort())
        let sample = "\(BuiltProgram.repository)/feeds/samples/sports.rss"
        let feed = try String(contentsOfFile: sample, encoding: .utf8)
        proxy = try ScriptedHTTPServer { request in
            let link = "<link rel=alternate type=application/rss+xml href=/world.rss>"
            return request.target.hasSuffix(".rss")
                ? .status(200, body: feed)
                : .status(
                    200,
                    headers: [("Content-Type", "text/html")],
                    body: "<!DOCTYPE html><title>News</title>\(link)"
                )
        }
        let isEmulated = ["docs/building-apps.md", "docs/push-services.md"].contains(page)
        plainHub =
            ["hub", "--host-names", "localhost"]
            + (isEmulated ? ["--emulate", "--state", scratch.file("nas/newswire/hub")] : [])
        for folder in ["bin", "feeds", "backup", "home"] {
            try FileManager.default.createDirectory(atPath: scratch.file(folder), withIntermediateDirectories: true)
        }
        let links = [("bin/newswire", BuiltProgram.path), ("docs", docs)]
        for (name, target) in links {
            try FileManager.default.createSymbolicLink(atPath: scratch.file(name), withDestinationPath: target)
        }
        // 'ssh nas COMMAND' and 'runuser -u USER -- COMMAND' run the command with the state of the hub's machine.
        let state = "XDG_STATE_HOME='\(scratch.file("nas"))'"
        try script("ssh", "shift; \(state) exec \"$@\"")
        try script("runuser", "shift 3; \(state) exec \"$@\"")
        try script("handler", "exit 0")
        try scratch.write(
            "category: Sports\nfeeds:\n  - url: file://\(sample)\n    local: true\n",
            to: "feeds/sports.yaml"
        )
        for name in ["password", "alice.password", "desk.password"] { try scratch.write("correct horse\n", to: name) }
        try scratch.write(#"{"title":"$(title)","message":"$(message)"}"#, to: "my.json")
        try scratch.write(#"{"title":"Notice"}"#, to: "notice.json")
    }

    private func script(_ name: String, _ text: String) throws {
        try scratch.write("#!/bin/sh\n\(text)\n", to: "bin/\(name)")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.file("bin/\(name)"))
    }

    private func environment(of machine: String) -> [String: String] {
        [
            "XDG_STATE_HOME": scratch.file(machine == "desk" ? "desk" : "nas"), "HOME": scratch.file("home"),
            "NEWSWIRE_HUB_PORT": "\(ports.hub)",
            "NEWSWIRE_BACKEND_PORT": "\(ports.backend)", "http_proxy": proxy.baseURL, "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": "\(scratch.file("bin")):/usr/bin:/bin",
        ]
    }

    /// Runs a page's lines in their order; each must succeed.
    ///
    /// - Returns: The number of lines that were run.
    func run(_ lines: [DocumentedLines.Line]) async throws -> Int {
        let startsHub = lines.first.flatMap { DocumentedLines.calls(in: $0.text).first }
            .map { $0[0] == "hub" && Self.staysRunning($0) }
        if startsHub != true { try await prepare() }
        var count = 0
        for line in lines where try await run(line) { count += 1 }
        return count
    }

    /// Starts what the page expects: a hub, an agent, a message, and a connection string for a second machine.
    private func prepare() async throws {
        try await start(plainHub, on: "nas")
        try await start(["subscribe", "--categories", "World"], on: "nas")
        for command in [
            "newswire send --category World --message 'Good morning'",
            "ssh nas newswire hub keys | sed -n 's/^Listen: //p' > hub.connection && chmod 600 hub.connection",
        ] {
            let outcome = try await shell(command, on: "nas")
            try #require(outcome.status == 0, "\(outcome.errors)")
            note(outcome.output)
        }
        let categories = try await shell("newswire categories", on: "nas").errors
        agent = try #require(categories.split(separator: "\n").last?.split(separator: "'").last.map(String.init))
    }

    /// - Returns: False for a line of another program, such as systemctl.
    private func run(_ line: DocumentedLines.Line) async throws -> Bool {
        let text = local(line.text)
        let call = DocumentedLines.calls(in: text).first
        let others = ["chmod ", "cp ", "mkdir ", "docs/examples/"]
        guard call != nil || !line.isRoots && others.contains(where: text.hasPrefix) else { return false }
        // A block that starts no hub expects the plain one.
        if line.block != block, hub != plainHub, hub.contains("--no-app-backend") || hub.contains("--state") {
            await running.removeValue(forKey: "nas backend")?.stop()
            try await start(plainHub, on: "nas")
        }
        block = line.block
        if let call, Self.staysRunning(call) {
            try await start(call, on: line.machine, "\(line)")
        } else {
            let outcome = try await shell(text, on: line.machine)
            #expect(outcome.status == 0, "\(line): \(outcome.output)\(outcome.errors)")
            note(outcome.output)
        }
        return true
    }

    private static func staysRunning(_ call: [String]) -> Bool {
        ["subscribe", "backend"].contains(call[0]) || call == ["hub"]
            || call.starts(with: ["hub"]) && call[1].hasPrefix("--")
    }

    /// The line for one machine without a network.
    private func local(_ line: String) -> String {
        var text = line
        for (documented, local) in [
            ("https://example.org", "http://example.org"), ("nas.example.org", "localhost"),
            ("push.example.org", "localhost"), ("0.0.0.0", "127.0.0.1"),
            ("/var/lib/newswire/agent/newsdesk", scratch.file("nas/newswire/agent/default")),
            ("/var/lib/newswire/backend", scratch.file("backend")),
            ("/var/lib/newswire", scratch.file("nas/newswire")), ("/etc/newswire/feeds", scratch.file("feeds")),
            ("/home/me/feeds", scratch.file("feeds")), ("/srv/backup", scratch.file("backup")),
            ("/usr/bin/logger", scratch.file("bin/handler")),
            ("agent-kitchen", agent), ("phone-7", agent),
        ] {
            text = text.replacing(documented, with: local)
        }
        text = text.replacing(/\b[0-9a-f]{32}\b/) { _ in message }
        // There is no terminal to type a password at.
        let asks = text.contains("user add") || text.contains("newswire login")
        return asks && !text.contains("--password-file") ? "\(text) --password-file password" : text
    }

    private func note(_ output: String) {
        if let id = output.firstMatch(of: /\b[0-9a-f]{32}\b/)?.output { message = String(id) }
    }

    private func shell(_ text: String, on machine: String) async throws -> BuiltProgram.Outcome {
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

    /// Starts a server or an agent, which replaces an earlier one of the same machine.
    private func start(_ arguments: [String], on machine: String, _ line: String = "the stage") async throws {
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
        if arguments[0] == "hub" { hub = arguments }
    }

    /// Looks until a message is in the inbox; bounded by the number of looks, each of which starts a program.
    func hasReceived(_ text: String, on machine: String) async throws -> Bool {
        for _ in 0..<300 where try await shell("newswire inbox --json", on: machine).output.contains(text) {
            return true
        }
        return false
    }

    func stop() async {
        for program in running.values { await program.stop() }
    }
}
