import Foundation
import HubProtocol
import Testing

/// What a publisher reads comes out of the hub as feeds, and the hub knows how the publisher does.
@Suite struct FeedsOutTests {
    private static let feed = """
        <rss version="2.0"><channel><title>Town</title><link>https://town.example/</link>
        <item><guid isPermaLink="false">7</guid><title>Mayor &amp; council</title><link>https://town.example/7</link>
        <description>Both resign.</description></item></channel></rss>
        """

    @Test(.timeLimit(.minutes(10)))
    func `an announced entry is in the hub's feeds, and its feed among the publisher's`() async throws {
        let scratch = try ScratchFolder()
        let port = try freePort()
        let hub = try await RunningProgram(
            ["hub", "--port", "\(port)", "--state", scratch.file("hub")],
            folder: scratch.path
        )
        let full = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        let feeds = scratch.file("feeds")
        try FileManager.default.createDirectory(atPath: feeds, withIntermediateDirectories: true)
        try scratch.write(Self.feed, to: "town.rss")
        try scratch.write(
            """
            category: World
            feeds:
              - url: file://\(scratch.file("town.rss"))
                local: true
              - url: file://\(scratch.file("gone.rss"))
                local: true
            """,
            to: "feeds/world.yaml"
        )
        let published = try await BuiltProgram.run(
            ["publish", "--announce-existing", "all", "--feeds", feeds, "--state", scratch.file("publisher")],
            environment: full
        )
        #expect(published.status == 0, "\(published.errors)")

        for type in ["rss", "atom", "json"] {
            let url = "http://127.0.0.1:\(port)/-/news/feeds/World.\(type)"
            let checked = try await BuiltProgram.run(["feeds", "check", "--local", "--json", url])
            #expect(checked.status == 0, "\(checked.errors)")
            let object = try JSONSerialization.jsonObject(with: Data(checked.output.utf8)) as? [String: Any]
            #expect(object?["malformed"] as? Bool != true && object?["complete"] as? Bool == true, "\(checked.output)")
            let entry = (object?["entries"] as? [[String: Any]])?.first
            #expect(entry?["title"] as? String == "Mayor & council", "\(checked.output)")
            #expect(entry?["link"] as? String == "https://town.example/7")
            #expect(entry?["summary"] as? String == "Both resign.")
        }

        let list = try await BuiltProgram.run(["publishers"], environment: full)
        #expect(list.status == 0, "\(list.errors)")
        #expect(list.output.contains("2 feeds, 1 of them failing"), "\(list.output)")
        let one = try await BuiltProgram.run(["publishers", "newswire", "--json"], environment: full)
        let status = try JSONDecoder().decode(PublisherStatus.self, from: Data(one.output.utf8))
        #expect(status.report.feeds.map(\.state).sorted() == ["failing", "well"])
        let shown = try await BuiltProgram.run(["publishers", "newswire"], environment: full)
        #expect(shown.output.contains("  failing  World  "), "\(shown.output)")
        let entries = try await BuiltProgram.run(["publishers", "newswire", "--entries"], environment: full)
        #expect(entries.output.contains("    Mayor & council: sent (message "), "\(entries.output)")
        let unknown = try await BuiltProgram.run(["publishers", "nobody"], environment: full)
        #expect(unknown.status == 1 && unknown.errors.contains("No publisher of this name"), "\(unknown.errors)")
        #expect(await hub.stop() == 0)
    }
}
