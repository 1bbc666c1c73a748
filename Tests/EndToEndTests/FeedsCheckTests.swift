import Foundation
import Testing

/// `newswire feeds check` as a user runs it.
@Suite struct FeedsCheckTests {
    private static let feed = """
        <rss version="2.0"><channel><title>Town</title><link>https://town.example/</link>
        <item><guid isPermaLink="false">7</guid><title>Mayor &amp; council</title><link>/7</link>
        <pubDate>Fri, 20 Nov 2026 10:00:00 +0100</pubDate><category>Politics</category>
        <description>&lt;p&gt;Both resign.&lt;/p&gt;</description><author>a@town.example (Ada)</author></item>
        <item><title>AT&T
        """

    private func file(_ scratch: ScratchFolder, _ name: String, _ text: String) throws -> String {
        let path = "\(scratch.path)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    private func object(_ line: some StringProtocol) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test func `a file is explained to people`() async throws {
        let scratch = try ScratchFolder()
        let path = try file(scratch, "town.rss", Self.feed)
        let outcome = try await BuiltProgram.run(["feeds", "check", "--url", "https://town.example/f", path])
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        for part in [
            "rss-2.0, 1 entry", "Mayor & council", "2026-11-20T09:00:00Z", "https://town.example/7", "Both resign.",
            "not well-formed", "truncated, or over a limit",
        ] {
            #expect(outcome.output.contains(part), "\(outcome.output)")
        }
    }

    @Test func `a large file with a fault is read to its end`() async throws {
        let scratch = try ScratchFolder()
        let items = String(repeating: "<item><title>x</title><link>https://x.example/</link></item>", count: 1_700)
        let feed = "<rss version='2.0'><channel><title>A ]]> B</title>\(items)</channel></rss>"
        let path = try file(scratch, "town.rss", feed)
        let outcome = try await BuiltProgram.run(["feeds", "check", "--json", "--url", "https://town.example/f", path])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let object = try object(outcome.output)
        #expect((object["entries"] as? [Any])?.count == 1_700 && object["complete"] as? Bool == true)
    }

    @Test func `JSON has the members that programs compare`() async throws {
        let scratch = try ScratchFolder()
        let path = try file(scratch, "town.rss", Self.feed)
        let outcome = try await BuiltProgram.run(["feeds", "check", "--json", "--url", "https://town.example/f", path])
        #expect(outcome.status == 0)
        let feed = try object(outcome.output)
        #expect(feed["format"] as? String == "rss-2.0" && feed["title"] as? String == "Town")
        #expect(feed["malformed"] as? Bool == true && feed["complete"] as? Bool == false)
        let entry = try #require((feed["entries"] as? [[String: Any]])?.first)
        #expect(entry["id"] as? String == "7" && entry["author"] as? String == "Ada")
        #expect(entry["link"] as? String == "https://town.example/7")
        #expect(entry["published"] as? String == "2026-11-20T09:00:00Z")
        #expect(entry["categories"] as? [String] == ["Politics"] && entry["summary"] as? String == "Both resign.")
    }

    @Test func `a page names its feeds and ends with 1`() async throws {
        let scratch = try ScratchFolder()
        let page = "<html><link rel=alternate type=application/rss+xml href=/feed><title>x</title></html>"
        let path = try file(scratch, "page.html", page)
        let plain = try await BuiltProgram.run(["feeds", "check", "--url", "https://town.example/", path])
        #expect(plain.status == 1 && plain.output == "https://town.example/feed\n")
        #expect(plain.errors.contains("web page"))
        let json = try await BuiltProgram.run(["feeds", "check", "--json", "--url", "https://town.example/", path])
        #expect(json.status == 1)
        #expect(try object(json.output)["discover"] as? [String] == ["https://town.example/feed"])
    }

    @Test func `a list is read in one go, whatever its lines hold`() async throws {
        let scratch = try ScratchFolder()
        let path = try file(scratch, "town.rss", Self.feed)
        _ = try file(
            scratch,
            "storm.cap",
            """
            <alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>1</identifier><status>Actual</status>
            <info><event>Storm</event></info></alert>
            """
        )
        let list = try file(
            scratch,
            "list",
            "\(path)\thttps://town.example/f\n{\"file\": \"storm.cap\", \"url\": null}\n\n/nonexistent\n"
        )
        let outcome = try await BuiltProgram.run(["feeds", "check", "--json", "--batch", list])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let lines = try outcome.output.split(separator: "\n").map(object)
        #expect(lines.map { $0["file"] as? String } == [path, "storm.cap", "/nonexistent"])
        let cap = try #require(lines[1]["cap"] as? [String: Any])
        #expect(cap["identifier"] as? String == "1" && cap["version"] as? String == "1.2")
        #expect((lines[2]["error"] as? String)?.contains("no such file") == true)
    }

    @Test(arguments: [
        (["feeds", "check"], Int32(64), "pass one feed"),
        (["feeds", "check", "--batch", "x", "y"], 64, "pass one feed"),
        (["feeds", "check", "--batch", "x", "--url", "y"], 64, "into the list"),
        (["feeds", "check", "/nonexistent"], 1, "cannot read '/nonexistent': no such file"),
        (["feeds", "check", "--batch", "/nonexistent"], 1, "no such file"),
        (["feeds", "check", "http://127.0.0.1:9/feed"], 1, "--local"),
    ])
    func `a mistake says what to do`(arguments: [String], status: Int32, says: String) async throws {
        let outcome = try await BuiltProgram.run(arguments)
        #expect(outcome.status == status && outcome.output.isEmpty, "\(outcome.output)")
        #expect(outcome.errors.contains(says), "\(outcome.errors)")
    }
}
