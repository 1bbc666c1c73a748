import Foundation
import Testing

/// A copy taken while the hub serves, and put back.
@Suite struct BackupTests {
    private struct Row: Decodable {
        let kind: String
        let title: String
    }

    private func inbox(_ scratch: ScratchFolder) async throws -> [Row] {
        let outcome = try await BuiltProgram.run([
            "inbox", "--state", scratch.file("agent"), "--json", "--last", "100",
        ])
        return try outcome.output.split(separator: "\n").map {
            try JSONDecoder().decode(Row.self, from: Data($0.utf8))
        }
    }

    /// Runs a command until what it prints is awaited; each run is a process of its own, which is pause enough.
    private func inbox(_ scratch: ScratchFolder, until isAwaited: ([Row]) -> Bool) async throws -> [Row] {
        var rows: [Row] = []
        for _ in 0..<500 {
            rows = try await inbox(scratch)
            if isAwaited(rows) { break }
        }
        return rows
    }

    @Test(.timeLimit(.minutes(10)))
    func `a restored copy serves on, and agents that saw more receive a gap`() async throws {
        let scratch = try ScratchFolder()
        let port = try freePort()
        let state = ["--state", scratch.file("hub")]
        let serve = ["hub", "--port", "\(port)"] + state
        let sending = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        var hub = try await RunningProgram(serve, folder: scratch.path)
        let agent = try await RunningProgram(
            ["subscribe", "--state", scratch.file("agent"), "--categories", "World", "--json"],
            environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")],
            folder: scratch.path
        )
        func send(_ text: String) async throws {
            let arguments = ["send", "--tags", "World", "--message", text]
            let outcome = try await BuiltProgram.run(arguments, environment: sending)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        try await send("before the copy")
        let backup = try await BuiltProgram.run(["hub", "backup"] + state + [scratch.file("copy")])
        #expect(backup.status == 0, "\(backup.errors)")
        try await send("after the copy")
        _ = try await inbox(scratch) { $0.contains { $0.title == "after the copy" } }

        let refused = try await BuiltProgram.run(["hub", "restore"] + state + [scratch.file("copy")])
        #expect(refused.status == 75)
        #expect(await hub.stop() == 0)
        let restore = try await BuiltProgram.run(["hub", "restore"] + state + [scratch.file("copy")])
        #expect(restore.status == 0, "\(restore.errors)")
        hub = try await RunningProgram(serve, folder: scratch.path)
        #expect(hub.isRunning, "\(hub.errors)")
        for number in 1...4 { try await send("after the restore \(number)") }

        let rows = try await inbox(scratch) { $0.contains { $0.title == "after the restore 4" } }
        #expect(rows.contains { $0.kind == "gap" })
        let titles = rows.filter { $0.kind == "message" }.map(\.title)
        #expect(
            titles == ["before the copy", "after the copy"] + (1...4).map { "after the restore \($0)" }
        )
        await agent.stop()
        await hub.stop()
    }

    @Test(.timeLimit(.minutes(10)))
    func `backup and restore take the hub that the configuration names`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write("hub: {port: 0, state: desk}\n", to: "newswire.yaml")
        let configuration = ["--config", scratch.file("newswire.yaml")]
        let environment = ["XDG_STATE_HOME": scratch.file("state")]
        let serve = ["hub"] + configuration
        let hub = try await RunningProgram(serve, environment: environment, folder: scratch.path)
        let backup = ["hub", "backup", scratch.file("copy")] + configuration
        let taken = try await BuiltProgram.run(backup, environment: environment)
        #expect(taken.status == 0, "\(taken.errors)")
        let restore = ["hub", "restore", scratch.file("copy")] + configuration
        #expect(try await BuiltProgram.run(restore, environment: environment).status == 75, "its hub is running")
        #expect(await hub.stop() == 0)
        let restored = try await BuiltProgram.run(restore, environment: environment)
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(restored.errors.contains("is kept in '\(scratch.file("desk/"))"), "\(restored.errors)")
        #expect(!FileManager.default.fileExists(atPath: scratch.file("state")))
    }

    @Test func `a damaged database is named, with how to repair it`() async throws {
        let scratch = try ScratchFolder()
        try FileManager.default.createDirectory(atPath: scratch.file("hub"), withIntermediateDirectories: true)
        try scratch.write("garbage, and enough of it to be read as the head of a file", to: "hub/hub.sqlite")
        let state = ["--state", scratch.file("hub")]
        for command in [["hub", "--port", "0"], ["hub", "keys"]] {
            let outcome = try await BuiltProgram.run(command + state)
            #expect(outcome.status == 78, "\(outcome.errors)")
            #expect(
                outcome.errors
                    .contains("cannot use '\(scratch.file("hub/hub.sqlite"))': it is damaged or not a database")
            )
            #expect(outcome.errors.contains("newswire hub restore"))
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a hub goes on when it is asked to read its files again`() async throws {
        let scratch = try ScratchFolder()
        let state = ["--state", scratch.file("hub")]
        let hub = try await RunningProgram(["hub", "--port", "0"] + state, folder: scratch.path)
        hub.signal(SIGHUP)
        let sending = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        #expect(try await BuiltProgram.run(["send", "--message", "x"], environment: sending).status == 0)
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }

    @Test func `a file that is not a copy of a hub is refused and changes nothing`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write("not a database", to: "text")
        let state = ["--state", scratch.file("hub")]
        let hub = try await RunningProgram(["hub", "--port", "0"] + state, folder: scratch.path)
        await hub.stop()
        let before = try Data(contentsOf: URL(filePath: scratch.file("hub/hub.sqlite")))
        for file in ["text", "absent"] {
            let outcome = try await BuiltProgram.run(["hub", "restore"] + state + [scratch.file(file)])
            #expect(outcome.status == 1, "\(outcome.errors)")
            #expect(outcome.errors.contains(scratch.file(file)))
        }
        #expect(try Data(contentsOf: URL(filePath: scratch.file("hub/hub.sqlite"))) == before)
    }
}
