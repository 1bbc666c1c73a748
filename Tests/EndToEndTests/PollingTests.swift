import Foundation
import HubTestServer
import Testing

@Suite struct PollingTests {
    @Test func `a feed is asked for through the environment's proxy, by a user agent that names the contact`()
        async throws
    {
        let feed =
            "<rss version='2.0'><channel><title>t</title><item><guid>1</guid><title>One</title></item></channel></rss>"
        let proxy = try ScriptedHTTPServer { _ in .status(200, headers: [("Content-Type", "text/xml")], body: feed) }
        let folder = FileManager.default.temporaryDirectory.appending(component: "newswire-polling-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let outcome = try await BuiltProgram.run(
            ["feeds", "preview", "http://feeds.example/world.rss", "--announce-existing", "1"],
            environment: [
                "http_proxy": proxy.baseURL, "NEWSWIRE_PUBLISHER_CONTACT": "desk@example.org", "XDG_STATE_HOME": folder,
                "XDG_CONFIG_HOME": folder,
            ]
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("One: sent to Trial"), "\(outcome.output)")
        let request = try #require(proxy.requests.first)
        #expect(request.target == "http://feeds.example/world.rss")
        let agent = try #require(request.header("User-Agent"))
        #expect(agent.hasPrefix("newswire/") && agent.hasSuffix(" (+desk@example.org)"))
        _ = try await BuiltProgram.run(
            ["feeds", "preview", "http://feeds.example/other.rss"],
            environment: ["http_proxy": proxy.baseURL, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder]
        )
        let anonymous = try #require(proxy.requests.last?.header("User-Agent"))
        #expect(anonymous.hasPrefix("newswire/") && !anonymous.contains("("))
    }
}
