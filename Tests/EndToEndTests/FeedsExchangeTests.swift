import Foundation
import Testing

/// `newswire feeds export`, `import`, `discover` and `add` as a user runs them.
struct FeedsExchangeTests {
    @Test func `an export is imported as it was, with nothing left to do the second time`() async throws {
        let scratch = try ScratchFolder()
        let opml = scratch.file("feeds.opml")
        let feeds = "\(BuiltProgram.repository)/feeds"
        let export = try await BuiltProgram.run(["feeds", "export", "--feeds", feeds, opml])
        #expect(export.status == 0 && export.output.isEmpty && export.errors.isEmpty, "\(export.errors)")
        let new = scratch.file("new")
        let dry = try await BuiltProgram.run(["feeds", "import", "--dry-run", "--feeds", new, opml])
        #expect(dry.status == 0 && dry.output.hasSuffix("25 to add, 0 skipped, 0 refused\n"), "\(dry.output)")
        #expect(!FileManager.default.fileExists(atPath: new))
        let first = try await BuiltProgram.run(["feeds", "import", "--trust", "--feeds", new, opml])
        #expect(first.status == 0 && first.output.hasSuffix("25 added, 0 skipped, 0 refused\n"), "\(first.output)")
        let again = try await BuiltProgram.run(["feeds", "import", "--feeds", new, opml])
        #expect(again.status == 0 && again.output.hasSuffix("0 added, 25 skipped, 0 refused\n"), "\(again.output)")
        let (one, other) = (
            try await BuiltProgram.run(["feeds", "export", "--feeds", feeds]),
            try await BuiltProgram.run(["feeds", "export", "--feeds", new, "-"])
        )
        #expect(one.output == other.output && one.output.contains("<opml version=\"2.0\""))
    }

    @Test func `what is refused is said, as JSON too, and ends with 1`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write(
            """
            <opml><body>
            <outline text='ok' xmlUrl='https://a.example/'/>
            <outline text='own' xmlUrl='http://10.0.0.1/'/>
            """,
            to: "x.opml"
        )
        let arguments = ["--feeds", scratch.file("f"), "--category", "World", scratch.file("x.opml")]
        let json = try await BuiltProgram.run(["feeds", "import", "--dry-run", "--json"] + arguments)
        #expect(json.status == 1 && json.errors.contains("not well-formed") && json.errors.contains("is truncated"))
        let report = try #require(JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect((report["added"] as? [[String: Any]])?.first?["url"] as? String == "https://a.example/")
        #expect((report["refused"] as? [[String: Any]])?.first?["line"] as? Int == 3)
        let plain = try await BuiltProgram.run(["feeds", "import"] + arguments)
        #expect(plain.status == 1 && plain.output.contains("refused  line 3: own: is in a private network"))
    }

    @Test func `mistakes have their exit codes and say what to do`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write("<opml><body><outline xmlUrl='https://a.example/'/></body></opml>", to: "x.opml")
        try scratch.write("category: World\nfeeds: [{url: https://b.example/}]\n", to: "w.yaml")
        let opml = scratch.file("x.opml")
        let arguments = ["feeds", "import", "--feeds", scratch.path]
        let shape = try await BuiltProgram.run(arguments + ["--category", "World", opml])
        #expect(shape.status == 1 && shape.output == "  - url: https://a.example/\n")
        #expect(shape.errors.contains("nothing was written") && shape.errors.contains("by hand"))
        let name = try await BuiltProgram.run(arguments + ["--category", "a b", opml])
        #expect(name.status == 64)
        let none = try await BuiltProgram.run(arguments + [scratch.file("w.yaml")])
        #expect(none.status == 1 && none.errors.contains("no feed lists in"))
        let export = try await BuiltProgram.run(["feeds", "export", "--feeds", scratch.path, "--category", "Wolrd"])
        #expect(export.status == 64 && export.errors.contains("did you mean 'World'"))
        let empty = try await BuiltProgram.run(["feeds", "export", "--feeds", scratch.file("nowhere")])
        #expect(empty.status == 78)
    }

    @Test func `discovery asks public addresses only`() async throws {
        let scratch = try ScratchFolder()
        let address = "http://127.0.0.1:9/"
        let found = try await BuiltProgram.run(["feeds", "discover", "--guess", address])
        #expect(found.status == 1 && found.errors.contains("not a public address"))
        let lists = ["--feeds", scratch.path, "--category", "World"]
        let added = try await BuiltProgram.run(["feeds", "add", address] + lists)
        #expect(added.status == 1 && added.errors.contains("not a public address"))
    }
}
