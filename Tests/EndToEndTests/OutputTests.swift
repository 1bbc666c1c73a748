import Foundation
import HostSystem
import HubTestServer
import Testing

/// What reaches a terminal, and what happens where nothing can.
@Suite struct OutputTests {
    private func shell(_ script: String, _ arguments: String..., environment: [String: String] = [:]) -> ChildProcess {
        ChildProcess(
            arguments: ["/bin/sh", "-c", script, BuiltProgram.path] + arguments,
            environment: BuiltProgram.base.merging(environment) { $1 },
            timeout: .seconds(300)
        )
    }

    @Test(.timeLimit(.minutes(10)))
    func `words that a hub chooses reach the terminal on one line, without what would move the cursor`() async throws {
        let scratch = try ScratchFolder()
        let words = #"\u001b]0;owned\u0007\u202etxet\nnewswire: error: forged"#
        let stream = ScriptedStream()
        let server = try ScriptedHTTPServer { request in
            if request.path.hasSuffix("/categories") { return .status(200, body: #"{"categories":["\#(words)"]}"#) }
            guard request.path.hasSuffix("/stream") else { return .status(200) }
            return .stream(headers: [("Content-Type", "text/event-stream")], stream)
        }
        let environment = [
            "XDG_STATE_HOME": scratch.path,
            "NEWSWIRE_CONNECTION_STRING": "Endpoint=\(server.baseURL)/;SharedAccessKeyName=x;SharedAccessKey=eA==",
        ]
        let unknown = try await BuiltProgram.run(["subscribe", "--categories", "World"], environment: environment)
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("owned"))
        let agent = try await RunningProgram(
            ["subscribe", "--categories", ""],
            environment: environment,
            folder: scratch.path
        )
        stream.send("id: e-1\nevent: gap\ndata: {\"after\":null,\"resumesAt\":1,\"reason\":\"\(words)\"}\n\n")
        // Each run is a process of its own, which is pause enough.
        for _ in 0..<500 {
            if try await BuiltProgram.run(["inbox"], environment: environment).output.contains("GAP") { break }
        }
        await agent.stop()
        #expect(agent.errors.contains("messages were missed: "))
        for said in [unknown.errors, agent.errors] {
            let lines = said.split(separator: "\n")
            #expect(lines.allSatisfy { !$0.hasPrefix("newswire: error: forged") }, "\(said)")
            #expect(!said.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202E}" }, "\(said)")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `output that cannot be written is an error, messages that cannot be written are not`() async throws {
        let scratch = try ScratchFolder()
        let state = scratch.file("hub")
        let hub = try await RunningProgram(["hub", "--port", "0", "--state", state], folder: scratch.path)
        await hub.stop()
        let full = try await shell(#"exec "$0" hub keys --state "$1" >/dev/full"#, state).run()
        #expect(full.ending == .exited(75))
        #expect(full.standardError.contains("cannot write to 'standard output': the disk is full"))
        let closed = try await shell(#"exec "$0" hub keys --state "$1" >&-"#, state).run()
        #expect(closed.ending == .exited(1))
        let copying = #"exec "$0" hub backup --state "$1" "$2" 2>/dev/full"#
        let mute = try await shell(copying, state, scratch.file("copy")).run()
        #expect(mute.ending == .exited(0))
    }

    @Test(.timeLimit(.minutes(10)))
    func `a demo whose reader goes ends quietly and leaves nothing behind`() async throws {
        let scratch = try ScratchFolder()
        let outcome = try await shell(
            #"{ "$0" demo --samples "$1"; echo "ended with $?" >&2; } | head -n 1"#,
            "\(BuiltProgram.repository)/feeds/samples",
            environment: ["TMPDIR": scratch.path]
        ).run()
        #expect(outcome.standardOutput.hasPrefix("hub "))
        #expect(outcome.standardError == "ended with 0\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
    }
}
