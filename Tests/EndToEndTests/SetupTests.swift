import Foundation
import HostSystem
import HubTestServer
import Testing

/// 'newswire setup' with a configuration of its own, so that no test changes this machine.
@Suite struct SetupTests {
    private struct Stage {
        let scratch: ScratchFolder
        var file: String { scratch.file("conf/newswire.yaml") }
        var text: String { (try? String(contentsOfFile: file, encoding: .utf8)) ?? "" }
        var lists: [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: scratch.file("conf/feeds"))) ?? []).sorted()
        }

        init(_ text: String? = nil, lists: [String] = ["World", "Sports"]) throws {
            scratch = try ScratchFolder()
            try FileManager.default.createDirectory(
                atPath: scratch.file("conf/feeds"),
                withIntermediateDirectories: true
            )
            if let text { try scratch.write(text, to: "conf/newswire.yaml") }
            for name in lists {
                try scratch.write(
                    "category: \(name)\nfeeds:\n  - url: https://\(name).example.org/f\n",
                    to: "conf/feeds/\(name.lowercased()).yaml"
                )
            }
        }

        func setUp(_ arguments: [String]) async throws -> BuiltProgram.Outcome {
            try await BuiltProgram.run(["setup", "--config", file] + arguments)
        }

        /// Runs it on a terminal of its own, which shows and takes these lines.
        func setUp(typing lines: [String]) async throws -> ChildProcess.Outcome {
            let command = "\(BuiltProgram.path) setup --config \(file)"
            var child = ChildProcess(
                arguments: ["script", "--quiet", "--return", "--command", command, "/dev/null"],
                environment: BuiltProgram.base,
                timeout: WaitLimit.duration
            )
            child.input = lines.map { $0 + "\n" }.joined()
            return try await child.run()
        }
    }

    @Test func `flags answer the questions, and a second run changes nothing`() async throws {
        let stage = try Stage()
        let arguments = [
            "--host-name", "News.example.org", "--certificate", "proxy", "--pages", "public", "--push-contact",
            "ops@example.org", "--categories", "sports",
        ]
        let trial = try await stage.setUp(arguments + ["--dry-run"])
        #expect(trial.status == 0 && stage.text.isEmpty && stage.lists == ["sports.yaml", "world.yaml"], "\(trial)")
        #expect(trial.errors.contains("would set pages: public (was not set)"))
        let first = try await stage.setUp(arguments)
        #expect(first.status == 0, "\(first)")
        #expect(
            stage.text == """
                hub:
                  host-names: ["news.example.org"]
                  trusted-proxies: ["127.0.0.1", "::1"]
                  public-address: https://news.example.org
                  pages: public
                  push-contact: mailto:ops@example.org

                """
        )
        #expect(stage.lists == ["sports.yaml", "world.yaml.off"])
        #expect(first.output.contains("https://news.example.org/-/news/"))
        #expect(first.output.contains("newswire hub --config "))
        #expect(try await BuiltProgram.run(["check", "hub", "--config", stage.file]).status == 0)
        let second = try await stage.setUp(arguments)
        #expect(second.status == 0 && second.errors.contains("nothing is to be changed"), "\(second)")
        #expect(!second.errors.contains("set "))
        let back = try await stage.setUp([
            "--host-name", "none", "--push-contact", "none", "--categories", "World,Sports",
        ])
        #expect(back.status == 0 && stage.text == "hub:\n  pages: public\n", "\(back)\n\(stage.text)")
        #expect(stage.lists == ["sports.yaml", "world.yaml"])
    }

    @Test(arguments: [
        // A hub behind a proxy that an earlier version has set up.
        (
            "hub:\n  host-names: [news.example.org]\n  trusted-proxies: [127.0.0.1]\n", ["--pages", "public"],
            "  public-address: https://news.example.org\n", "https://news.example.org/-/news/"
        ),
        // The port of the operator's proxy stays.
        (
            "hub:\n  trusted-proxies: [127.0.0.1]\n  public-address: https://news.example.org:8443\n",
            ["--host-name", "town.example.org", "--pages", "public"],
            "  public-address: https://town.example.org:8443\n", "https://town.example.org:8443/-/news/"
        ),
        // The proxy is given up.
        (
            "hub:\n  host-names: [news.example.org]\n  trusted-proxies: [\"127.0.0.1\", \"::1\"]\n  public-address: https://news.example.org\n",
            ["--certificate", "own", "--pages", "public"], nil, "https://news.example.org:8787/-/news/"
        ),
        // A router leads another port to the hub's.
        (
            "hub:\n  listen: 0.0.0.0\n  public-address: https://news.example.org\n", ["--pages", "public"],
            "  public-address: https://news.example.org\n", "https://news.example.org/-/news/"
        ),
    ])
    func `the public address follows the answers`(text: String, flags: [String], line: String?, shown: String)
        async throws
    {
        let stage = try Stage(text)
        let outcome = try await stage.setUp(flags)
        #expect(outcome.status == 0 && outcome.output.contains(" \(shown)\n"), "\(outcome)")
        #expect(
            stage.text.contains(line ?? "hub:") && stage.text.contains("public-address") == (line != nil),
            "\(stage.text)"
        )
        let again = try await stage.setUp(flags)
        #expect(again.status == 0 && again.errors.contains("nothing is to be changed"), "\(again)")
    }

    @Test(arguments: [
        ("hub:\n  public-address: https://news.example.org\n", ["--certificate", "proxy"], true),
        (
            "hub:\n  host-names: [hub.example.org]\n  public-address: https://news.example.org\n",
            ["--pages", "public"], true
        ),
        // A router, and no proxy.
        ("hub:\n  listen: 0.0.0.0\n  public-address: https://news.example.org\n", ["--pages", "public"], false),
        ("hub:\n  host-names: [hub.example.org]\n", ["--pages", "public"], false),
    ])
    func `a proxy of which the file has the address alone becomes a trusted one`(
        text: String,
        flags: [String],
        isProxy: Bool
    ) async throws {
        let stage = try Stage(text)
        for round in 0..<2 {
            let outcome = try await stage.setUp(flags)
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.errors.contains("nothing is to be changed") == (round == 1), "\(outcome)")
        }
        let trusted = "  trusted-proxies: [\"127.0.0.1\", \"::1\"]\n"
        #expect(stage.text.contains(trusted) == isProxy, "\(stage.text)")
        let others = stage.text.replacing(trusted, with: "").replacing("  pages: public\n", with: "")
        #expect(others == text, "all else stays")
    }

    @Test(arguments: ["flag", "variable"])
    func `the printed commands name a file that they would not find`(place: String) async throws {
        let stage = try Stage()
        let outcome = try await BuiltProgram.run(
            ["setup", "--host-name", "news.example.org", "--certificate", "own", "--pages", "invited"]
                + (place == "flag" ? ["--config", stage.file] : []),
            environment: place == "flag" ? [:] : ["NEWSWIRE_CONFIG": stage.file]
        )
        #expect(outcome.status == 0, "\(outcome)")
        for command in [
            "newswire hub", "newswire publish --watch --feeds \(stage.scratch.file("conf/feeds"))",
            "newswire hub invite",
            "newswire hub keys", "newswire hub certificate", "newswire hub invite --operator",
        ] {
            let line = " \(command) --config \(stage.file)\n"
            #expect(outcome.output.contains(line), "\(line)\(outcome.output)")
        }
    }

    @Test func `what the operator has written stays`() async throws {
        let text = """
            # Ours.
            hub:
              listen: 192.0.2.1   # the inner network
              host-names:
                - hub.example.org
                - 192.0.2.1
              drain: 1s
            publisher: {cap: 3}

            """
        let stage = try Stage(text)
        let outcome = try await stage.setUp(["--host-name", "hub.example.org", "--pages", "off"])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(stage.text == text.replacing("  drain: 1s\n", with: "  drain: 1s\n  pages: off\n"))
        #expect(!outcome.output.contains("-/news/"))
    }

    @Test(arguments: [
        (["--host-name", "a b"], 64, "'a b' is not a host name"), (["--host-name", "localhost"], 64, "alone"),
        (["--certificate", "mine"], 64, "'own', 'proxy'"),
        (["--certificate", "proxy"], 64, "needs --host-name"),
        (["--host-name", "a.example.org", "--certificate", "/none/c.pem /none/k.pem"], 78, "/none/c.pem"),
        (["--pages", "all"], 64, "'public', 'invited' or 'off'"),
        (["--push-contact", "ops@localhost"], 64, "ops@localhost"),
        (["--categories", "Moon"], 64, "there are Sports, World"),
        (["--categories", "/none/feeds.opml"], 64, "no such file"),
        ([], 64, "no terminal"),
    ])
    func `an answer that cannot be used changes nothing`(arguments: [String], status: Int32, text: String) async throws
    {
        let stage = try Stage("hub:\n  port: 1\n")
        let good = arguments.isEmpty ? [] : ["--no-operator-link"]
        let outcome = try await stage.setUp(arguments + good)
        #expect(outcome.status == status && outcome.errors.contains(text), "\(outcome)")
        #expect(stage.text == "hub:\n  port: 1\n" && stage.lists == ["sports.yaml", "world.yaml"])
    }

    @Test(arguments: [
        ("hub: {port: 1}\n", 1, "hub: pages: public"), ("hub:\n  prot: 1\n", 78, "did you mean 'port'?"),
    ])
    func `a file that cannot be changed stays, and the reason is named`(text: String, status: Int32, reason: String)
        async throws
    {
        let stage = try Stage(text)
        let outcome = try await stage.setUp(["--pages", "public", "--categories", "World"])
        #expect(outcome.status == status && (outcome.output + outcome.errors).contains(reason), "\(outcome)")
        #expect(stage.text == text && stage.lists == ["sports.yaml", "world.yaml"])
    }

    @Test func `an OPML file adds its feeds`() async throws {
        let stage = try Stage()
        try stage.scratch.write(
            "<opml><body><outline text='Town'><outline xmlUrl='https://town.example.org/f'/></outline></body></opml>",
            to: "town.opml"
        )
        let outcome = try await stage.setUp(["--categories", stage.scratch.file("town.opml")])
        #expect(outcome.status == 0 && outcome.errors.contains("add to Town: https://town.example.org/f"), "\(outcome)")
        #expect(stage.lists == ["sports.yaml", "town.yaml", "world.yaml"])
    }

    @Test(.timeLimit(.minutes(5)))
    func `on a terminal it asks six questions at most, and asks again after a mistake`() async throws {
        let stage = try Stage()
        let outcome = try await stage.setUp(typing: [
            "news.example.org", "nonsense", "proxy", "", "World", "none", "no",
        ])
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)")
        let shown = outcome.standardOutput
        #expect(shown.contains("'nonsense' is not 'own', 'proxy'"))
        #expect(shown.split(separator: "] ").count - 1 <= 8, "\(shown)")
        #expect(stage.text.contains("trusted-proxies") && stage.text.contains("pages: invited"))
        #expect(stage.lists == ["sports.yaml.off", "world.yaml"])
        // Enter takes what is set.
        let before = stage.text
        let again = try await stage.setUp(typing: ["", "", "", "", "", "n"])
        #expect(again.ending == .exited(0) && stage.text == before, "\(again.standardOutput)")
        #expect(again.standardOutput.contains("[news.example.org]"))
        #expect(again.standardOutput.contains("nothing is to be changed"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `a dialogue that is left early changes nothing`() async throws {
        let stage = try Stage()
        let outcome = try await stage.setUp(typing: ["news.example.org", "\u{4}"])
        #expect(outcome.ending == .exited(64), "\(outcome.standardOutput)")
        #expect(stage.text.isEmpty && stage.lists == ["sports.yaml", "world.yaml"])
    }
}
