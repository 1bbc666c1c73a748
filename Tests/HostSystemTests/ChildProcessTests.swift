import Glibc
import HostSystem
import Testing

/// `sh` stands in for handlers here; ``ChildProcess`` itself never uses a shell.
@Suite struct ChildProcessTests {
    private func shell(_ script: String, timeout: Duration = .seconds(30)) -> ChildProcess {
        ChildProcess(
            arguments: ["/bin/sh", "-c", script],
            environment: ["PATH": "/usr/bin:/bin"],
            timeout: timeout,
            killGrace: .milliseconds(100)
        )
    }

    @Test func `arguments, environment and input arrive as given and both outputs come back`() async throws {
        var child = shell("printf '%s|' \"$@\"; env; cat; echo oops >&2; exit 3")
        child.arguments += ["name", "a b", "$(id)", "`x`; rm", ""]
        child.environment = ["NEWSWIRE_ID": "1=2 $HOME"]
        child.input = "body\n"
        let outcome = try await child.run()
        #expect(outcome.ending == .exited(3))
        #expect(outcome.standardOutput.hasPrefix("a b|$(id)|`x`; rm||"))
        #expect(outcome.standardOutput.contains("NEWSWIRE_ID=1=2 $HOME\n"))
        #expect(!outcome.standardOutput.contains("HOME=/"))
        #expect(outcome.standardOutput.hasSuffix("body\n"))
        #expect(outcome.standardError == "oops\n")
        #expect(!outcome.isSuccess)
        #expect(outcome.description == "exited with code 3")
    }

    @Test func `a program by name is found in the path`() async throws {
        #expect(try await ChildProcess(arguments: ["true"]).run().isSuccess)
    }

    @Test func `a program that cannot be started is reported with the reason`() async {
        let error = await #expect(throws: HostError.self) {
            try await ChildProcess(arguments: ["/nonexistent/handler"]).run()
        }
        #expect(error?.description == "cannot run '/nonexistent/handler': no such file or directory")
        await #expect(throws: HostError.self) { try await ChildProcess(arguments: ["/etc/passwd"]).run() }
        await #expect(throws: HostError.self) { try await ChildProcess(arguments: []).run() }
        await #expect(throws: HostError.self) { try await ChildProcess(arguments: ["true", "a\u{0}b"]).run() }
    }

    @Test func `input larger than a pipe is fed while output larger than a pipe is read`() async throws {
        var child = shell("cat")
        child.input = String(repeating: "0123456789abcdef", count: 65_536)
        child.maximumOutputBytes = 2_000_000
        let outcome = try await child.run()
        #expect(outcome.isSuccess)
        #expect(outcome.standardOutput == child.input)
        #expect(!outcome.isOutputTruncated)
    }

    @Test func `a program that does not read its input is not an error`() async throws {
        var child = shell("exec true")
        child.input = String(repeating: "x", count: 1_000_000)
        #expect(try await child.run().isSuccess)
    }

    @Test func `output beyond the bound is dropped and the program goes on`() async throws {
        var child = shell("head -c 1000000 /dev/zero | tr '\\0' x; echo end >&2")
        child.maximumOutputBytes = 1_000
        let outcome = try await child.run()
        #expect(outcome.isSuccess)
        #expect(outcome.standardOutput.utf8.count == 1_000)
        #expect(outcome.standardError == "end\n")
        #expect(outcome.isOutputTruncated)
    }

    @Test func `a program that takes too long is ended`() async throws {
        let outcome = try await shell("sleep 1000", timeout: .milliseconds(50)).run()
        #expect(outcome.interruption == .timedOut)
        #expect(outcome.ending == .signalled(SIGTERM))
    }

    @Test func `cancelling the task ends the program with all it started`() async throws {
        let scratch = try ScratchDirectory()
        let path = scratch.file("open")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let outcome = try await cancelled("exec 9>\(path); sleep 1000 & exec 9>&-")
        #expect(outcome.interruption == .cancelled)
        #expect(outcome.ending == .signalled(SIGTERM))
        #expect(!outcome.isSuccess)
        // The pipe ends with the last process that has it open.
        #expect(await hasEnded(reader))
    }

    /// Waits for a minute until programs have opened and closed a pipe that was opened without waiting.
    private func hasEnded(_ reader: Int32) async -> Bool {
        await Task.detached {
            var entry = pollfd(fd: reader, events: 0, revents: 0)
            return poll(&entry, 1, 60_000) == 1 && entry.revents & Int16(POLLHUP) != 0
        }.value
    }

    @Test func `a program that ignores SIGTERM is killed`() async throws {
        let outcome = try await cancelled("trap '' TERM")
        #expect(outcome.ending == .signalled(SIGKILL))
        #expect(outcome.interruption == .cancelled)
    }

    /// Runs a script that then waits for ever, and cancels it as soon as it does.
    private func cancelled(_ script: String) async throws -> ChildProcess.Outcome {
        let scratch = try ScratchDirectory()
        let path = scratch.file("ready")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let task = Task { try await shell("\(script); : > \(path); while :; do sleep 1; done").run() }
        #expect(await hasEnded(reader))
        task.cancel()
        return try await task.value
    }

    @Test func `a task cancelled before starts nothing`() async throws {
        let scratch = try ScratchDirectory()
        let child = shell(": > \(scratch.file("started"))")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await child.run()
        }
        #expect(try await task.value.interruption == .cancelled)
        #expect(scratch.names.isEmpty)
    }

    @Test func `what a program leaves running is neither waited for nor ended`() async throws {
        let outcome = try await shell("sleep 1000 & echo $!").run()
        #expect(outcome.isSuccess)
        let left = try #require(pid_t(outcome.standardOutput.prefix { $0.isNumber }))
        #expect(kill(left, SIGKILL) == 0)
    }

    @Test func `a program gets the three standard descriptors, default signals and a group of its own`() async throws {
        TerminationSignals.ignoreWriteSignals()
        let leak = open("/dev/null", O_RDONLY)
        defer { close(leak) }
        let outcome = try await shell(
            "ls /proc/self/fd | wc -l; grep -E 'Sig(Ign|Blk)' /proc/self/status; cut -d' ' -f1,5 /proc/$$/stat"
        ).run()
        let lines = outcome.standardOutput.split(separator: "\n")
        try #require(lines.count == 4)
        // The three, and the directory that ls reads.
        #expect(lines[0] == "4")
        // glibc leaves its own two signals, 32 and 33, ignored in a child; programs cannot use them.
        #expect(lines[1].hasSuffix("\t0000000000000000"))
        #expect(["\t0000000000000000", "\t0000000180000000"].contains { lines[2].hasSuffix($0) })
        let group = lines[3].split(separator: " ")
        #expect(group.first == group.last)
    }

    @Test func `many runs at once leave neither zombies nor descriptors`() async {
        // In a process of its own, where nobody else opens any.
        await #expect(processExitsWith: .success) {
            let before = Self.openDescriptors()
            let areRight = try await withThrowingTaskGroup(of: Bool.self) { group in
                // An ordinary user's 1,024 descriptors are enough for their pipes.
                for index in 0..<100 {
                    group.addTask {
                        let child = ChildProcess(arguments: ["/bin/sh", "-c", "exit \(index % 2)"])
                        return try await child.run().ending == .exited(Int32(index % 2))
                    }
                }
                return try await group.allSatisfy { $0 }
            }
            #expect(areRight)
            #expect(Self.openDescriptors() < before + 30)
            #expect(waitpid(-1, nil, WNOHANG) == -1 && errno == ECHILD)
        }
    }

    private static func openDescriptors() -> Int {
        (0..<20_000).count { fcntl(Int32($0), F_GETFD) >= 0 }
    }
}
