import Foundation
import HostSystem
import Testing

/// What a stranger does with the program, and what it says.
@Suite struct CommandTests {
    @Test(.timeLimit(.minutes(10)))
    func `the demo delivers every expected message and no other`() async throws {
        let samples = "\(BuiltProgram.repository)/feeds/samples"
        let outcome = try await BuiltProgram.run(["demo", "--once", "--samples", samples])
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("every expected message arrived once, and no other"))
    }

    static let mistakes: [(arguments: [String], status: Int32, says: String)] = [
        (["--frequency", "9"], 64, "--frequency"),
        (["publsih"], 64, "hint: did you mean 'newswire publish'?"),
        (["hub", "kyes"], 64, "hint: did you mean 'newswire hub keys'?"),
        (["hub", "credentials", "tset"], 64, "hint: did you mean 'newswire hub credentials test'?"),
        (["help", "mesages"], 64, "hint: did you mean 'newswire help messages'?"),
        (["help", "hub", "xyzzy"], 64, "there is no command 'xyzzy'"),
        (["health", "--unknown", "hub"], 64, "Unknown option '--unknown'"),
        (["health", "--unknown", "xyzzy"], 64, "Unknown option '--unknown'"),
        (["check", "--unknown", "xyzzy"], 64, "Unknown option '--unknown'"),
        (["health", "xyzzy"], 64, "'xyzzy' is not one of the programs 'hub', 'backend' or 'publisher'"),
        (["check", "hub", "xyzzy"], 64, "'xyzzy' is not one of the programs 'hub', 'backend', 'publisher' or 'agent'"),
        (["subscribe", "--json", "--exec", "/bin/true"], 64, "cannot be combined"),
        (["hub", "--port", "99999"], 64, "must be 0 to 65535"),
        (["hub", "--tls-certificate", "/nonexistent.pem"], 78, "'tls-key' is not; both are needed"),
        (["hub", "--tls-certificate", "/no.pem", "--tls-key", "/no.key"], 78, "cannot open '/no.pem': no such file"),
        (["hub", "--host-names", "a:80"], 64, "'a:80' is not a host name or address"),
        (["hub", "--public-address", "http://news.example.org"], 64, "begins with 'https://'"),
        (["hub", "--public-address", "https://example.org/news"], 64, "must have no path"),
        (["hub", "--public-address", "https://a b:1"], 64, "must be a host name or an address"),
        (["backend", "--public-address", "https://u@push.example.org"], 64, "must be a host name or an address"),
        (["hub", "--listen", "no.such.host.invalid"], 78, "there is no such address"),
        (["hub", "--listen", "192.0.2.55"], 78, "this machine does not have that address"),
        (["hub", "--trusted-proxies", "10.0.0.0/99"], 64, "'10.0.0.0/99' is not one of them"),
        (["hub", "certificate"], 78, "there is no authority in"),
        (["hub", "certificate", "--pem", "--json"], 64, "cannot be combined"),
        (["send", "--message", "x", "--ca-file", "/etc/passwd"], 78, "no connection string"),
        (["hub", "keys"], 78, "there is no hub"),
        (["hub", "--hub", "metrics"], 64, "'metrics'"),
        (["send", "--message", "x"], 78, "no connection string"),
        (["send"], 64, "nothing to send"),
        (["send", "--property", "novalue"], 64, "name=value"),
        (["send", "--property", "urgency=critical"], 64, "the message would go to everybody"),
        (["send", "--message", "x", "--at", "2001-01-01"], 64, "is not within the next seven days"),
        (["send", "--message", " "], 64, "--message is empty"),
        (["send", "--message", "x", "--tags", ""], 64, "omit --tags to send to everybody"),
        (["send", "--message", "x", "--tags", "World, Sports"], 64, "write 'World || Sports'"),
        (["send", "--message", "x", "--tags", "World &"], 64, "'&' must be written '&&'"),
        (["publish", "--feeds", "/nonexistent"], 78, "/nonexistent"),
        (["publish", "--cap", "some"], 64, "--cap"),
        (["subscribe", "--categories", "World"], 78, "no connection string"),
        (["subscribe", "--categories", "username:bob"], 64, "reserved"),
        (["subscribe", "--language", "a b"], 64, "'a b' must be letters"),
        (["subscribe", "--template", "/nonexistent.json"], 64, "/nonexistent.json"),
        (["subscribe", "--template", "/etc/passwd"], 64, "neither a JSON object"),
        (["subscribe", "--template", "x", "--language", "French"], 64, "cannot be combined"),
        (["inbox", "--last", "0"], 64, "--last"),
        (["login", "--user", "a b"], 64, "'a b' is not a valid user name"),
        (["login", "--user", "alice", "--password", "x"], 64, "--password"),
        (["login", "--user", "alice", "--backend", "push.example.org"], 64, "does not begin with https:// or http://"),
        (["login", "--user", "alice", "--password-file", "/nonexistent"], 78, "/nonexistent"),
        (["notify", "alice", "hello"], 78, "nobody is logged in"),
        (["notify", "alice", " "], 64, "the text is empty"),
        (["notify", "alice", "x", "--pns", "apsn"], 64, "did you mean 'apns'"),
        (["notify", "alice", "x", "--pns", "apns", "--secure"], 64, "cannot be combined"),
        (["notify", "bob#1", "x"], 64, "'bob#1' is not a valid user name"),
        (["demo", "--samples", "/nonexistent"], 78, "/nonexistent"),
    ]

    @Test(arguments: mistakes)
    func `a mistake is said in one line with the right exit code`(
        arguments: [String],
        status: Int32,
        says: String
    ) async throws {
        let scratch = try ScratchFolder()
        let outcome = try await BuiltProgram.run(arguments, environment: ["XDG_STATE_HOME": scratch.path])
        #expect(outcome.status == status, "\(outcome.errors)")
        #expect(outcome.errors.contains(says), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
    }

    @Test(arguments: [
        ("Endpoint=http://127.0.0.1:1/;SharedAccessKeyName=x", 78),
        ("nonsense", 78),
        ("Endpoint=http://example.org/;SharedAccessKeyName=x;SharedAccessKey=eA==", 78),
        ("Endpoint=http://127.0.0.1:1/;SharedAccessKeyName=x;SharedAccessKey=eA==", 69),
    ])
    func `a connection string that cannot be used is refused, and none of it is shown`(
        text: String,
        status: Int32
    ) async throws {
        let scratch = try ScratchFolder()
        let outcome = try await BuiltProgram.run(
            ["send", "--message", "x"],
            environment: ["NEWSWIRE_CONNECTION_STRING": text, "XDG_STATE_HOME": scratch.path]
        )
        #expect(outcome.status == status, "\(outcome.errors)")
        #expect(!outcome.errors.contains("eA=="))
    }

    @Test(.timeLimit(.minutes(10)))
    func `a second hub, a busy port and a hub that is down say what to do`() async throws {
        let scratch = try ScratchFolder()
        let port = try freePort()
        let arguments = ["hub", "--port", "\(port)", "--state"]
        let hub = try await RunningProgram(arguments + [scratch.file("hub")], folder: scratch.path)
        let second = try await BuiltProgram.run(arguments + [scratch.file("hub")])
        #expect(second.status == 75)
        #expect(second.errors.contains("another hub is using"))
        let busy = try await BuiltProgram.run(arguments + [scratch.file("other")])
        #expect(busy.status == 75)
        #expect(busy.errors.contains("another program listens there"))
        #expect(!busy.errors.contains("Cancel") && !busy.errors.contains("warning"), "\(busy.errors)")
        #expect(await hub.stop() == 0)
        let connection = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        let send = try await BuiltProgram.run(["send", "--message", "x"], environment: connection)
        #expect(send.status == 69)
        #expect(send.errors.contains("cannot reach"))
    }

    @Test func `the hint for a time that is refused has one that is accepted`() async throws {
        let arguments = ["send", "--message", "x", "--at"]
        let refused = try await BuiltProgram.run(arguments + ["2001-01-01"])
        let times = refused.errors.matches(of: /[0-9-]{10}T[0-9:]{8}[Z+][0-9:]*/).map { String($0.output) }
        #expect(times.count == 2, "\(refused.errors)")
        for time in times {
            let outcome = try await BuiltProgram.run(
                arguments + [time],
                environment: ["NEWSWIRE_CONNECTION_STRING": ServiceTests.unreachable]
            )
            #expect(outcome.status == 69, "\(time): \(outcome.errors)")
        }
    }

    @Test(arguments: [["publish"], ["check", "publisher"], ["feeds", "list"]])
    func `a missing directory of feed lists is reported with the command that copies the installed ones`(
        command: [String]
    ) async throws {
        let scratch = try ScratchFolder()
        try FileManager.default.createDirectory(
            atPath: scratch.file("config/newswire/feeds"),
            withIntermediateDirectories: true
        )
        try scratch.write("category: Sports\nfeeds: []\n", to: "config/newswire/feeds/sports.yaml")
        let environment = ["XDG_CONFIG_HOME": scratch.file("config"), "XDG_STATE_HOME": scratch.file("state")]
        let folder = scratch.file("my own/feeds")
        let missing = try await BuiltProgram.run(command + ["--feeds", folder], environment: environment)
        #expect(missing.status == 78, "\(missing.errors)")
        let hint = try #require(missing.errors.split(separator: "copy its lists: ").last, "\(missing.errors)")
        let shell = ChildProcess(
            arguments: ["/bin/sh", "-c", String(hint)],
            environment: BuiltProgram.base,
            timeout: .seconds(60),
            maximumOutputBytes: 1 << 20
        )
        #expect(try await shell.run().ending == .exited(0))
        #expect(FileManager.default.fileExists(atPath: "\(folder)/sports.yaml"))
        let found = try await BuiltProgram.run(command + ["--feeds", folder], environment: environment)
        #expect(!found.errors.contains("copy its lists"), "\(found.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `hubs with emulated push services run beside another hub without a port of their own`() async throws {
        let scratch = try ScratchFolder()
        var hubs: [RunningProgram] = []
        for name in ["first", "second"] {
            let hub = try await RunningProgram(
                ["hub", "--emulate", "--state", scratch.file(name)],
                folder: scratch.path
            )
            try #require(hub.isRunning, "\(hub.errors)")
            let connection = ["NEWSWIRE_CONNECTION_FILE": scratch.file("\(name)/full.connection")]
            let sent = try await BuiltProgram.run(["send", "--message", "x"], environment: connection)
            #expect(sent.status == 0, "\(sent.errors)")
            hubs.append(hub)
        }
        for hub in hubs { #expect(await hub.stop() == 0) }
    }

    @Test(arguments: [["--help"], ["hub", "--help"], ["help", "messages"], ["hub", "credentials", "test", "--help"]])
    func `every command explains itself`(arguments: [String]) async throws {
        let shown = try await BuiltProgram.run(arguments)
        #expect(shown.status == 0 && shown.output.contains("USAGE: newswire"), "\(shown.errors)")
    }

    @Test func `a database that cannot be used ends every command of the publisher alike`() async throws {
        let scratch = try ScratchFolder()
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: false)
        try scratch.write("category: World\nfeeds:\n  - url: https://example.org/\n", to: "feeds/world.yaml")
        try scratch.write("not a database, but long enough to be read as one", to: "publisher.sqlite")
        let options = ["--feeds", scratch.file("feeds"), "--state", scratch.path]
        let connection = ["NEWSWIRE_CONNECTION_STRING": ServiceTests.unreachable, "XDG_STATE_HOME": scratch.path]
        for command in [["publish"], ["publish", "--dry-run"], ["feeds", "list"], ["feeds", "preview"]] {
            let outcome = try await BuiltProgram.run(command + options, environment: connection)
            #expect(outcome.status == 78, "\(command): \(outcome.errors)")
            let text = "cannot use '\(scratch.file("publisher.sqlite"))'"
            #expect(outcome.errors.contains(text), "\(command): \(outcome.errors)")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `keys are private files and a rotated key ends the old one after a second rotation`() async throws {
        let scratch = try ScratchFolder()
        let state = scratch.file("hub")
        let hub = try await RunningProgram(["hub", "--port", "0", "--state", state], folder: scratch.path)
        for name in ["full.connection", "listen.connection", "hub.sqlite"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(state)/\(name)")
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
        let first = try String(contentsOfFile: "\(state)/full.connection", encoding: .utf8)
        let rotate = ["hub", "keys", "--state", state, "--rotate", "DefaultFullSharedAccessSignature"]
        #expect(try await BuiltProgram.run(rotate).status == 0)
        #expect(try await send(with: first) == 0)
        #expect(try await BuiltProgram.run(rotate).status == 0)
        let second = try String(contentsOfFile: "\(state)/full.connection", encoding: .utf8)
        #expect(first != second)
        #expect(try await send(with: second) == 0)
        #expect(try await send(with: first) == 78)
        let unknown = try await BuiltProgram.run(["hub", "keys", "--state", state, "--rotate", "Nobody"])
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("DefaultListenSharedAccessSignature"))
        await hub.stop()
    }

    @Test(.timeLimit(.minutes(10)))
    func `an agent that discovered its hub starts with the hub's newest key`() async throws {
        let scratch = try ScratchFolder()
        let environment = ["XDG_STATE_HOME": scratch.path]
        let hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        for arguments in [["subscribe", "--categories", "World"], ["subscribe"]] {
            let agent = try await RunningProgram(arguments, environment: environment, folder: scratch.path)
            #expect(agent.isRunning, "\(agent.errors)")
            let status = await agent.stop()
            #expect(status == 0, "\(agent.errors)")
            for _ in 0..<2 {
                let rotate = ["hub", "keys", "--rotate", "DefaultListenSharedAccessSignature"]
                #expect(try await BuiltProgram.run(rotate, environment: environment).status == 0)
            }
        }
        let listed = try await BuiltProgram.run(["categories"], environment: environment)
        #expect(listed.output.contains("* World"), "\(listed.errors)")
        await hub.stop()
    }

    private func send(with connection: String) async throws -> Int32 {
        try await BuiltProgram.run(
            ["send", "--message", "x"],
            environment: ["NEWSWIRE_CONNECTION_STRING": connection.trimmingCharacters(in: .whitespacesAndNewlines)]
        ).status
    }

    @Test(.timeLimit(.minutes(10)))
    func `a second subscriber changes the choice or says that one is running`() async throws {
        let scratch = try ScratchFolder()
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--state", scratch.file("hub")],
            folder: scratch.path
        )
        let environment = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")]
        let subscribe = ["subscribe", "--state", scratch.file("agent")]
        let agent = try await RunningProgram(
            subscribe + ["--categories", "World"],
            environment: environment,
            folder: scratch.path
        )
        let again = try await BuiltProgram.run(subscribe, environment: environment)
        #expect(again.status == 75)
        let change = try await BuiltProgram.run(subscribe + ["--categories", "Sports"], environment: environment)
        #expect(change.status == 0)
        #expect(change.errors.contains("Sports"))
        let wrong = try await BuiltProgram.run(subscribe + ["--categories", "Sprots"], environment: environment)
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("did you mean 'Sports'"))
        let listed = try await BuiltProgram.run(["categories", "--state", scratch.file("agent")])
        #expect(listed.output.contains("* Sports"))
        #expect(listed.output.contains("  World"))
        #expect(await agent.stop() == 0)
        #expect(await hub.stop() == 0)
    }
}
