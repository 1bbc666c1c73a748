import Foundation
import HubProtocol
import Testing

/// An operator asks why a device did not get a message.
@Suite struct MessagesTests {
    @Test(.timeLimit(.minutes(10)))
    func `messages tell who got them, and a device why it did not`() async throws {
        let scratch = try ScratchFolder()
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--state", scratch.file("hub")],
            folder: scratch.path
        )
        let full = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        let listen = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")]
        let state = ["--state", scratch.file("agent")]
        let agent = try await RunningProgram(
            ["subscribe", "--categories", "Sports"] + state,
            environment: listen,
            folder: scratch.path
        )
        let device = try await BuiltProgram.installation(of: state)
        let world = try await send("World", full)
        let sports = try await send("Sports || World && !Weather", full)

        let why = try await BuiltProgram.run(["messages", "show", world, "--device", device], environment: full)
        #expect(why.status == 0, "\(why.errors)")
        #expect(
            why.output.contains("device '\(device)' did not get it: the expression needs 'World' and it has 'Sports'")
        )
        #expect(why.output.contains("matched   nobody") && why.output.contains("no  World"))

        let show = ["messages", "show", sports, "--json"]
        var report: MessageReport?
        for _ in 0..<500 {
            let shown = try await BuiltProgram.run(show + ["--device", device], environment: full)
            report = try JSONDecoder().decode(MessageReport.self, from: Data(shown.output.utf8))
            if report?.device?.outcome == .written { break }
        }
        #expect(report?.device?.outcome == .written && report?.device?.stream?.isOpen == true)
        #expect(report?.matched == ["stream": 1] && report?.state == .completed)

        let list = try await BuiltProgram.run(["messages", "list"], environment: full)
        let ids = list.output.split(separator: "\n").map { $0.split(separator: " ")[1] }
        #expect(ids == [Substring(sports), Substring(world)], "\(list.output)")
        // As the last part of the line; control characters of a title do not reach the terminal.
        let hostile = try await BuiltProgram.run(
            ["send", "--tags", "World", "--property", "title=Red\u{1B}[31m alert", "--message", "First\nsecond"],
            environment: full
        )
        #expect(hostile.status == 0, "\(hostile.errors)")
        let titled = try await BuiltProgram.run(["messages", "list", "--last", "1"], environment: full).output
        #expect(titled.contains("  World  Red"), "\(titled)")
        #expect(!titled.contains("\u{1B}"))
        let id = String(titled.split(separator: " ")[1])
        let whole = try await BuiltProgram.run(["messages", "show", id], environment: full).output
        #expect(
            whole.contains("\ntitle     Red") && whole.contains("\ntext      First second\n")
                && !whole.contains("\u{1B}")
        )

        let unknown = try await BuiltProgram.run(["messages", "show", "none"], environment: full)
        #expect(unknown.status == 1 && unknown.output.isEmpty)
        #expect(unknown.errors.contains("no message 'none' here") && unknown.errors.contains("72 h"))
        #expect(unknown.errors.split(separator: "\n").count == 1)
        let refused = try await BuiltProgram.run(show, environment: listen)
        #expect(refused.status == 78 && refused.errors.contains("Manage claim is required"))
        #expect(try await BuiltProgram.run(["messages", "show", "a b"], environment: full).status == 64)
        #expect(try await BuiltProgram.run(["messages", "list", "--last", "0"], environment: full).status == 64)
        #expect(await agent.stop() == 0)
        #expect(await hub.stop() == 0)
        let down = try await BuiltProgram.run(show, environment: full)
        #expect(down.status == 69 && down.errors.contains("cannot reach"))
    }

    private func send(_ tags: String, _ environment: [String: String]) async throws -> String {
        let sent = try await BuiltProgram.run(["send", "--tags", tags, "--message", "x"], environment: environment)
        return try #require(sent.output.split(separator: "\n").first?.split(separator: " ").last.map(String.init))
    }
}
