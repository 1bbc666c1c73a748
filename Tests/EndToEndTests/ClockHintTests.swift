import HubTestServer
import Testing

/// A hub whose clock differs from this machine's.
@Suite struct ClockHintTests {
    @Test(.timeLimit(.minutes(10)))
    func `a send names the clock, as an agent does, and may be tried again`() async throws {
        let scratch = try ScratchFolder()
        let detail = "ExpiredToken: The token is expired..TrackingId:1,TimeStamp:1/1/2030 0:00:00 AM"
        let hub = try ScriptedHTTPServer { _ in
            .status(401, body: "<Error><Code>401</Code><Detail>\(detail)</Detail></Error>")
        }
        try scratch.write("Endpoint=\(hub.baseURL)/;SharedAccessKeyName=Full;SharedAccessKey=k\n", to: "connection")
        let sent = try await BuiltProgram.run(
            ["send", "--message", "x", "--connection-file", scratch.file("connection")]
        )
        #expect(sent.status == 75, "\(sent.errors)")
        #expect(sent.errors.contains("its clock and this machine's differ"), "\(sent.errors)")
        #expect(sent.errors.contains("hint: correct the clock that is wrong; 'timedatectl'"), "\(sent.errors)")
        #expect(!sent.errors.contains("newswire hub keys"), "nothing is wrong with the key")
    }
}
