import Foundation
import Glibc
import HostSystem
import HubTestServer
import ServerSentEvents
import Synchronization
import Testing

@testable import SubscriberAgent

@Suite(.timeLimit(.minutes(10))) struct HandlerTests {
    let stage: Stage
    var hub: ScriptedHub { stage.hub }
    var world: FakeWorld { stage.world }
    var output: FakeOutput { stage.output }

    init() throws { stage = try Stage() }

    @Test func `a failing handler has three tries with waits, and the next row its turn`() async throws {
        let agent = try stage.agent()
        output.fail([.failed("one"), .timedOut(.seconds(30)), .failed("three")])
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        hub.streams[0].message(2, id: "e-2")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        let rows = try await agent.inbox(last: 9)
        #expect(rows.map(\.state) == [.failed, .done])
        #expect(rows.first?.reason == "three")
        #expect(rows.first?.failures == 3)
        #expect(world.sleeps == [.seconds(1), .seconds(5)])
        #expect(world.warnings == ["message 'm1' failed after 3 tries: three"])
        #expect(stage.delivered == ["m2"])
    }

    @Test func `an output that cannot be written uses up no tries: it is reported once, and nothing is lost`()
        async throws
    {
        let full = HandlerFailure.blocked(HostError("cannot write to", "standard output", code: ENOSPC))
        let agent = try stage.agent()
        output.fail([full, full, .outputStalled(.seconds(30)), full, full, full])
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        hub.streams[0].message(2, id: "e-2")
        await output.wait(forLines: 2)
        try await stage.stop(task)
        #expect(world.warnings == ["cannot write to 'standard output': the disk is full; messages wait in the inbox"])
        #expect(world.hints == [.outputSpace])
        #expect(world.notices == ["messages are passed on again"])
        #expect(world.sleeps == [1, 2, 4, 8, 16, 30].map { Duration.seconds($0) })
        let rows = try await agent.inbox(last: 9)
        #expect(rows.map(\.state) == [.done, .done])
        #expect(rows.map(\.attempts) == [1, 1] && rows.map(\.failures) == [0, 0])
        #expect(stage.delivered == ["m1", "m2"])
    }

    @Test func `a stop while the output cannot be written leaves the row as new`() async throws {
        let gate = Gate()
        world.onSleep.withLock { $0 = { _ in await gate.opened() } }
        let agent = try stage.agent()
        output.fail([.blocked(HostError("cannot write to", "x", code: EDQUOT))])
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        await world.changes.wait { !world.sleeps.isEmpty }
        task.cancel()
        gate.open()
        #expect(try await task.value == .stopped)
        let rows = try await agent.inbox(last: 9)
        #expect(rows.map(\.state) == [.pending] && rows.map(\.attempts) == [0])
    }

    @Test func `a program that cannot be started is not a failure of the message`() async throws {
        let missing = stage.scratch.file("missing")
        await #expect(throws: HandlerFailure.blocked(HostError("cannot run", missing, code: ENOENT))) {
            try await runner(.exec(program: missing)).run(.sample())
        }
    }

    @Test func `a second try is marked, since the first may have done its work`() async throws {
        let agent = try stage.agent()
        output.fail([.failed("no")])
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(output.lines.first?.contains(#""redelivery":true"#) == true)
    }

    @Test func `a stop between the work and its mark gives one marked redelivery`() async throws {
        output.fail([.stopped])
        let first = try stage.start(try stage.agent())
        hub.streams[0].message(1, id: "e-1")
        #expect(try await first.value == .stopped)

        let agent = try stage.agent()
        let second = try stage.start(agent, nil)
        hub.streams[1].message(2, id: "e-2")
        await output.wait(forLines: 2)
        try await stage.stop(second)
        #expect(stage.delivered == ["m1", "m2"])
        #expect(output.lines.map { $0.contains(#""redelivery":true"#) } == [true, false])
        #expect(try await agent.inbox(last: 9).map(\.state) == [.done, .done])
    }

    @Test func `stops do not use up the tries`() async throws {
        let agent = try stage.agent()
        try await agent.store.receive([.sample(1)], cursor: nil, at: .sample)
        for run in 0..<5 {
            output.fail([.stopped])
            #expect(try await stage.start(agent, run == 0 ? ["World"] : nil).value == .stopped)
        }
        let task = try stage.start(agent, nil)
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(stage.delivered == ["m1"])
    }

    @Test func `a stop lets the handler in progress finish`() async throws {
        let (gate, never) = (Gate(), Gate())
        output.hold(at: gate)
        world.onSleep.withLock { $0 = { if $0 == HandlerLimits().drain { await never.opened() } } }
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        hub.streams[0].message(2, id: "e-2")
        await output.waitForStart()
        task.cancel()
        gate.open()
        #expect(try await task.value == .stopped)
        never.open()
        #expect(stage.delivered == ["m1"])
        let rows = try await agent.inbox(last: 9)
        #expect(rows.first?.state == .done)
        #expect(rows.dropFirst().allSatisfy { $0.state == .pending })
    }

    @Test func `a handler that outlasts the stop is ended and its row redelivered`() async throws {
        let pipe = try NamedPipe(stage.scratch.file("pipe"))
        let program = try await stage.scratch.script("slow", "echo started > '\(pipe.path)'; exec sleep 60")
        let agent = try stage.agent()
        let task = try stage.start(agent, handler: .exec(program: program))
        hub.streams[0].message(1, id: "e-1")
        #expect(await pipe.text() == "started\n")
        task.cancel()
        #expect(try await task.value == .stopped)
        let row = try #require(try await agent.inbox(last: 1).first)
        #expect(row.state == .started)
        #expect(row.failures == 0)
        #expect(try await agent.store.startNext()?.isRedelivery == true)
    }

    @Test func `a closed output ends quietly and the row is not lost`() async throws {
        output.fail([.outputClosed])
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        let ending = try await task.value
        #expect(ending == .outputClosed)
        #expect(ending.exitCode == 0)
        #expect(world.warnings.isEmpty)
        let rows = try await agent.inbox(last: 9)
        #expect(rows.map(\.state) == [.pending])
        #expect(rows.map(\.attempts) == [0])
    }

    @Test func `a program gets the message in its environment and on its input`() async throws {
        let program = try await stage.scratch.script(
            "handler",
            """
            cd "$(dirname "$0")"
            printf '%s|%s|%s|%s|%s|%s' "$NEWSWIRE_ID" "$NEWSWIRE_TITLE" "$NEWSWIRE_MESSAGE" "$NEWSWIRE_CATEGORY" \\
                "$NEWSWIRE_REDELIVERY" "$#" > variables
            printf '%s' "$NEWSWIRE_BODY" > body
            env > environment
            cat > input
            """
        )
        let record = InboxRecord.sample(title: "$(rm -rf /) 'quoted' --help", attempts: 2)
        try await runner(.exec(program: program), ["NEWSWIRE_CONNECTION": "secret", "NOTIFY_SOCKET": "/s"]).run(record)
        #expect(stage.scratch.read("variables") == "m1|$(rm -rf /) 'quoted' --help|text|World|1|0")
        #expect(stage.scratch.read("body") == record.body)
        #expect(stage.scratch.read("input") == InboxLine(record).json + "\n")
        let environment = stage.scratch.read("environment")
        #expect(!environment.contains("secret"))
        #expect(!environment.contains("NOTIFY_SOCKET"))
        #expect(environment.contains("PATH="))
    }

    @Test func `a program is run for a gap, too, and can tell it from a message`() async throws {
        let program = try await stage.scratch.script(
            "handler",
            """
            cd "$(dirname "$0")"
            printf '%s|%s|%s|%s' "$NEWSWIRE_GAP" "$NEWSWIRE_TITLE" "$NEWSWIRE_MESSAGE" "$NEWSWIRE_BODY" > gap.part
            cat > input
            mv gap.part gap
            """
        )
        let agent = try stage.agent()
        let task = try stage.start(agent, handler: .exec(program: program))
        hub.streams[0].gap(after: "e-1", resumesAt: 7, id: "f-6")
        try await agent.store.wait(forRows: 1, where: "state = 'done'")
        let rows = try await agent.inbox(last: 9)
        try await stage.stop(task)
        let body = #"{"after":"e-1","resumesAt":7,"reason":"the log was too short"}"#
        #expect(stage.scratch.read("gap") == "1|Messages were missed|the log was too short|\(body)")
        #expect(stage.scratch.read("input").contains(#""gap":{"#))
        #expect(rows.map { $0.id.hasPrefix("gap:") } == [true])
    }

    @Test func `a program's failure and its time-out have reasons`() async throws {
        let failing = try await stage.scratch.script("failing", "exit 3")
        await #expect(throws: HandlerFailure.failed("'\(failing)' exited with code 3")) {
            try await runner(.exec(program: failing)).run(.sample())
        }
        let hanging = try await stage.scratch.script("hanging", "exec sleep 60")
        await #expect(throws: HandlerFailure.timedOut(.milliseconds(50))) {
            try await runner(.exec(program: hanging), timeout: .milliseconds(50)).run(.sample())
        }
    }

    @Test func `values that an environment cannot hold are cut, and the input has all`() async throws {
        let program = try await stage.scratch.script("long", "cd \"$(dirname \"$0\")\"; cat > input")
        let record = InboxRecord.sample(title: "a\0b" + String(repeating: "é", count: 100_000))
        try await runner(.exec(program: program)).run(record)
        #expect(stage.scratch.read("input") == InboxLine(record).json + "\n")
        let variables = runner(.exec(program: program)).variables(for: record)
        #expect(Set(variables.keys.filter { $0.hasPrefix("NEWSWIRE_") }).isSubset(of: InboxHandler.variables))
        #expect(variables["NEWSWIRE_TITLE"]?.utf8.count == 65_536)
        #expect(variables["NEWSWIRE_TITLE"]?.hasPrefix("abé") == true)
        #expect(variables["NEWSWIRE_BODY"] == "")
    }

    @Test func `handlers learn what a message replaces, and what replaced it`() throws {
        var record = InboxRecord.sample(
            body: #"{"title":"Cancelled: x","story":"s","status":"withdrawn","replaces":"s t"}"#
        )
        record.supersession = .replaced
        let variables = runner(.json).variables(for: record).filter { $0.key.hasPrefix("NEWSWIRE_S") }
        #expect(
            variables == [
                "NEWSWIRE_STORY": "s", "NEWSWIRE_STATUS": "withdrawn", "NEWSWIRE_SUPERSEDED": "replaced",
            ]
        )
        #expect(runner(.json).variables(for: record)["NEWSWIRE_REPLACES"] == "s t")
        let line = try JSONDecoder().decode([String: String].self, from: Data(InboxLine(record).json.utf8))
        #expect(line["story"] == "s" && line["status"] == "withdrawn" && line["superseded"] == "replaced")
        #expect(line["replaces"] == "s t")
        #expect(InboxLine(record).text == "(replaced later) (withdrawn) Cancelled: x")
        let plain = InboxLine(.sample())
        #expect(plain.story == nil && plain.status == nil && plain.replaces == nil && plain.superseded == nil)
    }

    /// A message of a category; those of one number have one story and one version.
    private func message(_ number: Int, _ category: String, _ story: Int, on stream: Int = 0) {
        let body =
            #"{"title":"\#(category) \#(story)","message":"","category":"\#(category)","story":"s\#(story)","version":"v\#(story)"}"#
        hub.streams[stream].send(
            .init(id: "e-\(number)", data: #"{"id":"m\#(number)","template":"newswire","body":\#(body)}"#)
        )
    }

    @Test func `a story of several categories is printed once, also over a restart, and all are in the inbox`()
        async throws
    {
        let agent = try stage.agent()
        let task = try stage.start(agent, handler: .print)
        message(1, "World", 1)
        message(2, "Europe", 1)
        message(3, "World", 2)
        await output.wait(forLines: 2)
        try await stage.stop(task)
        let second = try stage.start(agent, handler: .print)
        await hub.streams[1].connected()
        message(4, "Top", 1, on: 1)
        message(5, "Europe", 2, on: 1)
        message(6, "Europe", 3, on: 1)
        await output.wait(forLines: 3)
        try await stage.stop(second)
        #expect(output.lines == ["[World] World 1", "[World] World 2", "[Europe] Europe 3"])
        let rows = try await agent.inbox(last: 9)
        #expect(rows.map(\.sameAs) == [nil, "m1", nil, "m1", "m3", nil])
        #expect(rows.allSatisfy { $0.state == .done })
    }

    @Test func `programs get every message of a story, marked`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        message(1, "World", 1)
        message(2, "Europe", 1)
        await output.wait(forLines: 2)
        try await stage.stop(task)
        #expect(output.lines.map { $0.contains(#""sameAs":"m1""#) } == [false, true])
        var record = InboxRecord.sample()
        record.sameAs = "m0"
        #expect(runner(.json).variables(for: record)["NEWSWIRE_SAME_AS"] == "m0")
        #expect(InboxLine(record).text.hasPrefix("(same story) "))
        #expect(runner(.json).variables(for: .sample())["NEWSWIRE_SAME_AS"] == nil)
    }

    @Test func `a program that is not there is found out before anything is sent`() async throws {
        let plain = stage.scratch.file("plain")
        try Data("no".utf8).write(to: URL(filePath: plain))
        for (program, reason) in [("/nowhere/at-all", "no such program"), (plain, "not an executable file")] {
            let agent = try stage.agent()
            let task = try stage.start(agent, handler: .exec(program: program))
            let error = await #expect(throws: AgentError.self) { _ = try await task.value }
            #expect(error?.exit == .badConfiguration)
            #expect(error?.description == "cannot run handler '\(program)': \(reason)")
        }
        #expect(hub.server.requests.isEmpty)
        try runner(.exec(program: "true")).check()
    }

    @Test(arguments: [
        (InboxRecord.sample(), "[World] text"),
        (InboxRecord.sample(attempts: 2), "(again) [World] text"),
        (InboxRecord.sample(title: "\u{1B}[31mred\u{7}\nline", message: ""), "[World] [31mred line"),
        (InboxRecord.sample(kind: .gap, title: "Messages were missed"), "[World] Messages were missed (too old)"),
    ])
    func `lines for people are safe`(record: InboxRecord, expected: String) {
        #expect(InboxLine(record).text == expected)
    }

    private func runner(
        _ handler: InboxHandler,
        _ extra: [String: String] = [:],
        timeout: Duration = .seconds(30)
    ) -> HandlerRunner {
        HandlerRunner(
            handler: handler,
            desktop: nil,
            output: output,
            timeout: timeout,
            environment: ProcessInfo.processInfo.environment.merging(extra) { $1 }
        )
    }
}

extension InboxRecord {
    static func sample(
        kind: Kind = .message,
        title: String = "title",
        message: String = "text",
        attempts: Int = 1,
        ordinal: Int64 = 1,
        body given: String? = nil
    ) -> InboxRecord {
        let body =
            kind == .gap
            ? #"{"after":"e-1","resumesAt":7,"reason":"too old"}"#
            : given ?? #"{"title":"\#(String(repeating: "x", count: title.utf8.count))"}"#
        return InboxRecord(
            ordinal: ordinal,
            kind: kind,
            id: "m1",
            template: "newswire",
            body: body,
            content: given.map { MessageContent(body: $0) }
                ?? MessageContent(title: title, message: message, category: "World"),
            receivedAt: .sample,
            state: .started,
            attempts: attempts,
            failures: 0,
            reason: nil
        )
    }
}

@Suite(.timeLimit(.minutes(10))) struct StandardOutputTests {
    /// Read end and write end.
    private func makePipe() throws -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    private func drain(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &piece, piece.count)
            guard count > 0 else { break }
            bytes += piece.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a closed pipe is reported`() async throws {
        signal(SIGPIPE, SIG_IGN)
        let (reader, writer) = try makePipe()
        close(reader)
        defer { close(writer) }
        await #expect(throws: HandlerFailure.outputClosed) {
            try await StandardOutput(descriptor: writer).write(Array("x\n".utf8), within: .seconds(5))
        }
    }

    @Test func `a terminal that is gone is a closed output`() async throws {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (unlocked, number): (Int32, UInt32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)), which Swift cannot import.
        try #require(terminal >= 0)
        try #require(ioctl(terminal, 0x4004_5431, &unlocked) == 0)
        try #require(ioctl(terminal, 0x8004_5430, &number) == 0)
        let writer = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        try #require(writer >= 0)
        defer { close(writer) }
        let output = StandardOutput(descriptor: writer)
        try await output.write(Array("x\n".utf8), within: .seconds(5))
        close(terminal)
        await #expect(throws: HandlerFailure.outputClosed) {
            try await output.write(Array("x\n".utf8), within: .seconds(5))
        }
    }

    @Test func `a full disk is an obstacle, and no failure of the message`() async throws {
        let writer = open("/dev/full", O_WRONLY)
        try #require(writer >= 0)
        defer { close(writer) }
        await #expect(throws: HandlerFailure.blocked(HostError("cannot write to", "standard output", code: ENOSPC))) {
            try await StandardOutput(descriptor: writer).write(Array("x\n".utf8), within: .seconds(5))
        }
    }

    @Test func `a line that a file took in part is repeated as a whole on a line of its own`() async throws {
        let scratch = try Scratch()
        let writer = open(scratch.file("out"), O_WRONLY | O_CREAT | O_APPEND, 0o600)
        try #require(writer >= 0)
        defer { close(writer) }
        // As after a short write to a disk that was almost full.
        let output = StandardOutput(descriptor: writer, havingWritten: 3, of: Array("first\n".utf8))
        try await output.write(Array("first\n".utf8), within: .seconds(5))
        try await output.write(Array("second\n".utf8), within: .seconds(5))
        #expect(scratch.read("out") == "\nfirst\nsecond\n")
    }

    @Test func `a line that a reader took in part is continued for the same message`() async throws {
        let (reader, writer) = try makePipe()
        let output = StandardOutput(descriptor: writer)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000) + [UInt8(ascii: "\n")]
        await #expect(throws: HandlerFailure.outputStalled(.milliseconds(50))) {
            try await output.write(line, within: .milliseconds(50))
        }
        let rest = Task { try await output.write(line, within: .seconds(60)) }
        var bytes: [UInt8] = []
        while bytes.count < line.count {
            var piece = [UInt8](repeating: 0, count: 65_536)
            let count = read(reader, &piece, piece.count)
            try #require(count > 0)
            bytes += piece.prefix(count)
        }
        try await rest.value
        #expect(bytes == line)
        close(reader)
        close(writer)
    }

    @Test func `a reader that has stopped costs a time-out, and the next message begins a line`() async throws {
        let (reader, writer) = try makePipe()
        let output = StandardOutput(descriptor: writer)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 200_000)
        await #expect(throws: HandlerFailure.outputStalled(.milliseconds(50))) {
            try await output.write(line, within: .milliseconds(50))
        }
        #expect(fcntl(reader, F_SETFL, O_NONBLOCK) == 0)
        let first = drain(reader)
        #expect(!first.isEmpty)
        #expect(first.utf8.count < 200_000)
        try await output.write(Array("second\n".utf8), within: .seconds(5))
        try await output.write(Array("third\n".utf8), within: .seconds(5))
        close(writer)
        #expect(drain(reader) == "\nsecond\nthird\n")
        close(reader)
    }

    @Test func `a stop ends a write that waits`() async throws {
        let (reader, writer) = try makePipe()
        let output = StandardOutput(descriptor: writer)
        let task = Task { () -> HandlerFailure? in
            do throws(HandlerFailure) {
                try await output.write([UInt8](repeating: 0, count: 200_000), within: .seconds(3_600))
                return nil
            } catch {
                return error
            }
        }
        task.cancel()
        #expect(await task.value == .stopped)
        close(reader)
        close(writer)
    }
}
