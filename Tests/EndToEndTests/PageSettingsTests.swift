import HubTestServer
import Testing

/// How the pages of a hub look is checked before it starts.
@Suite struct PageSettingsTests {
    @Test(.timeLimit(.minutes(5)), arguments: [["check", "hub"], ["hub", "--port", "0"]])
    func `all problems with a hub's pages are reported at once, with their lines`(command: [String]) async throws {
        let scratch = try ScratchFolder()
        let title = String(repeating: "x", count: 61)
        try scratch.write(
            """
            hub: {state: "\(scratch.file("hub"))"}
            hubs:
              news:
                page-title: \(title)
                page-logo: logo.png
                page-accent: "#ffcc00"
              other: {page-logo: none.png, page-accent: red}
            """,
            to: "newswire.yaml"
        )
        try scratch.write("GIF89a", to: "logo.png")
        let outcome = try await BuiltProgram.run(command + ["--config", scratch.file("newswire.yaml")])
        #expect(outcome.status == 78, "\(outcome.errors)")
        let text = outcome.output + outcome.errors
        for problem in [
            "line 4: 'page-title' of hub 'news' has 61 characters; at most 60",
            "line 5: 'page-logo' of hub 'news': '\(scratch.file("logo.png"))' is not a PNG",
            "line 6: 'page-accent' of hub 'news': '#ffcc00' has a contrast of 1.3",
            "line 7: 'page-logo' of hub 'other': cannot open '\(scratch.file("none.png"))'",
            "line 7: 'page-accent' of hub 'other': 'red' must be a colour such as #a4161a",
        ] {
            #expect(text.contains(problem), "\(problem) in \(text)")
        }
    }
}
