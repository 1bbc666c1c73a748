import Certificates
import Foundation
import NetworkAddresses
import Testing

/// The hub over TLS, with what its own commands say about it.
@Suite struct TLSTests {
    private struct Rule: Decodable {
        let name: String
        let primaryConnectionString: String
        let localConnectionString: String
    }

    private struct Trust: Decodable {
        struct Shown: Decodable {
            let names: [String]
            let sha256: String
        }

        struct Command: Decodable {
            let client: String
            let lines: [String]
            let errorWithout: String?
        }

        let authorityFile: String
        let authority: Shown
        let certificate: Shown
        let commands: [Command]
    }

    /// What a hub's own commands say, as its operator would carry it to another machine.
    private struct Carried {
        let listen: String
        let full: String
        let authority: String
    }

    private func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> BuiltProgram.Outcome
    {
        try await BuiltProgram.run(arguments, environment: environment)
    }

    private func rules(_ state: [String]) async throws -> [Rule] {
        let shown = try await run(["hub", "keys", "--json"] + state)
        return try JSONDecoder().decode([Rule].self, from: Data(shown.output.utf8))
    }

    private func carry(_ scratch: ScratchFolder, _ state: [String]) async throws -> Carried {
        for rule in try await rules(state) {
            let name = rule.name.contains("Listen") ? "listen" : "full"
            try scratch.write(rule.primaryConnectionString, to: name)
        }
        let pem = try await run(["hub", "certificate", "--pem"] + state)
        #expect(pem.status == 0, "\(pem.errors)")
        #expect(pem.output.hasPrefix("-----BEGIN CERTIFICATE-----\n") && !pem.output.contains("KEY"))
        try scratch.write(pem.output, to: "hub-ca.pem")
        return Carried(
            listen: scratch.file("listen"),
            full: scratch.file("full"),
            authority: scratch.file("hub-ca.pem")
        )
    }

    private func inbox(_ scratch: ScratchFolder, until text: String) async throws -> String {
        var output = ""
        for _ in 0..<500 where !output.contains(text) {
            output = try await run(["inbox", "--state", scratch.file("agent")]).output
        }
        return output
    }

    @Test(.timeLimit(.minutes(10)))
    func `an agent subscribes and receives over TLS, and remembers whom it trusts`() async throws {
        let scratch = try ScratchFolder()
        let state = ["--state", scratch.file("hub")]
        let hub = try await RunningProgram(["hub", "--port", "0"] + state, folder: scratch.path)
        let carried = try await carry(scratch, state)
        let trusting = ["--connection-file", carried.full, "--ca-file", carried.authority]
        let agentState = ["--state", scratch.file("agent")]
        var agent = try await RunningProgram(
            ["subscribe", "--categories", "World", "--json"] + agentState
                + ["--connection-file", carried.listen, "--ca-file", carried.authority],
            folder: scratch.path
        )
        #expect(agent.isRunning, "\(agent.errors)")
        let sent = try await run(["send", "--tags", "World", "--message", "over TLS"] + trusting)
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(try await inbox(scratch, until: "over TLS").contains("over TLS"), "\(agent.errors)")
        #expect(await agent.stop() == 0)
        // As a service starts it: without a word on where the hub is. The files that were carried may be gone.
        for file in [carried.listen, carried.authority] { try FileManager.default.removeItem(atPath: file) }
        agent = try await RunningProgram(["subscribe", "--json"] + agentState, folder: scratch.path)
        let local = try await run(
            ["send", "--tags", "World", "--message", "over plain HTTP"],
            ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        )
        #expect(local.status == 0, "\(local.errors)")
        let all = try await inbox(scratch, until: "over plain HTTP")
        #expect(all.contains("over plain HTTP") && all.contains("over TLS"), "\(agent.errors)")
        #expect(await agent.stop() == 0)
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `feeds are read with the authorities of SSL_CERT_FILE, and without them the line names the cure`() async throws
    {
        let scratch = try ScratchFolder()
        let state = ["--state", scratch.file("hub")]
        let hub = try await RunningProgram(["hub", "--port", "0"] + state, folder: scratch.path)
        let carried = try await carry(scratch, state)
        let endpoint = try String(contentsOfFile: carried.full, encoding: .utf8)
        let port = try #require(endpoint.firstMatch(of: /:([0-9]+)/)?.1)
        let check = ["feeds", "check", "--local", "https://localhost:\(port)/healthz"]
        let refused = try await run(check)
        #expect(refused.status == 1 && refused.errors.contains("cannot trust 'localhost:\(port)'"), "\(refused.errors)")
        #expect(refused.errors.contains("hint: ") && refused.errors.contains("SSL_CERT_FILE"), "\(refused.errors)")
        let trusted = try await run(check, ["SSL_CERT_FILE": carried.authority])
        #expect(trusted.errors.contains("no feed in"), "\(trusted.errors)")
        let broken = try await run(check, ["SSL_CERT_FILE": scratch.file("none.pem")])
        #expect(broken.errors.contains("check the PEM file"), "\(broken.errors)")
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a hub that cannot be trusted is not spoken to, and the line says what to do`() async throws {
        let scratch = try ScratchFolder()
        let state = ["--state", scratch.file("hub")]
        let hub = try await RunningProgram(["hub", "--port", "0"] + state, folder: scratch.path)
        let carried = try await carry(scratch, state)
        let send = ["send", "--message", "x", "--connection-file"]
        let untrusted = try await run(send + [carried.full])
        #expect(untrusted.status == 69)
        for part in ["cannot trust 'localhost:", "--ca-file PATH", "'newswire hub certificate' shows"] {
            #expect(untrusted.errors.contains(part), "\(untrusted.errors)")
        }
        let other = try String(contentsOfFile: carried.full, encoding: .utf8).replacing(
            "localhost",
            with: "a.localhost"
        )
        try scratch.write(other, to: "other")
        let wrongName = try await run(send + [scratch.file("other"), "--ca-file", carried.authority])
        #expect(wrongName.status == 69)
        #expect(wrongName.errors.contains("'host-names'"), "\(wrongName.errors)")
        let noAuthority = try await run(send + [carried.full], ["NEWSWIRE_CA_FILE": carried.full])
        #expect(noAuthority.status == 78)
        #expect(noAuthority.errors.contains("there is no certificate in it"), "\(noAuthority.errors)")
        let trusted = try await run(send + [carried.full], ["NEWSWIRE_CA_FILE": carried.authority])
        #expect(trusted.status == 0, "\(trusted.errors)")
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [["--listen", "0.0.0.0"], []])
    func `a hub that others reach, through a proxy or not, says its name, and its machine finds it without trust`(
        listen: [String]
    ) async throws {
        let scratch = try ScratchFolder()
        let state = ["--state", scratch.file("hub")]
        let port = try freePort()
        let serve = ["hub", "--port", "\(port)", "--host-names", "Hub.Example,192.0.2.7"] + listen
        let hub = try await RunningProgram(serve + state, folder: scratch.path)
        #expect(hub.isRunning, "\(hub.errors)")
        for rule in try await rules(state) {
            #expect(rule.primaryConnectionString.hasPrefix("Endpoint=sb://hub.example:\(port)/;"))
            #expect(rule.localConnectionString.hasPrefix("Endpoint=http://127.0.0.1:\(port)/;"))
        }
        for (flags, endpoint) in [([], "sb://hub.example"), (["--local"], "http://127.0.0.1")] {
            let lines = try await run(["hub", "keys"] + state + flags).output.split(separator: "\n")
            #expect(lines.count == 2 && lines.allSatisfy { $0.contains(": Endpoint=\(endpoint):\(port)/;") })
        }
        let shown = try await run(["hub", "certificate", "--json"] + state)
        let trust = try JSONDecoder().decode(Trust.self, from: Data(shown.output.utf8))
        #expect(trust.authorityFile == scratch.file("hub/ca.pem"))
        #expect(trust.certificate.names == ["hub.example", "192.0.2.7", "localhost", "127.0.0.1", "::1"])
        let clients = [
            "Debian, Ubuntu", "curl", "Java", ".NET", "Node.js", "Python", "httpx", "Go, Ruby, Rust", "newswire",
        ]
        #expect(trust.commands.map(\.client) == clients)
        let text = try await run(["hub", "certificate"] + state).output
        #expect(text.contains("SHA-256 \(trust.authority.sha256)"))
        for line in trust.commands.flatMap(\.lines) { #expect(text.contains("\n\(line)\n"), "\(line)") }
        for client in ["httpx", "Go, Ruby, Rust"] {
            let lines = trust.commands.first { $0.client == client }?.lines ?? []
            #expect(lines.first?.hasPrefix("export SSL_CERT_FILE=\(trust.authorityFile)") == true, "\(client)")
        }
        #expect(text.contains("\n# without it: The SSL connection could not be established"), "\(text)")
        #expect(trust.commands.compactMap(\.errorWithout).count == 1, "of .NET")
        let sent = try await run(
            ["send", "--message", "x"],
            ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        )
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a hub shows a certificate that is given, and check tells what is wrong with it`() async throws {
        let scratch = try ScratchFolder()
        let names = ["hub.example", "localhost"].compactMap { HostName($0) }
        let given = try CertificateAuthority(host: "elsewhere", now: Date())
        let identity = try given.issue(for: names, now: Date())
        try scratch.write(identity.chain, to: "chain.pem")
        try scratch.write(identity.privateKey, to: "key.pem")
        try scratch.write(given.certificateText, to: "elsewhere.pem")
        let environment = ["NEWSWIRE_CONFIG": scratch.file("newswire.yaml")]
        func configure(_ names: String) throws {
            try scratch.write(
                "hub: {port: 0, state: hub, tls-certificate: chain.pem, tls-key: key.pem, host-names: [\(names)]}\n",
                to: "newswire.yaml"
            )
        }
        try configure("hub.example, other.example")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scratch.file("key.pem"))
        let wrong = try await run(["check", "hub"], environment)
        #expect(wrong.status == 78)
        #expect(wrong.errors.contains("is not valid for 'other.example'"), "\(wrong.errors)")
        #expect(wrong.errors.contains("key.pem' holds a key and its mode is 644"), "\(wrong.errors)")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: scratch.file("key.pem"))
        try configure("localhost")
        let right = try await run(["check", "hub"], environment)
        #expect(right.status == 0, "\(right.errors)")

        let hub = try await RunningProgram(["hub"], environment: environment, folder: scratch.path)
        #expect(!FileManager.default.fileExists(atPath: scratch.file("hub/ca.pem")))
        let shown = try await run(["hub", "certificate"], environment)
        #expect(shown.output.contains(scratch.file("chain.pem")) && shown.output.contains(identity.facts.fingerprint))
        let string = try await run(["hub", "keys"], environment).output.split(separator: "\n")
            .first { $0.contains("Full") }
        try scratch.write(String(try #require(string?.split(separator: " ").last)), to: "full")
        let send = ["send", "--message", "x", "--connection-file", scratch.file("full"), "--ca-file"]
        let sent = try await run(send + [scratch.file("elsewhere.pem")])
        #expect(sent.status == 0, "\(sent.errors)")
        // Renewed by another authority: on SIGHUP it is looked at once, and in any case soon.
        let next = try CertificateAuthority(host: "elsewhere", now: Date())
        let renewed = try next.issue(for: names, now: Date())
        try scratch.write(renewed.privateKey, to: "key.pem")
        try scratch.write(renewed.chain, to: "chain.pem")
        try scratch.write(next.certificateText, to: "next.pem")
        hub.signal(SIGHUP)
        var status: Int32 = -1
        for _ in 0..<1_000 where status != 0 {
            status = try await run(send + [scratch.file("next.pem")]).status
        }
        #expect(status == 0, "\(hub.errors)")
        #expect(hub.isRunning)
        #expect(await hub.stop() == 0)
    }
}
