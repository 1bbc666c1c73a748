import Foundation
import Testing

/// A wrong alarm, from the service's feed to somebody's screen.
@Suite struct WithdrawalTests {
    @Test(.timeLimit(.minutes(10)))
    func `an alert that is cancelled is marked in the inbox, and a handler gets both`() async throws {
        let scratch = try ScratchFolder()
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--state", scratch.file("hub")],
            folder: scratch.path
        )
        let full = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        let feeds = scratch.file("feeds")
        try FileManager.default.createDirectory(atPath: feeds, withIntermediateDirectories: true)
        try scratch.write(
            "category: Weather\nfeeds:\n  - url: file://\(scratch.file("alerts.atom"))\n    local: true\n",
            to: "feeds/weather.yaml"
        )
        func publish(_ entries: String...) async throws {
            let head = """
                <feed xmlns="http://www.w3.org/2005/Atom" xmlns:cap="urn:oasis:names:tc:emergency:cap:1.2"><title>Met</title>
                """
            try scratch.write(head + entries.joined() + "</feed>", to: "alerts.atom")
            let outcome = try await BuiltProgram.run(
                ["publish", "--force", "--feeds", feeds, "--state", scratch.file("publisher")],
                environment: full
            )
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        let handled = scratch.file("handled")
        try scratch.write(
            "#!/bin/sh\nprintf '%s|%s|%s|%s\\n' \"$NEWSWIRE_TITLE\" \"$NEWSWIRE_STATUS\" \"$NEWSWIRE_STORY\" "
                + "\"$NEWSWIRE_REPLACES\" >> '\(handled)'\n",
            to: "handler"
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.file("handler"))

        try await publish()
        let agent = try await RunningProgram(
            [
                "subscribe", "--categories", "Weather", "--state", scratch.file("agent"), "--exec",
                scratch.file("handler"),
            ],
            environment: full,
            folder: scratch.path
        )
        let alert = entry("1", "Alert", "Flood in the valley")
        try await publish(alert)
        try await publish(entry("2", "Cancel", "All clear", references: "met,1,2026-05-28T20:00:00Z"), alert)

        var lines: [String] = []
        for _ in 0..<200 where lines.count < 2 {
            let inbox = try await BuiltProgram.run(["inbox", "--state", scratch.file("agent")])
            lines = inbox.output.split(separator: "\n").map(String.init).filter { $0.contains("  done  ") }
        }
        try #require(lines.count == 2)
        #expect(lines[0].hasSuffix("  done  (withdrawn later) Breaking Weather News : Flood in the valley"))
        #expect(lines[1].hasSuffix("  done  (withdrawn) Breaking Weather News : Cancelled: Flood in the valley"))
        let rows = try String(contentsOfFile: handled, encoding: .utf8).split(separator: "\n").map {
            $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        }
        try #require(rows.count == 2)
        #expect(rows[0][0...1] == ["Flood in the valley", ""] && rows[0][3].isEmpty)
        #expect(rows[1][0...1] == ["Cancelled: Flood in the valley", "withdrawn"])
        #expect(rows[1][2] == rows[0][2] && rows[1][3] == rows[0][2] && !rows[0][2].isEmpty)
        #expect(await agent.stop() == 0)
        #expect(await hub.stop() == 0)
    }

    private func entry(_ id: String, _ type: String, _ title: String, references: String = "") -> String {
        """
        <entry><id>urn:\(id)</id><title>\(title)</title><cap:identifier>\(id)</cap:identifier><cap:sender>met</cap:sender>
        <cap:sent>2026-05-28T2\(type == "Cancel" ? 1 : 0):00:00Z</cap:sent><cap:status>Actual</cap:status>
        <cap:msgType>\(type)</cap:msgType><cap:scope>Public</cap:scope><cap:references>\(references)</cap:references></entry>
        """
    }
}
