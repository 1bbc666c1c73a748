import Foundation
import GRDB
import HubProtocol
import Testing

/// What the command line sends beside templates, at once and later.
@Suite struct SendingTests {
    @Test(.timeLimit(.minutes(10)))
    func `native, direct, test and scheduled messages reach an agent, over a killed hub as well`() async throws {
        let scratch = try ScratchFolder()
        let port = try freePort()
        let start = ["hub", "--port", "\(port)", "--state", scratch.file("hub")]
        var hub = try await RunningProgram(start, folder: scratch.path)
        let full = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        let listen = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")]
        let state = ["--state", scratch.file("agent")]
        let agent = try await RunningProgram(
            ["subscribe", "--categories", "Sports"] + state,
            environment: listen,
            folder: scratch.path
        )
        let device = try await BuiltProgram.installation(of: state)

        func send(_ title: String, _ arguments: [String]) async throws -> (id: MessageID, outcome: BuiltProgram.Outcome)
        {
            let payload = scratch.file("\(title).json")
            try scratch.write(#"{"title":"\#(title)","message":"\#(title)"}"#, to: "\(title).json")
            let command = ["send", "--format", "stream", "--payload", payload] + arguments
            let sent = try await BuiltProgram.run(command, environment: full)
            let words = sent.output.split { $0 == " " || $0 == "\n" }
            return (try MessageID(words.count > 1 ? String(words[1]) : ""), sent)
        }
        func show(_ id: MessageID) async throws -> MessageReport {
            let shown = try await BuiltProgram.run(["messages", "show", id.text, "--json"], environment: full)
            return try JSONDecoder().decode(MessageReport.self, from: Data(shown.output.utf8))
        }
        func wait(for id: MessageID, _ state: MessageState) async throws {
            for _ in 0..<1_000 { if try await show(id).state == state { return } }
            Issue.record("\(id) is \(try await show(id).state)")
        }

        let tagged = try await send("tagged", ["--tags", "Sports && !World"])
        #expect(tagged.outcome.errors.contains("for agents: 1"), "\(tagged.outcome.errors)")
        let direct = try await send("direct", ["--device", device])
        let test = try await send("test", ["--tags", "Sports", "--test"])
        #expect(
            test.outcome.status == 0 && test.outcome.output.contains("stream \(device)  \(RegistrationResult.success)")
        )
        for id in [tagged.id, direct.id, test.id] { try await wait(for: id, .completed) }

        // To the second: a whole one, not too near.
        let due = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 15).rounded(.up))
        let scheduled = try await send("scheduled", ["--at", ISODateTime.format(due)])
        #expect(scheduled.outcome.output.hasPrefix("scheduled "), "\(scheduled.outcome.errors)")
        #expect(try await show(scheduled.id).state == .scheduled)
        try await wait(for: scheduled.id, .completed)
        #expect(try await show(scheduled.id).dueAt == ISODateTime.format(due))

        let waiting = try await send("late", ["--at", ISODateTime.format(Date(timeIntervalSinceNow: 3_600))])
        await hub.killNow()
        // As if the hub had been away for more than an hour.
        try await DatabaseQueue(path: scratch.file("hub/hub.sqlite")).write { db in
            let sql = "UPDATE scheduledMessage SET dueAt = dueAt - 3700000 WHERE messageID = ?"
            try db.execute(sql: sql, arguments: [waiting.id.text])
            #expect(db.changesCount == 1)
        }
        hub = try await RunningProgram(start, folder: scratch.path)
        try await wait(for: waiting.id, .completed)

        let taken = try await send("canceled", ["--at", ISODateTime.format(Date(timeIntervalSinceNow: 3_600))])
        let cancel = ["messages", "cancel", taken.id.text]
        #expect(try await BuiltProgram.run(cancel, environment: full).output == "canceled \(taken.id)\n")
        let shown = try await BuiltProgram.run(["messages", "show", taken.id.text], environment: full)
        #expect(shown.output.contains("state     Canceled") && shown.output.contains("canceled  20"))
        let sent = try await BuiltProgram.run(["messages", "cancel", waiting.id.text], environment: full)
        #expect(sent.status == 1 && sent.errors.contains("cannot be cancelled"))
        let unknown = try await BuiltProgram.run(["messages", "cancel", "none"], environment: full)
        #expect(unknown.status == 1 && unknown.errors.contains("no scheduled message 'none'"))

        // Agents that are away do not change the state of a message: it may be Completed before they have it.
        var (inbox, titles) = (try await BuiltProgram.run(["inbox", "--json"] + state), [String]())
        for _ in 0..<200 {
            titles = inbox.output.split(separator: "\n").compactMap { line in
                (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["title"] as? String
            }
            guard titles.count < 5 else { break }
            inbox = try await BuiltProgram.run(["inbox", "--json"] + state)
        }
        #expect(
            Set(titles) == ["tagged", "direct", "test", "scheduled", "late"] && titles.count == 5,
            "\(inbox.output)"
        )
        #expect(await agent.stop() == 0)
        #expect(await hub.stop() == 0)
    }

    @Test func `what cannot be sent is said before a hub is asked`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write("{}", to: "payload.json")
        let payload = ["--payload", scratch.file("payload.json")]
        let rows: [([String], String)] = [
            (["--format", "appel"] + payload, "did you mean 'apple'"), (["--format", "apple"], "needs a payload"),
            (["--format", "apple", "--message", "x"] + payload, "cannot be combined"),
            (["--format", "apple", "--payload", scratch.file("none")], "no such file"),
            (["--device", "AA", "--message", "x"], "needs --format and --payload"),
            (["--device", "AA", "--tags", "World", "--format", "apple"] + payload, "cannot be combined"),
            (["--category", "World"], "--category needs a text"),
            (["--category", ",", "--message", "x"], "--category is empty"),
            (["--category", "username:bob", "--message", "x"], "reserved"),
            (["--category", "World", "--tags", "x", "--message", "x"], "--category and --tags cannot be combined"),
            (["--category", "World", "--test", "--message", "x"], "--category and --test cannot be combined"),
            (["--at", "tomorrow", "--message", "x"], "is not within the next seven days"),
            (["--at", "2020-01-01T00:00:00Z", "--message", "x"], "is not within the next seven days"),
            (["--at", "2030-01-01T00:00:00Z", "--test", "--message", "x"], "cannot be combined"),
        ]
        for (arguments, words) in rows {
            let sent = try await BuiltProgram.run(["send"] + arguments)
            #expect(sent.status == 64, "\(arguments): \(sent.errors)")
            #expect(sent.errors.contains(words), "\(arguments): \(sent.errors)")
        }
    }
}
