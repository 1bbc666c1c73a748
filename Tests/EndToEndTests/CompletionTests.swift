import Foundation
import Testing

/// What a shell offers for values.
@Suite struct CompletionTests {
    @Test(.timeLimit(.minutes(10)))
    func `values are completed, from the hub or from the feed lists, and nothing else is printed`() async throws {
        let scratch = try ScratchFolder()
        func complete(_ command: [String], _ name: String, _ prefix: String) async throws -> BuiltProgram.Outcome {
            let words = ["newswire"] + command + [name, prefix]
            return try await BuiltProgram.run(
                ["---completion"] + command + ["--", name, "\(words.count - 1)", "\(prefix.count)"] + words,
                environment: [
                    "XDG_STATE_HOME": scratch.path, "NEWSWIRE_PUBLISHER_FEEDS": scratch.file("feeds"),
                    "SAP_SHELL": "bash", "NEWSWIRE_PUBLISHER_HUB": "desk",
                ]
            )
        }
        /// A hub that does not answer within a second is left out, as a shell cannot wait: a busy machine is asked again.
        func completeFromHub(_ command: [String], _ name: String) async throws -> BuiltProgram.Outcome {
            for _ in 1..<30 {
                let outcome = try await complete(command, name, "")
                guard outcome.output.isEmpty, outcome.errors.isEmpty else { return outcome }
            }
            return try await complete(command, name, "")
        }
        let none = try await complete(["subscribe"], "--categories", "")
        #expect(none.status == 0 && none.output.isEmpty && none.errors.isEmpty, "\(none)")
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: false)
        try scratch.write("category: World\nfeeds: []\n", to: "feeds/world.yaml")
        try scratch.write("category: Sports\nfeeds: []\n", to: "feeds/sports.yaml")
        let listed = try await complete(["subscribe"], "--categories", "")
        #expect(listed.output.contains("World") && listed.output.contains("Sports"), "\(listed)")
        let second = try await complete(["subscribe"], "--categories", "World,")
        #expect(second.output.contains("World,Sports") && !second.output.contains("World,World"), "\(second)")
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--hub", "desk"],
            environment: ["XDG_STATE_HOME": scratch.path],
            folder: scratch.path
        )
        let hubs = try await completeFromHub(["hub", "keys"], "--hub")
        #expect(hubs.output.contains("desk") && hubs.errors.isEmpty, "\(hubs)")
        let sent = try await BuiltProgram.run(
            ["send", "--message", "x", "--json", "--hub", "desk"],
            environment: ["XDG_STATE_HOME": scratch.path]
        )
        let id = try #require(sent.output.firstMatch(of: /[0-9a-f]{32}/), "\(sent)").output
        let messages = try await completeFromHub(["messages", "show"], "positional@0")
        #expect(messages.output.contains(id) && messages.errors.isEmpty, "\(messages)")
        let scheduled = try await complete(["messages", "cancel"], "positional@0", "")
        #expect(!scheduled.output.contains(id), "\(scheduled)")
        await hub.stop()
        let script = try await BuiltProgram.run(["--generate-completion-script", "bash"])
        #expect(script.output.contains("fcmv1") && script.output.contains("invited"))
    }
}
