import Foundation
import HubTestServer
import Testing

/// The program under a service manager.
@Suite struct ServiceTests {
    static let unreachable = "Endpoint=http://127.0.0.1:1/;SharedAccessKeyName=x;SharedAccessKey=eA=="

    @Test(.timeLimit(.minutes(10)), arguments: [["hub", "--port", "0"], ["subscribe", "--categories", "World"]])
    func `a service is ready and then feeds the watchdog again and again`(_ arguments: [String]) async throws {
        let scratch = try ScratchFolder()
        let program = try await RunningProgram(
            arguments,
            environment: [
                "NEWSWIRE_CONNECTION_STRING": Self.unreachable, "WATCHDOG_USEC": "20000",
                "XDG_STATE_HOME": scratch.path,
            ],
            folder: scratch.path
        )
        for _ in 1...3 { await program.waitForNotice("WATCHDOG=1") }
        #expect(program.isRunning)
        #expect(await program.stop() == 0)
    }

    /// Every second start finds the state of the one before.
    @Test(.timeLimit(.minutes(10)))
    func `a hub that is stopped as soon as it is ready, or before, prints no error`() async throws {
        let scratch = try ScratchFolder()
        for start in 0..<12 {
            let hub = try await RunningProgram(
                ["hub", "--port", "0", "--state", scratch.file("hub-\(start / 2)")],
                folder: scratch.path,
                waitsForReady: start >= 6
            )
            // One that does not handle signals yet is ended by the signal.
            let status = await hub.stop()
            #expect(status == 0 || status == SIGTERM && start < 6, "start \(start): \(hub.errors)")
            #expect(
                !hub.errors.contains("EventLoop") && !hub.errors.contains(" error"),
                "start \(start): \(hub.errors)"
            )
        }
    }

    private static let namespaces = [
        "/usr/bin/unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child",
    ]

    /// The first process of a container: the kernel ignores a signal that it has no handler for (pid_namespaces(7)).
    @Test(
        .enabled(
            if: system("\(namespaces.joined(separator: " ")) true 2>/dev/null") == 0,
            "needs 'unshare', and the right to make a user namespace"
        ),
        .timeLimit(.minutes(10)),
        arguments: [SIGTERM, SIGINT]
    )
    func `a container is stopped while its program still starts`(signal: Int32) async throws {
        let scratch = try ScratchFolder()
        let pipe = scratch.file("feed")
        try #require(mkfifo(pipe, 0o600) == 0)
        let program = try await RunningProgram(
            ["feeds", "check", pipe],
            launcher: Self.namespaces,
            folder: scratch.path,
            waitsForReady: false
        )
        // Opening a pipe for writing waits for a reader (fifo(7)); nothing is written, so that the program goes on reading.
        let writeEnds = Counter<Int32>()
        BlockingThread.start { writeEnds.append(open(pipe, O_WRONLY | O_CLOEXEC)) }
        // Ends that wait in a test that fails: with both directions, opening does not wait.
        defer { close(open(pipe, O_RDWR | O_CLOEXEC)) }
        let ends = await writeEnds.elements(atLeast: 1)
        defer { for end in ends { close(end) } }
        let list = "/proc/\(program.identifier)/task/\(program.identifier)/children"
        let children = try String(contentsOfFile: list, encoding: .utf8).split(separator: " ").compactMap { Int32($0) }
        try #require(children.count == 1)
        #expect(kill(children[0], signal) == 0)
        #expect(await program.end() == 128 + signal, "\(program.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a stop is reported when it begins, and waits for the handler in progress`() async throws {
        let scratch = try ScratchFolder()
        let begun = try NamedPipe(scratch.file("begun"))
        let released = scratch.file("released")
        try #require(mkfifo(released, 0o600) == 0)
        try scratch.write(
            """
            #!/bin/sh
            : > '\(begun.path)'
            read x < '\(released)'
            exit 0
            """,
            to: "handler"
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.file("handler"))
        let environment = ["XDG_STATE_HOME": scratch.path]
        let hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        let agent = try await RunningProgram(
            ["subscribe", "--categories", "World", "--exec", scratch.file("handler")],
            environment: environment,
            folder: scratch.path
        )
        let sent = try await BuiltProgram.run(["send", "--message", "x"], environment: environment)
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(await begun.text() == "")
        agent.signal(SIGTERM)
        await agent.waitForNotice("STOPPING=1")
        #expect(agent.isRunning)
        // With both directions, opening a pipe does not wait for the other end (fifo(7)).
        let end = open(released, O_RDWR | O_CLOEXEC)
        defer { close(end) }
        #expect(write(end, "\n", 1) == 1)
        #expect(await agent.end() == 0)
        hub.signal(SIGTERM)
        await hub.waitForNotice("STOPPING=1")
        #expect(await hub.end() == 0)
    }

    static let credentials: [(label: String, file: String?, variable: String?, status: Int32)] = [
        ("the credential is taken", unreachable + "\n", nil, 69),
        ("the environment comes first", unreachable, "nonsense", 78),
        ("a wrong credential is refused", "nonsense", nil, 78),
        ("a file that is not there yet", "missing", nil, 75),
        ("credentials without ours are passed over", nil, nil, 78),
    ]

    @Test(arguments: credentials)
    func `a connection string can come from the unit's credentials`(
        label: String,
        file: String?,
        variable: String?,
        status: Int32
    ) async throws {
        let scratch = try ScratchFolder()
        try scratch.write("other", to: "certificate")
        if let file { try scratch.write(file, to: "connection") }
        var environment = ["CREDENTIALS_DIRECTORY": scratch.path, "XDG_STATE_HOME": scratch.path]
        environment["NEWSWIRE_CONNECTION_STRING"] = variable
        let outcome = try await BuiltProgram.run(["send", "--message", "x"], environment: environment)
        #expect(outcome.status == status, "\(label): \(outcome.errors)")
        #expect(!outcome.errors.contains("eA=="))
        if status == 75 { #expect(outcome.errors.contains("LoadCredential= does not exist")) }
        let check = try await BuiltProgram.run(["check", "publisher", "agent"], environment: environment)
        let isWrong = (variable ?? file) == "nonsense"
        #expect(check.errors.contains("cannot be used") == isWrong, "\(label): \(check.errors)")
    }
}
