import Foundation
import HubClient
import HubProtocol
import OutboundHTTP
import Testing

/// An operator looks at what is registered.
@Suite struct RegistrationsTests {
    @Test(.timeLimit(.minutes(10)))
    func `registrations are listed page by page, by tag and by handle, and shown`() async throws {
        let scratch = try ScratchFolder()
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--state", scratch.file("hub"), "--maximum-expression-tags", "1"]
                + ["--maximum-alternatives", "2"],
            folder: scratch.path
        )
        let environment = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        func run(_ arguments: [String]) async throws -> BuiltProgram.Outcome {
            try await BuiltProgram.run(["registrations"] + arguments, environment: environment)
        }
        let none = try await run(["list"])
        #expect(none.status == 0 && none.output.isEmpty, "\(none.errors)")
        try await register(60, at: scratch.file("hub/full.connection"))

        let all = try await run(["list"])
        #expect(all.status == 0, "\(all.errors)")
        let lines = all.output.split(separator: "\n")
        #expect(Set(lines).count == 122, "two pages")
        #expect(lines.count { $0.contains("  apns  template 'alert'  ") } == 60)
        #expect(try await run(["list", "--limit", "101"]).output.split(separator: "\n").count == 101)
        #expect(try await run(["list", "--tag", "even"]).output.split(separator: "\n").count == 60)

        let handle = Self.handle(7)
        let found = try await run(["list", "--device", handle.lowercased()]).output.split(separator: "\n")
        #expect(found.count == 2 && found.allSatisfy { $0.contains("  \(handle.prefix(16))…  ") }, "\(found)")
        let json = try await run(["list", "--device", handle, "--json"]).output.split(separator: "\n")
        #expect(json.count == 2 && json.allSatisfy { $0.contains(#""pushChannel":"\#(handle)""#) }, "\(json)")

        let id = String(try #require(found.first { $0.contains("alert") }).prefix { $0 != " " })
        let shown = try await run(["show", id])
        for line in [
            "id        \(id)", "kind      template 'alert'", "handle    \(handle)",
            #"template  {"aps":{"alert":"$(title)"}}"#,
        ] {
            #expect(shown.output.contains("\(line)\n"), "\(shown.output)\(shown.errors)")
        }
        #expect(try await run(["show", id, "--json"]).output == "\(try #require(json.first { $0.contains(id) }))\n")

        #expect(try await run(["list", "--device", "phone-7"]).output.split(separator: "\n") == found)
        let desk = try await run(["list", "--tag", "desk"]).output.split(separator: "\n")
        let toast = try #require(
            desk.first {
                $0.hasSuffix("  wns  template 'toast'  …/?token=desk%2F1  $InstallationId:{desk}, desk, toast")
            },
            "\(desk)"
        )
        let full = try await run(["show", String(toast.prefix { $0 != " " })]).output
        for line in ["header    X-WNS-Type: wns/toast", "variable  name: a[2Jb"] {
            #expect(full.contains("\(line)\n"), "\(full)")
        }

        try await registerAgent("kitchen", at: scratch.file("hub/full.connection"))
        let agent: Substring = "kitchen  stream  installation  World"
        for arguments in [["list"], ["list", "--tag", "World"], ["list", "--device", "kitchen"]] {
            let lines = try await run(arguments).output.split(separator: "\n")
            #expect(lines.last == agent && lines.count { $0 == agent } == 1, "\(lines)")
        }
        let agentJSON = try await run(["list", "--tag", "World", "--json"]).output
        #expect(agentJSON.contains(#""installationId":"kitchen""#) && agentJSON.contains(#""platform":"stream""#))
        #expect(try await run(["list", "--limit", "122"]).output.contains("kitchen") == false)

        let unknown = try await run(["show", "1-2-3"])
        #expect(unknown.status == 1 && unknown.errors.contains("Registration not found"), "\(unknown.errors)")
        for wrong in [["show", "x"], ["list", "--limit", "0"], ["list", "--tag", "a b"], ["list", "--device", ""]] {
            #expect(try await run(wrong).status == 64, "\(wrong)")
        }
        let listen = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")]
        let refused = try await BuiltProgram.run(["registrations", "list"], environment: listen)
        #expect(refused.status == 78 && refused.errors.contains("Manage claim is required"), "\(refused.errors)")
        for (tags, allowed) in [("a && b", "1 are allowed"), ("a || b || c", "2 are allowed")] {
            let send = ["send", "--tags", tags, "--message", "x"]
            let tooMany = try await BuiltProgram.run(send, environment: environment)
            #expect(tooMany.status != 0 && tooMany.errors.contains(allowed), "\(tooMany.errors)")
        }
        #expect(await hub.stop() == 0)
    }

    private static func handle(_ number: Int) -> String {
        let digits = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// Registers an agent, after the phones.
    private func registerAgent(_ id: String, at file: String) async throws {
        let text = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = try HubClient(connection: ConnectionString(parsing: text), hub: HubName("news"), http: http)
        try await client.put(
            Installation(
                id: try InstallationID(id),
                platform: .stream,
                pushChannel: .handle(PushChannelSecret.random().text),
                tags: [try Tag("World")]
            )
        )
        await http.shutdown()
    }

    /// Each has its own channel and one template.
    private func register(_ phones: Int, at file: String) async throws {
        let text = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = try HubClient(connection: ConnectionString(parsing: text), hub: HubName("news"), http: http)
        for number in 0..<phones {
            try await client.put(
                Installation(
                    id: try InstallationID("phone-\(number)"),
                    platform: .apns,
                    pushChannel: .handle(Self.handle(number)),
                    tags: [try Tag(number.isMultiple(of: 2) ? "even" : "odd")],
                    templates: ["alert": InstallationTemplate(body: #"{"aps":{"alert":"$(title)"}}"#)]
                )
            )
        }
        try await client.put(
            Installation(
                id: try InstallationID("desk"),
                platform: .wns,
                pushChannel: .handle("https://wns.example/?token=desk%2F1"),
                tags: [try Tag("desk")],
                pushVariables: ["name": "a\u{1B}[2Jb"],
                templates: ["toast": InstallationTemplate(body: "<toast/>", headers: ["X-WNS-Type": "wns/toast"])]
            )
        )
        await http.shutdown()
    }
}
