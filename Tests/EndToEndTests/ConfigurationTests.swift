import Foundation
import Testing

/// One file, the environment and flags, as an operator meets them.
@Suite struct ConfigurationTests {
    private static let canary = "Q0FOQVJZLXNlY3JldA=="
    private static let connection = "Endpoint=http://127.0.0.1:1/;SharedAccessKeyName=x;SharedAccessKey=\(canary)"

    private func environment(_ scratch: ScratchFolder) -> [String: String] {
        ["XDG_STATE_HOME": scratch.file("state"), "NEWSWIRE_CONFIG": scratch.file("newswire.yaml")]
    }

    /// Names, sizes and times of everything in a folder; of SQLite's shared memory, which holds locks, the name.
    private func inventory(_ folder: String) throws -> [String] {
        let manager = FileManager.default
        let names = manager.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return try names.sorted().map { name in
            let facts = try manager.attributesOfItem(atPath: "\(folder)/\(name)")
            if name.hasSuffix("-shm") { return name }
            return "\(name) \(facts[.size] ?? "") \(facts[.modificationDate] ?? "")"
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `check finds everything at once, changes nothing and shows no secret`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write(Self.connection + "\n", to: "open.connection")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scratch.file("open.connection"))
        for folder in ["feeds", "state/newswire/hub", "state/newswire/agent/me"] {
            try FileManager.default.createDirectory(atPath: scratch.file(folder), withIntermediateDirectories: true)
        }
        try scratch.write("category: World\nfeeds:\n  - ulr: x\n", to: "feeds/world.yaml")
        try scratch.write("this is no database", to: "state/newswire/hub/hub.sqlite")
        try scratch.write("nor is this", to: "state/newswire/agent/me/agent.sqlite")
        try scratch.write("nor is this a certificate", to: "chain.pem")
        try scratch.write(
            """
            hub: {listen: 0.0.0.0, prot: 1, tls-certificate: chain.pem, tls-key: key.pem, host-names: [hub.example]}
            publisher: {feeds: feeds, connection-file: open.connection, ca-file: chain.pem}
            agent: {connection-file: missing.connection, exec: ./missing}
            """,
            to: "newswire.yaml"
        )
        let before = try inventory(scratch.path)
        let outcome = try await BuiltProgram.run(["check"], environment: environment(scratch))
        #expect(outcome.status == 78)
        #expect(outcome.output.isEmpty)
        for part in [
            "unknown key 'prot': did you mean 'port'?", "chain.pem': there is no certificate in it", "hub.sqlite': ",
            "world.yaml' line 3: unknown key 'ulr'", "its mode is 644", "missing.connection': no such file",
            "missing' cannot be run", "me/agent.sqlite': ",
        ] {
            #expect(outcome.errors.contains(part), "\(part)\n\(outcome.errors)")
        }
        #expect(!outcome.errors.contains(Self.canary))
        #expect(outcome.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("newswire: error: ") })
        #expect(try inventory(scratch.path) == before)
        let publisher = try await BuiltProgram.run(["check", "publisher"], environment: environment(scratch))
        #expect(!publisher.errors.contains("hub.sqlite"))
        #expect(publisher.errors.contains("world.yaml"))
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ("host-names: [hub.example]", "'host-names' has names"),
            ("public-address: \"https://hub.example\"", "'public-address' is an address"),
            ("host-names: [localhost], public-address: \"https://hub.example\"", "'public-address' is an address"),
            ("public-address: \"https://hub.example\", listen: localhost", "'public-address' is an address"),
            ("host-names: [hub.example], trusted-proxies: [127.0.0.1]", nil),
            ("public-address: \"https://hub.example\", trusted-proxies: [127.0.0.1]", nil),
            // A router, or programs of this machine only.
            ("public-address: \"https://hub.example\", listen: 0.0.0.0", nil),
            ("public-address: \"https://localhost:8443\"", nil),
        ]
    )
    func `check warns of a hub behind a proxy that it does not know`(settings: String, sign: String?) async throws {
        let scratch = try ScratchFolder()
        try scratch.write("hub: {state: hub, \(settings)}\n", to: "newswire.yaml")
        let outcome = try await BuiltProgram.run(["check", "hub"], environment: environment(scratch))
        #expect(outcome.status == 0, "\(outcome.errors)")
        let warning = sign.map { "newswire: warning: \($0) for other machines, 'listen' is a loopback address" }
        #expect(outcome.errors.contains(warning ?? "is a loopback address") == (sign != nil), "\(outcome.errors)")
    }

    @Test(.timeLimit(.minutes(10)), arguments: [("", true), (", public-address: https://hub.example", false)])
    func `check warns of a proxy whose address the hub does not know`(setting: String, isWarned: Bool) async throws {
        let scratch = try ScratchFolder()
        let text = "hub: {state: hub, host-names: [hub.example], trusted-proxies: [127.0.0.1]\(setting)}\n"
        try scratch.write(text, to: "newswire.yaml")
        let outcome = try await BuiltProgram.run(["check", "hub"], environment: environment(scratch))
        #expect(outcome.status == 0, "\(outcome.errors)")
        let warning = "newswire: warning: 'trusted-proxies' is set and 'public-address' is not"
        #expect(outcome.errors.contains(warning) == isWarned, "\(outcome.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `what a hub has made is in order, running or stopped`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write("hub: {port: 0, name: desk, state: hub}\n", to: "newswire.yaml")
        let hub = try await RunningProgram(["hub"], environment: environment(scratch), folder: scratch.path)
        let running = try await BuiltProgram.run(["check"], environment: environment(scratch))
        #expect(running.status == 0, "\(running.errors)")
        #expect(running.errors.isEmpty && running.output.isEmpty)
        // The file says where the hub is and what it is called.
        let sent = try await BuiltProgram.run(
            ["send", "--message", "x", "--hub", "desk"],
            environment: environment(scratch)
        )
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(await hub.stop() == 0)
        let before = try inventory(scratch.file("hub"))
        let stopped = try await BuiltProgram.run(["check"], environment: environment(scratch))
        #expect(stopped.status == 0, "\(stopped.errors)")
        #expect(try inventory(scratch.file("hub")) == before)
    }

    @Test func `a publisher without a contact is asked for one, and sends none of its own`() async throws {
        let scratch = try ScratchFolder()
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        try scratch.write("category: World\nfeeds: []\n", to: "feeds/w.yaml")
        let check = ["check", "publisher", "--feeds", scratch.file("feeds")]
        let without = try await BuiltProgram.run(check, environment: ["XDG_STATE_HOME": scratch.path])
        #expect(without.status == 0 && without.errors.contains("hint: set 'contact'"), "\(without.errors)")
        let with = try await BuiltProgram.run(
            check,
            environment: ["XDG_STATE_HOME": scratch.path, "NEWSWIRE_PUBLISHER_CONTACT": "me@example.org"]
        )
        #expect(with.status == 0 && with.errors.isEmpty, "\(with.errors)")
    }

    @Test func `check reports files of feeds' keys that cannot be used, and secrets that others can read`() async throws
    {
        let scratch = try ScratchFolder()
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        let list = """
            category: World
            feeds:
              - {url: "https://a.example/", headers-file: none, authority-file: /dev/null}
              - {url: "https://b.example/", headers-file: ../bad}
              - {url: "https://c.example/", headers-file: ../good, authority-file: ../good}
            """
        try scratch.write(list, to: "feeds/w.yaml")
        try scratch.write("X-A: \(Self.canary)\nHost: x\n", to: "bad")
        try scratch.write("X-A: \(Self.canary)\n", to: "good")
        chmod(scratch.file("good"), 0o644)
        let check = ["check", "publisher", "--feeds", scratch.file("feeds")]
        let outcome = try await BuiltProgram.run(check, environment: ["XDG_STATE_HOME": scratch.path])
        #expect(outcome.status == 78)
        for part in [
            "w.yaml' line 3: feed 'https://a.example/': 'headers-file': cannot", "'authority-file': ",
            "line 4: feed 'https://b.example/': 'headers-file': ", "line 2: the header 'Host' is set by newswire",
            "good': there is no certificate in it", "good' holds a key and its mode is 644",
        ] {
            #expect(outcome.errors.contains(part), "\(part)\n\(outcome.errors)")
        }
        #expect(!outcome.errors.contains(Self.canary))
    }

    @Test func `check refuses a property that no message has, and a publisher does what it can`() async throws {
        let scratch = try ScratchFolder()
        let sample = "file://\(BuiltProgram.repository)/feeds/samples/world.rss"
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        try scratch.write(
            "category: World\ntemplate: $(titel)\nfeeds:\n  - {url: '\(sample)', local: true}\n  - url: http://10.0.0.1/\n",
            to: "feeds/w.yaml"
        )
        let state = ["XDG_STATE_HOME": scratch.path]
        let feeds = ["--feeds", scratch.file("feeds")]
        let check = try await BuiltProgram.run(["check", "publisher"] + feeds, environment: state)
        #expect(check.status == 78)
        #expect(check.errors.contains("no property 'titel': did you mean 'title'?"), "\(check.errors)")
        #expect(check.errors.contains("feed of '10.0.0.1' is in your own network, which needs 'local: true'"))
        let list = try await BuiltProgram.run(["feeds", "list"] + feeds, environment: state)
        #expect(list.status == 0, "\(list.errors)")
    }

    @Test func `every program refuses a wrong file, and says all that is wrong`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write("hub: {port: x, drain: y}\n", to: "newswire.yaml")
        for arguments in [
            ["hub"], ["hub", "keys"], ["hub", "backup", "x"], ["hub", "restore", "x"], ["publish"],
            ["send", "--message", "x"], ["subscribe"], ["categories"], ["feeds", "list"], ["feeds", "preview"],
        ] {
            let outcome = try await BuiltProgram.run(arguments, environment: environment(scratch))
            #expect(outcome.status == 78, "\(arguments)")
            #expect(outcome.errors.contains("'port' 'x'") && outcome.errors.contains("'drain' 'y'"), "\(arguments)")
        }
    }

    @Test func `a handler may run the program, and a mistyped variable is refused`() async throws {
        let scratch = try ScratchFolder()
        let state = ["XDG_STATE_HOME": scratch.path]
        let found = ["NEWSWIRE_ID": "m1", "NEWSWIRE_GAP": "1", "NEWSWIRE_BODY": "{}", "NEWSWIRE_SUBSCRIBE": "--json"]
        let handler = try await BuiltProgram.run(["inbox"], environment: state.merging(found) { $1 })
        #expect(handler.status == 0, "\(handler.errors)")
        let wrong = state.merging(["NEWSWIRE_CONECTION_STRING": Self.connection]) { $1 }
        for arguments in [["send", "--message", "x"], ["check"]] {
            let outcome = try await BuiltProgram.run(arguments, environment: wrong)
            #expect(outcome.status == 78)
            #expect(outcome.errors.contains("did you mean NEWSWIRE_CONNECTION_STRING?"), "\(outcome.errors)")
            #expect(!outcome.errors.contains(Self.canary))
        }
    }

    @Test func `a connection string instead of a path is refused and not shown`() async throws {
        let scratch = try ScratchFolder()
        let flag = try await BuiltProgram.run(
            ["send", "--message", "x", "--connection-file", Self.connection],
            environment: ["XDG_STATE_HOME": scratch.path]
        )
        #expect(flag.status == 78 || flag.status == 64)
        #expect(!flag.errors.contains(Self.canary), "\(flag.errors)")
        let variable = try await BuiltProgram.run(
            ["send", "--message", "x"],
            environment: ["XDG_STATE_HOME": scratch.path, "NEWSWIRE_CONNECTION_FILE": Self.connection]
        )
        #expect(variable.status == 78)
        #expect(!variable.errors.contains(Self.canary))
    }

    @Test(.timeLimit(.minutes(10)))
    func `preview, dry run and list show reasons, in lines and in JSON, and make nothing`() async throws {
        let scratch = try ScratchFolder()
        let sample = "file://\(BuiltProgram.repository)/feeds/samples/world.rss"
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        try scratch.write("category: World\nfeeds:\n  - url: \(sample)\n    local: true\n", to: "feeds/w.yaml")
        try scratch.write("publisher: {feeds: feeds, cap: 2}\n", to: "newswire.yaml")
        let preview = try await BuiltProgram.run(["feeds", "preview"], environment: environment(scratch))
        #expect(preview.status == 0, "\(preview.errors)")
        #expect(preview.output.contains("not sent: first reading"))
        let dryRun = try await BuiltProgram.run(
            ["publish", "--dry-run", "--announce-existing", "3"],
            environment: environment(scratch)
        )
        #expect(dryRun.status == 0, "\(dryRun.errors)")
        #expect(dryRun.output.contains("in a digest: over the cap of 2"))
        #expect(dryRun.output.contains("send  World: Breaking World News : "))
        let json = try await BuiltProgram.run(["feeds", "preview", "--json"], environment: environment(scratch))
        #expect(json.output.contains("\"reason\":\"firstReading\""))
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(json.output.utf8)) }
        let list = try await BuiltProgram.run(["feeds", "list", "--json"], environment: environment(scratch))
        #expect(list.output.contains("\"state\":\"new\""))
        #expect(!FileManager.default.fileExists(atPath: scratch.file("state")))
        let wrong = try await BuiltProgram.run(
            ["feeds", "list", "--category", "Wrold"],
            environment: environment(scratch)
        )
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("did you mean 'World'"))
    }

    @Test(.timeLimit(.minutes(10)))
    func `a pass with nothing new prints nothing`() async throws {
        let scratch = try ScratchFolder()
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        let sample = "file://\(BuiltProgram.repository)/feeds/samples/world.rss"
        try scratch.write("category: World\nfeeds:\n  - url: \(sample)\n    local: true\n", to: "feeds/w.yaml")
        try scratch.write("publisher: {feeds: feeds}\nhub: {port: 0}\n", to: "newswire.yaml")
        let hub = try await RunningProgram(["hub"], environment: environment(scratch), folder: scratch.path)
        for flags in [[], [], ["--force"]] {
            let pass = try await BuiltProgram.run(["publish"] + flags, environment: environment(scratch))
            #expect(pass.status == 0, "\(pass.errors)")
            #expect(pass.output.isEmpty && pass.errors.isEmpty, "\(pass.output)\(pass.errors)")
        }
        await hub.stop()
    }
}
