import DesktopTestServer
import Foundation
import Glibc
import HubTestServer
import Testing

/// The built program in a desktop session.
@Suite(.timeLimit(.minutes(5))) struct DesktopTests {
    @Test func `a message is shown, a click opens its link with xdg-open, and a new desktop gets the next one`()
        async throws
    {
        let scratch = try ScratchFolder()
        let bus = try await TestBus(folder: scratch.path)
        let first = try NotificationService(bus)
        let opened = try NamedPipe(scratch.file("opened"))
        try scratch.write(
            "#!/bin/sh\nprintf '%s|' \"$@\" \"$NEWSWIRE_AGENT_NOTIFY\" > '\(opened.path)'\n",
            to: "xdg-open"
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.file("xdg-open"))
        let environment = [
            "XDG_STATE_HOME": scratch.file("state"), "PATH": "\(scratch.path):/usr/bin:/bin",
            "NEWSWIRE_AGENT_NOTIFY": "true",
        ].merging(bus.environment) { $1 }

        let hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        let agent = try await RunningProgram(
            ["subscribe", "--categories", "World"],
            environment: environment,
            folder: scratch.path
        )
        func send(_ title: String, _ properties: String...) async throws {
            let arguments = properties.flatMap { ["--property", $0] }
            let outcome = try await BuiltProgram.run(
                ["send", "--tags", "World", "--message", title] + arguments,
                environment: environment
            )
            #expect(outcome.status == 0, "\(outcome.errors)")
        }

        try await send("One & two", "link=https://example.org/?a=1&b=$(id)", "urgency=breaking", "category=<World>")
        let shown = try #require(await first.shown.elements(atLeast: 1).first)
        #expect(shown.summary == "One & two")
        #expect(shown.body == "&lt;World&gt;")
        #expect(shown.urgency == 2)
        await first.click(shown.id)
        let arguments = await opened.text()
        #expect(arguments == "https://example.org/?a=1&b=$(id)||")

        await bus.kill()
        await first.stop()
        try await bus.start()
        let second = try NotificationService(bus)
        try await send("Three")
        #expect(await second.shown.elements(atLeast: 1).map(\.summary) == ["Three"])
        #expect(await agent.stop() == 0)
        #expect(agent.errors == "")
        await hub.stop()
    }

    @Test func `outside a desktop session one warning says so`() async throws {
        let scratch = try ScratchFolder()
        let agent = try await RunningProgram(
            ["subscribe", "--categories", "World", "--notify"],
            environment: [
                "NEWSWIRE_CONNECTION_STRING": ServiceTests.unreachable, "XDG_STATE_HOME": scratch.file("state"),
            ],
            folder: scratch.path
        )
        #expect(await agent.stop() == 0)
        let lines = agent.errors.split(separator: "\n").filter { $0.contains("notif") }
        #expect(
            lines == [
                """
                newswire: warning: cannot show notifications: no session bus: $DBUS_SESSION_BUS_ADDRESS and \
                $XDG_RUNTIME_DIR are not set; messages are printed instead
                """,
                "newswire: hint: run newswire in a desktop session, or omit --notify",
            ]
        )
    }
}
