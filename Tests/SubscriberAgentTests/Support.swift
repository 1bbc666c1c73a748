import Foundation
import HostSystem
import HubProtocol
import HubTestServer
import Synchronization
import Testing

@testable import SubscriberAgent

/// A directory that goes with the test.
final class Scratch: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "agent-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func stateDirectory() throws -> StateDirectory {
        try StateDirectory.locate(role: "agent", profile: nil, override: path, environment: [:])
    }

    /// An executable shell script.
    ///
    /// Written by a child: a descriptor of ours, open for writing while another test forks, makes its start fail with
    /// ETXTBSY.
    func script(_ name: String, _ text: String) async throws -> String {
        let path = file(name)
        let writer = ChildProcess(
            arguments: ["/bin/sh", "-c", "cat > \"$0\" && chmod 700 \"$0\"", path],
            environment: ["PATH": "/usr/bin:/bin"],
            input: "#!/bin/sh\n\(text)\n"
        )
        try #require(try await writer.run().isSuccess)
        return path
    }

    func read(_ name: String) -> String {
        (try? String(contentsOfFile: file(name), encoding: .utf8)) ?? ""
    }
}

/// A world in which no time passes but what the test or a sleep lets pass.
final class FakeWorld: Sendable {
    struct State {
        var now = Date(timeIntervalSince1970: 1_750_000_000)
        var elapsed = Duration.zero
        var sleeps: [Duration] = []
        var warnings: [String] = []
        var notices: [String] = []
        var hints: [AgentHint] = []
    }

    let state = Mutex(State())
    /// Lets one more line or sleep be awaited.
    let changes = Signal()
    /// Called before a sleep returns.
    let onSleep = Mutex<(@Sendable (Duration) async -> Void)?>(nil)

    var environment: AgentEnvironment {
        var environment = AgentEnvironment(
            reporter: AgentReporter(
                warning: { line in
                    self.state.withLock { $0.warnings.append(line) }
                    self.changes.notify()
                },
                notice: { line in
                    self.state.withLock { $0.notices.append(line) }
                    self.changes.notify()
                },
                hint: { hint in self.state.withLock { $0.hints.append(hint) } }
            )
        )
        environment.now = { self.state.withLock { $0.now } }
        environment.elapsed = { self.state.withLock { $0.elapsed } }
        environment.sleep = { duration in
            try Task.checkCancellation()
            self.state.withLock {
                $0.sleeps.append(duration)
                $0.elapsed += duration
            }
            self.changes.notify()
            if let onSleep = self.onSleep.withLock({ $0 }) { await onSleep(duration) }
            await Task.yield()
            try Task.checkCancellation()
        }
        environment.random = { 0.5 }
        return environment
    }

    var hints: [AgentHint] { state.withLock { $0.hints } }
    var warnings: [String] { state.withLock { $0.warnings } }
    var notices: [String] { state.withLock { $0.notices } }
    /// What was waited for, but for the end of a handler at a stop.
    var sleeps: [Duration] { state.withLock { $0.sleeps.filter { $0 != HandlerLimits().drain } } }

    func pass(_ duration: Duration) { state.withLock { $0.elapsed += duration } }
    func setWallClock(_ change: (Date) -> Date) { state.withLock { $0.now = change($0.now) } }
}

/// An output that keeps lines, and fails as it is told.
final class FakeOutput: HandlerOutput {
    private struct State {
        var lines: [String] = []
        var failures: [HandlerFailure] = []
        var gate: Gate?
    }

    private let state = Mutex(State())
    let changes = Signal()
    let begun = Signal()
    private let starts = Mutex(0)

    var lines: [String] { state.withLock { $0.lines } }

    func fail(_ failures: [HandlerFailure]) { state.withLock { $0.failures = failures } }

    /// Lets no line through before the gate is open.
    func hold(at gate: Gate) { state.withLock { $0.gate = gate } }

    func waitForStart() async { await begun.wait { self.starts.withLock { $0 } > 0 } }

    func write(_ bytes: [UInt8], within limit: Duration) async throws(HandlerFailure) {
        starts.withLock { $0 += 1 }
        begun.notify()
        await state.withLock { $0.gate }?.opened()
        let failure: HandlerFailure? = state.withLock { state in
            if !state.failures.isEmpty { return state.failures.removeFirst() }
            state.lines.append(String(String(decoding: bytes, as: UTF8.self).dropLast()))
            return nil
        }
        changes.notify()
        if let failure { throw failure }
    }

    func wait(forLines count: Int) async { await changes.wait { self.lines.count >= count } }
}

extension Arrival {
    static func sample(_ number: Int, template: String = "newswire", title: String? = nil) -> Arrival {
        let body = #"{"title":"\#(title ?? "title \(number)")","message":"message \#(number)","category":"World"}"#
        return Arrival(
            kind: .message,
            id: "m\(number)",
            template: template,
            body: body,
            content: MessageContent(body: body),
            failure: nil
        )
    }
}

extension Timestamp {
    static let sample = Timestamp(milliseconds: 1_750_000_000_000)
}
