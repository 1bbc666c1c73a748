import Foundation
import Testing

/// Several hubs in one server, as an operator and a developer meet them.
@Suite struct HubsTests {
    private struct Shown: Decodable {
        let hub: String?
        let name: String
        let primaryConnectionString: String
        let secondaryKey: String
    }

    private func keys(_ state: String, _ arguments: [String] = []) async throws -> [Shown] {
        let outcome = try await BuiltProgram.run(["hub", "keys", "--json", "--state", state] + arguments)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return try JSONDecoder().decode([Shown].self, from: Data(outcome.output.utf8))
    }

    @Test(.timeLimit(.minutes(10)))
    func `addresses for other machines are the public address`() async throws {
        let scratch = try ScratchFolder()
        let file = scratch.file("newswire.yaml")
        try scratch.write(
            """
            hub:
              port: 0
              state: hub
              host-names: [inner.example.org]
              trusted-proxies: [127.0.0.1]
              public-address: https://News.example.org:443/
            """,
            to: "newswire.yaml"
        )
        let hub = try await RunningProgram(["hub", "--config", file], folder: scratch.path)
        func run(_ arguments: [String]) async throws -> String {
            let outcome = try await BuiltProgram.run(["hub"] + arguments + ["--config", file])
            #expect(outcome.status == 0, "\(outcome.errors)")
            return outcome.output
        }
        let page = "https://news.example.org/-/news/"
        #expect(try await run(["invite"]).hasPrefix("\(page)enter?code="))
        #expect(try await run(["invite", "--operator"]).hasPrefix("\(page)admin/enter?code="))
        #expect(try await run(["invite", "--feed"]).hasPrefix("\(page)feeds/World.atom?token="))
        let strings = try await run(["keys"]) + run(["create", "orders"])
        let lines = strings.split(separator: "\n")
        #expect(lines.count == 4 && lines.allSatisfy { $0.contains(": Endpoint=sb://news.example.org/;") }, "\(lines)")
        #expect(try await run(["keys", "--help"]).contains("'public-address'"))
        // The proxy has another certificate than the hub.
        #expect(try await run(["certificate"]).contains(/https:\/\/inner\.example\.org:[0-9]+\/healthz/))
        // Programs on this machine call the hub itself.
        #expect(try await run(["list"]) == "news\norders\n")
        #expect(try await run(["keys", "--local"]).contains("Endpoint=http://127.0.0.1:"))
        await hub.stop()
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["nonsense", "sb://a b/", "http://127.0.0.1:1/", ""])
    func `an invitation without an address is not stored`(address: String) async throws {
        let scratch = try ScratchFolder()
        let state = ["--state", scratch.file("hub")]
        let hub = try await RunningProgram(["hub", "--port", "0"] + state, folder: scratch.path)
        await hub.stop()
        try scratch.write("\(address)\n", to: "hub/endpoint")
        for kind in [[], ["--operator"], ["--feed"]] {
            let outcome = try await BuiltProgram.run(["hub", "invite"] + kind + state)
            #expect(outcome.status == 78 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("cannot read the hub's address in '\(scratch.file("hub"))/endpoint'"))
        }
        let list = try await BuiltProgram.run(["hub", "invite", "--list"] + state)
        #expect(list.status == 0 && list.output.isEmpty, "\(list)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `hubs are made, listed, used and deleted from the command line`() async throws {
        let scratch = try ScratchFolder()
        let state = scratch.file("hub")
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--state", state, "--host-names", "hub.example.org"],
            folder: scratch.path
        )
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(state)/namespace.connection")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        func run(_ arguments: [String]) async throws -> BuiltProgram.Outcome {
            try await BuiltProgram.run(["hub"] + arguments + ["--state", state])
        }
        let made = try await run(["create", "orders", "--registration-time-to-live", "90d", "--local"])
        #expect(made.status == 0, "\(made.errors)")
        let lines = try await run(["create", "others"]).output.split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains(": Endpoint=sb://hub.example.org:") }, "\(lines)")
        #expect(try await run(["delete", "others"]).status == 0)
        let named = try await run(["create", "others", "--connection-file", "\(state)/namespace.connection"]).output
        #expect(named.contains(": Endpoint=sb://hub.example.org:") && !named.contains("127.0.0.1"), "\(named)")
        #expect(try await run(["delete", "others"]).status == 0)
        let full = try #require(made.output.split(separator: "\n").last?.split(separator: " ").last)
        try scratch.write("\(full)\n", to: "full")
        let sending = ["send", "--message", "x", "--hub", "orders", "--connection-file", scratch.file("full")]
        #expect(try await BuiltProgram.run(sending).status == 0)
        #expect(try await run(["list"]).output == "news\norders\n")
        let json = try await run(["list", "--json"]).output
        #expect(json.contains(#""name":"orders","registrationTimeToLive":"P90D""#), "\(json)")
        let again = try await run(["create", "ORDERS"])
        #expect(again.status == 64 && again.errors.contains("exists"), "\(again.errors)")
        #expect(try await run(["create", "healthz"]).status == 64)
        #expect(try await run(["create", "x", "--registration-time-to-live", "5h"]).status == 64)

        // Rules of several hubs, and of the namespace.
        #expect(try await keys(state).map(\.hub) == ["news", "news", "orders", "orders"])
        #expect(try await keys(state, ["--hub", "Orders"]).map(\.hub) == ["orders", "orders"])
        let root = try await keys(state, ["--namespace"])
        #expect(root.map(\.name) == ["RootManageSharedAccessKey"] && root[0].hub == nil)
        let rule = "DefaultFullSharedAccessSignature"
        let whose = try await run(["keys", "--rotate", rule])
        #expect(whose.status == 64 && whose.errors.contains("--hub NAME"), "\(whose.errors)")
        let unknown = try await run(["keys", "--hub", "nothing"])
        #expect(unknown.status == 64 && unknown.errors.contains("'news', 'orders'"), "\(unknown.errors)")
        for _ in 0..<2 { #expect(try await run(["keys", "--hub", "orders", "--rotate", rule]).status == 0) }
        #expect(try await BuiltProgram.run(sending).status == 78, "the key is gone")
        let namespace = ["keys", "--namespace", "--rotate", "RootManageSharedAccessKey"]
        for _ in 0..<2 { #expect(try await run(namespace).status == 0) }
        #expect(try await run(["list"]).status == 0, "the file has the new key")

        #expect(try await run(["delete", "orders"]).status == 0)
        #expect(try await run(["delete", "orders"]).status == 64)
        #expect(try await run(["list"]).output == "news\n")
        await hub.stop()
        #expect(try await run(["list"]).status == 69)
    }

    @Test(.timeLimit(.minutes(10)))
    func `what the configuration asks for is there at every start`() async throws {
        let scratch = try ScratchFolder()
        try FileManager.default.createDirectory(atPath: scratch.file("keys"), withIntermediateDirectories: true)
        for (name, key) in [("root", "root-key"), ("one", "key-one"), ("two", "key-two")] {
            try scratch.write("\(key)\n", to: "keys/\(name)")
            let file = scratch.file("keys/\(name)")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        }
        try scratch.write(
            """
            hub: {port: 0, state: hub}
            namespace: {rules: {RootManageSharedAccessKey: {primary-key-file: keys/root}}}
            hubs:
              orders:
                rules:
                  DefaultFullSharedAccessSignature:
                    primary-key-file: keys/one
                    secondary-key-file: $CREDENTIALS_DIRECTORY/two
            """,
            to: "newswire.yaml"
        )
        let environment = [
            "NEWSWIRE_CONFIG": scratch.file("newswire.yaml"), "CREDENTIALS_DIRECTORY": scratch.file("keys"),
        ]
        let check = try await BuiltProgram.run(["check", "hub"], environment: environment)
        #expect(check.status == 0, "\(check.errors)")
        for start in 0..<2 {
            let hub = try await RunningProgram(["hub"], environment: environment, folder: scratch.path)
            #expect(hub.errors.contains("a hub was created from the configuration") == (start == 0))
            for secret in ["root-key", "key-one", "key-two"] { #expect(!hub.errors.contains(secret)) }
            let shown = try await keys(scratch.file("hub"))
            #expect(shown.allSatisfy { $0.hub == "orders" }, "there is no hub that nobody asked for")
            let full = try #require(shown.first { $0.name == "DefaultFullSharedAccessSignature" })
            #expect(full.primaryConnectionString.hasSuffix("SharedAccessKey=key-one") && full.secondaryKey == "key-two")
            let root = try String(contentsOfFile: scratch.file("hub/namespace.connection"), encoding: .utf8)
            #expect(root.hasSuffix("SharedAccessKey=root-key\n"))
            let list = try await BuiltProgram.run(["hub", "list"], environment: environment)
            #expect(list.output == "orders\n", "\(list.errors)")
            let sent = try await BuiltProgram.run(
                ["send", "--message", "x", "--hub", "orders"],
                environment: environment
            )
            #expect(sent.status == 0, "\(sent.errors)")
            let rotate = ["hub", "keys", "--rotate", "DefaultFullSharedAccessSignature"]
            let rotated = try await BuiltProgram.run(rotate, environment: environment)
            #expect(rotated.status == 78 && rotated.errors.contains("are configured"))
            #expect(await hub.stop() == 0)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `unusable keys are reported all at once, by check and by the start`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write("Endpoint=sb://h/;SharedAccessKeyName=a;SharedAccessKey=CANARY\n", to: "string")
        try scratch.write("CANARY;\n", to: "bad")
        try scratch.write("fine\n", to: "open")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scratch.file("open"))
        try scratch.write(
            """
            hub: {port: 0, state: hub}
            hubs:
              orders:
                rules:
                  A: {rights: [Send], primary-key-file: missing}
                  B: {rights: [Send], primary-key-file: string}
                  C: {rights: [Send], primary-key-file: bad}
                  D: {rights: [Send], primary-key-file: open, secondary-key-file: $CREDENTIALS_DIRECTORY/d}
            """,
            to: "newswire.yaml"
        )
        let environment = ["NEWSWIRE_CONFIG": scratch.file("newswire.yaml")]
        for command in [["check", "hub"], ["hub"]] {
            let outcome = try await BuiltProgram.run(command, environment: environment)
            #expect(outcome.status == 78, "\(command)")
            for part in [
                "line 5: rule 'A': ", "missing': no such file", "line 6: rule 'B': ", "put only its key there",
                "line 7: rule 'C': the key in", "line 8: rule 'D': '$CREDENTIALS_DIRECTORY/d' needs a unit",
            ] {
                #expect(outcome.errors.contains(part), "\(command) \(part)\n\(outcome.errors)")
            }
            #expect(!outcome.errors.contains("CANARY"))
            #expect(outcome.errors.contains("its mode is 644") == (command[0] == "check"))
        }
    }
}
