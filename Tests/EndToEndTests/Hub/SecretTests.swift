import Foundation
import HubTestServer
import OutboundHTTP
import Testing

/// Nothing secret is in what operators read, mail and paste.
@Suite struct SecretTests {
    private static let feed = """
        <rss version="2.0"><channel><title>t</title><item><guid>1</guid><title>canary-headline</title></item></channel></rss>
        """

    @Test(.timeLimit(.minutes(10)))
    func `no secret is in logs, errors and metrics, at the finest level`() async throws {
        let scratch = try ScratchFolder()
        let site = try ScriptedHTTPServer { _ in .status(200, body: Self.feed) }
        let port = try freePort()
        let hubState = scratch.file("hub")
        let hub = try await RunningProgram(
            ["hub", "--port", "\(port)", "--state", hubState, "--log-level", "trace"],
            folder: scratch.path
        )
        let environment = ["NEWSWIRE_LOG_LEVEL": "trace", "NEWSWIRE_CONNECTION_FILE": "\(hubState)/full.connection"]
        let subscribe = ["subscribe", "--state", scratch.file("agent"), "--categories", "World"]
        let agent = try await RunningProgram(
            subscribe + ["--exec", "/bin/true"],
            environment: environment,
            folder: scratch.path
        )
        let address = site.url("/feed?token=canary-query").replacing("http://", with: "http://user:canary-password@")
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: false)
        try scratch.write(
            "category: World\nfeeds: [{url: '\(address)', local: true}]\n",
            to: "feeds/world.yaml"
        )
        var said: [String] = []
        for extra in [["--announce-existing", "all"], ["--force"]] {
            let arguments =
                ["publish", "--feeds", scratch.file("feeds"), "--state", scratch.file("publisher")]
                + ["--metrics-file", scratch.file("publisher.prom")] + extra
            let outcome = try await BuiltProgram.run(arguments, environment: environment)
            #expect(outcome.status == 0, "\(outcome.errors)")
            said += [outcome.errors, outcome.output]
        }
        // Until the agent has handled it; each run is a process of its own, which is pause enough.
        var inbox = try await BuiltProgram.run(["inbox", "--state", scratch.file("agent")])
        for _ in 0..<100 where !inbox.output.contains("done  ") {
            inbox = try await BuiltProgram.run(["inbox", "--state", scratch.file("agent")])
        }
        #expect(inbox.output.contains("done  ") && inbox.output.contains("canary-headline"), "\(inbox.output)")
        said.append(inbox.errors)
        said.append(try await BuiltProgram.run(["check"], environment: environment).errors)
        for path in ["news/messages", "news/installations/canary-id", "metrics"] {
            for authorization in ["SharedAccessSignature canary-token", "Bearer canary-token", nil] {
                said.append(try await answer(port, path, authorization))
            }
        }
        said.append(try String(contentsOfFile: scratch.file("publisher.prom"), encoding: .utf8))
        #expect(await agent.stop() == 0)
        #expect(await hub.stop() == 0)
        said += [agent.errors, hub.errors]
        #expect(hub.errors.contains("the hub is ready"), "the log was read")

        var canaries = ["canary-password", "canary-query", "canary-token", "canary-headline"]
        for name in ["full", "listen"] {
            let connection = try String(contentsOfFile: "\(hubState)/\(name).connection", encoding: .utf8)
            let key = try #require(connection.split(separator: "SharedAccessKey=").last)
            canaries.append(key.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        for canary in canaries {
            for text in said { #expect(!text.contains(canary), "'\(canary)' is in: \(text)") }
        }
    }

    /// Everything that the hub answers to a request.
    private func answer(_ port: Int, _ path: String, _ authorization: String?) async throws -> String {
        let client = OutboundClient(userAgent: "tests")
        var request = OutboundRequest(url: "http://127.0.0.1:\(port)/\(path)")
        request.addresses = .any
        if let authorization { request.headers = [(name: "Authorization", value: authorization)] }
        let response = try await client.send(request)
        await client.shutdown()
        return "\(response.headers)" + String(decoding: response.body, as: UTF8.self)
    }
}
