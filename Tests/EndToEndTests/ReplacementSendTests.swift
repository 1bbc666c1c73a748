import Foundation
import HubTestServer
import Testing

/// What was sent by hand is corrected and withdrawn by hand.
@Suite struct ReplacementSendTests {
    private struct Row: Decodable {
        let title: String
        let message: String
        let link: String?
        let status: String?
        let story: String?
        let superseded: String?
        let sameAs: String?
    }

    private struct Sent: Decodable { let id: String }

    private struct Preview: Decodable {
        let tags: String?
        let properties: [String: String]
        let recipients: [String: Int]
    }

    private let scratch: ScratchFolder
    private let hub: RunningProgram

    init() async throws {
        scratch = try ScratchFolder()
        hub = try await RunningProgram(
            ["hub", "--port", "0", "--state", scratch.file("hub")],
            folder: scratch.path
        )
    }

    private func send(_ arguments: String...) async throws -> BuiltProgram.Outcome {
        try await BuiltProgram.run(
            ["send"] + arguments,
            environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        )
    }

    private static func decoded<Value: Decodable>(_ outcome: BuiltProgram.Outcome) throws -> [Value] {
        try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
    }

    private func ids(_ outcome: BuiltProgram.Outcome) throws -> String {
        #expect(outcome.status == 0, "\(outcome.errors)")
        let sent: [Sent] = try Self.decoded(outcome)
        return sent.map(\.id).joined(separator: ",")
    }

    /// Bounded by the number of looks: each starts a program.
    private func inbox(rows: Int) async throws -> [Row] {
        var found: [Row] = []
        for _ in 0..<300 where found.count < rows {
            found = try Self.decoded(
                try await BuiltProgram.run(["inbox", "--json", "--state", scratch.file("agent")])
            )
        }
        return found
    }

    @Test(.timeLimit(.minutes(10)))
    func `a story is corrected and withdrawn in each of its categories`() async throws {
        let agent = try await RunningProgram(
            ["subscribe", "--state", scratch.file("agent"), "--categories", "World,Sports"],
            environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")],
            folder: scratch.path
        )
        let story = try ids(
            try await send(
                "--category",
                "World,Sports",
                "--title",
                "The bridge is open",
                "--message",
                "Traffic flows again.",
                "--link",
                "https://example.org/bridge",
                "--urgency",
                "critical",
                "--json"
            )
        )
        #expect(story.split(separator: ",").count == 2)

        let shown = try await send("--correct", story, "--title", "The bridge opens tomorrow", "--dry-run", "--json")
        let previews: [Preview] = try Self.decoded(shown)
        #expect(previews.map(\.tags) == ["World", "Sports"] && previews.allSatisfy { $0.recipients == ["stream": 1] })
        #expect(previews.allSatisfy { $0.properties["urgency"] == "critical" && $0.properties["summary"] == nil })
        let text = try await send("--correct", story, "--title", "The bridge opens tomorrow", "--dry-run")
        #expect(text.output.contains("devices     1 stream\n"), "\(text.output)")
        #expect(text.output.contains("\ntitle=Correction: The bridge opens tomorrow\n"), "\(text.output)")

        _ = try ids(try await send("--correct", story, "--title", "The bridge opens tomorrow", "--json"))
        let rows = try await inbox(rows: 4)
        try #require(rows.count == 4, "nothing was sent by --dry-run")
        let titles = ["The bridge is open", "Correction: The bridge opens tomorrow"]
        #expect(rows.map(\.title) == [titles[0], titles[0], titles[1], titles[1]])
        #expect(rows.map(\.message).contains("Breaking World News : \(titles[1])"))
        #expect(rows.map(\.status) == [nil, nil, "correction", "correction"])
        #expect(Set(rows.map(\.story)).count == 1 && rows.allSatisfy { $0.link == "https://example.org/bridge" })
        #expect(rows.map { $0.sameAs != nil } == [false, true, false, true])
        #expect(rows[0].superseded == "replaced")

        _ = try ids(try await send("--withdraw", "\(story),\(story)", "--json"))
        let last = try await inbox(rows: 6).suffix(2)
        #expect(last.allSatisfy { $0.status == "withdrawn" && $0.title == "Withdrawn: The bridge is open" }, "\(last)")
        #expect(await agent.stop() == 0)
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a withdrawal is in each language of the story, and a correction needs a main text`() async throws {
        let french = try ids(
            try await send(
                "--tags",
                "World",
                "--property",
                "story=s",
                "--property",
                "Title_French=Le pont",
                "--property",
                "News_French=Le pont est ouvert",
                "--property",
                "Link_French=https://example.org/fr",
                "--json"
            )
        )
        let previews: [Preview] = try Self.decoded(try await send("--withdraw", french, "--dry-run", "--json"))
        let withdrawn = try #require(previews.first)
        #expect(
            withdrawn.properties.filter { $0.key != "version" } == [
                "Link_French": "https://example.org/fr", "News_French": "Withdrawn: Le pont",
                "Title_French": "Withdrawn: Le pont", "status": "withdrawn", "story": "s",
            ]
        )
        let refused = try await send("--correct", french, "--link", "https://example.org/")
        #expect(refused.status == 64 && refused.errors.contains("has no text in the main language"))
        let later = Date(timeIntervalSinceNow: 3_600).formatted(.iso8601)
        let shown = try await send("--correct", french, "--title", "The bridge", "--at", later, "--dry-run")
        #expect(shown.output.contains("time        ") && shown.output.contains("devices     nobody"), "\(shown.output)")
        #expect(shown.output.contains("\nmessageParam=Correction: The bridge\n"), "\(shown.output)")
        let fixed = try await send("--correct", french, "--title", "The bridge", "--property", "Story=other")
        #expect(fixed.status == 64 && fixed.errors.contains("--correct and --property story"), "\(fixed.errors)")

        let kept = try await send("--title", "T", "--property", "MessageParam=M", "--tags", "World", "--dry-run")
        #expect(kept.output.contains("\nMessageParam=M\n") && !kept.output.contains("messageParam"), "\(kept.output)")
        try scratch.write(#"{"title":{}}"#, to: "payload.json")
        let nested = try await send("--payload", scratch.file("payload.json"), "--dry-run")
        #expect(nested.status == 64 && nested.errors.contains("property 'title' is an object"), "\(nested.errors)")
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a message that cannot be replaced says why, and nothing is sent`() async throws {
        let plain = try ids(try await send("--tags", "World", "--property", "messageParam=x", "--json"))
        let one = try ids(try await send("--tags", "World", "--message", "One", "--json"))
        let other = try ids(try await send("--tags", "World", "--message", "Other", "--json"))
        let personal = try ids(try await send("--tags", "username:alice", "--message", "For you", "--json"))
        let later = Date(timeIntervalSinceNow: 3_600).formatted(.iso8601)
        let waiting = try ids(try await send("--tags", "World", "--message", "Later", "--at", later, "--json"))
        let cases: [([String], Int32, String)] = [
            (["--correct", one], 64, "there is nothing to correct"),
            (["--correct", "", "--message", "x"], 64, "--correct is empty"),
            (["--correct", one, "--withdraw", one], 64, "cannot be combined"),
            (["--withdraw", one, "--message", "x"], 64, "takes no text"),
            (["--withdraw", one, "--tags", "World"], 64, "--withdraw and --tags cannot be combined"),
            (["--withdraw", "\(one),\(other)"], 64, "different stories"),
            (["--withdraw", "none"], 1, "newswire messages list"),
            (["--withdraw", plain], 1, "names no story"),
            (["--withdraw", personal], 1, "was sent to persons or devices"),
            (["--withdraw", waiting], 1, "newswire messages cancel \(waiting)"),
            (["--message", "x", "--link", "ftp://example.org"], 64, "not a web address"),
            (["--title", " "], 64, "--title is empty"),
            (["--message", "x", "--dry-run", "--test"], 64, "cannot be combined"),
        ]
        for (arguments, status, words) in cases {
            let outcome = try await BuiltProgram.run(
                ["send"] + arguments,
                environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
            )
            #expect(outcome.status == status && outcome.errors.contains(words), "\(arguments): \(outcome.errors)")
            #expect(outcome.output.isEmpty, "\(arguments)")
        }
        let list = try await BuiltProgram.run(
            ["messages", "list"],
            environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        )
        #expect(list.output.split(separator: "\n").count == 5, "\(list.output)")
        #expect(await hub.stop() == 0)
    }
}
