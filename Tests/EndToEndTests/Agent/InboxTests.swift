import Foundation
import Testing

/// The inbox as its user sees it.
@Suite struct InboxTests {
    @Test(.timeLimit(.minutes(10)))
    func `an inbox that has more than it lists says so, with the size that was set`() async throws {
        let scratch = try ScratchFolder()
        let environment = ["XDG_STATE_HOME": scratch.path]
        let hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        let agent = try await RunningProgram(
            ["subscribe", "--categories", "World"],
            environment: environment,
            folder: scratch.path
        )
        for text in ["one", "two", "three"] {
            let sent = try await BuiltProgram.run(
                ["send", "--category", "World", "--message", text],
                environment: environment
            )
            #expect(sent.status == 0, "\(sent.errors)")
        }
        var listed = ""
        // Each run is a process of its own, which is pause enough.
        for _ in 0..<500 where !listed.contains("three") {
            listed = try await BuiltProgram.run(["inbox"], environment: environment).output
        }
        let size = environment.merging(["NEWSWIRE_AGENT_INBOX_SIZE": "200"]) { $1 }
        let fewer = try await BuiltProgram.run(["inbox", "--last", "1"], environment: size)
        #expect(fewer.output.split(separator: "\n").count == 1 && fewer.output.contains("three"))
        #expect(fewer.errors == "newswire: the newest 1 of 3; the inbox keeps 200 finished messages\n")
        let flag = try await BuiltProgram.run(["inbox", "--last", "2", "--inbox-size", "300"], environment: size)
        #expect(flag.errors == "newswire: the newest 2 of 3; the inbox keeps 300 finished messages\n")
        #expect(try await BuiltProgram.run(["inbox"], environment: size).errors == "")
        #expect(try await BuiltProgram.run(["inbox", "--inbox-size", "1"], environment: environment).status == 64)
        await agent.stop()
        await hub.stop()
    }
}
