import Foundation
import HostSystem
import HubTestServer
import Synchronization
import Testing

/// The program as it was built, run as a user runs it.
enum BuiltProgram {
    /// `$NEWSWIRE_BINARY`, else the one beside the test bundle.
    static let path: String = {
        if let path = ProcessInfo.processInfo.environment["NEWSWIRE_BINARY"], !path.isEmpty { return path }
        let executable = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
        return executable.appending(component: "newswire").path
    }()

    /// Where the feed samples lie.
    static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
    }

    /// The installation id that an agent with these options says of itself.
    static func installation(of options: [String]) async throws -> String {
        let categories = try await run(["categories"] + options)
        let line = try #require(categories.errors.split(separator: "\n").last)
        return try #require(line.split(separator: "'").last.map(String.init))
    }

    /// Runs a command to its end.
    static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        timeout: Duration = .seconds(300),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let child = ChildProcess(
            arguments: [path] + arguments,
            environment: base.merging(environment) { $1 },
            timeout: timeout,
            maximumOutputBytes: 8 << 20
        )
        let outcome = try await child.run()
        var status: Int32 = -1
        if case .exited(let code) = outcome.ending { status = code }
        if outcome.interruption != nil {
            Issue.record("\(arguments) did not end: \(outcome.standardError)", sourceLocation: sourceLocation)
        }
        return Outcome(status: status, output: outcome.standardOutput, errors: outcome.standardError)
    }

    /// No state of whoever runs the tests is found.
    static var base: [String: String] {
        var environment = [
            "PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "SWIFT_BACKTRACE": "enable=no",
            // Nor that of services on this machine.
            "XDG_STATE_HOME": "/nonexistent",
        ]
        environment["LD_LIBRARY_PATH"] = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
        return environment
    }
}

/// A program that stays until it is told to stop; it says `READY=1` as it would to systemd.
///
/// Nothing that waits for it waits for ever: one that is not ready, or does not end, within the limit is killed.
final class RunningProgram: Sendable {
    private let process: Process
    private let ended: AsyncStream<Void>
    private let notices: NotifySocket
    private let errorFile: String

    /// Starts it and returns when it is ready, or has ended.
    ///
    /// `launcher` is a command that starts the program in another way, such as `unshare`. `folder` holds its notify socket and its output.
    /// `directory` is its working directory. `terminal` is its standard error if that is not a file. A program that never sends `READY=1` is
    /// not waited for.
    init(
        _ arguments: [String],
        launcher: [String] = [],
        environment: [String: String] = [:],
        folder: String,
        directory: String? = nil,
        terminal: FileHandle? = nil,
        waitsForReady: Bool = true
    ) async throws {
        let tag = UUID().uuidString.prefix(8)
        notices = try NotifySocket(path: "\(folder)/n\(tag)")
        errorFile = "\(folder)/e\(tag)"
        _ = FileManager.default.createFile(atPath: errorFile, contents: nil)
        let process = Process()
        let command = launcher + [BuiltProgram.path] + arguments
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        if let directory { process.currentDirectoryURL = URL(filePath: directory) }
        var variables = BuiltProgram.base.merging(environment) { $1 }
        variables["NOTIFY_SOCKET"] = notices.path
        process.environment = variables
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = terminal ?? FileHandle(forWritingAtPath: errorFile)
        let (ended, continuation) = AsyncStream<Void>.makeStream()
        let notices = self.notices
        process.terminationHandler = { _ in
            continuation.finish()
            notices.close()
        }
        self.process = process
        self.ended = ended
        try process.run()
        if waitsForReady { await waitForNotice("READY=1") }
    }

    /// A test that fails leaves nothing behind.
    deinit { signal(SIGKILL) }

    var isRunning: Bool { process.isRunning }
    /// The id of the process that was started: the launcher's, if there is one.
    var identifier: Int32 { process.processIdentifier }
    var errors: String { (try? String(contentsOfFile: errorFile, encoding: .utf8)) ?? "" }

    /// Waits until the program says this to its service manager, or ends.
    func waitForNotice(_ text: String) async { await limited { await notices.wait(for: text) } }

    /// Kills the program if a wait takes too long: its end ends the wait.
    private func limited(_ wait: () async -> Void) async {
        let limit = Task {
            try await Task.sleep(for: WaitLimit.duration)
            signal(SIGKILL)
        }
        defer { limit.cancel() }
        await wait()
    }

    func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// Waits for the end.
    ///
    /// - Returns: The exit code, or the signal's number.
    @discardableResult
    func end() async -> Int32 {
        await limited { for await _ in ended {} }
        return process.terminationStatus
    }

    @discardableResult
    func stop() async -> Int32 {
        signal(SIGTERM)
        return await end()
    }

    func killNow() async {
        signal(SIGKILL)
        await end()
    }
}

/// A datagram socket like systemd's, read on a thread of its own.
private final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32
    private let messages: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    private let isClosed = Mutex(false)

    init(path: String) throws {
        self.path = path
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        // As a service manager's: a program that root starts may run as somebody else.
        try #require(chmod(path, 0o777) == 0)
        let (messages, continuation) = AsyncStream<String>.makeStream()
        self.messages = messages
        self.continuation = continuation
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                continuation.yield(String(decoding: buffer[..<count], as: UTF8.self))
            }
            continuation.finish()
            Glibc.close(descriptor)
        }
    }

    func wait(for text: String) async {
        for await message in messages where message.contains(text) { return }
    }

    /// Wakes the reading thread with an end.
    func close() {
        let isFirst = isClosed.withLock { closed in
            defer { closed = true }
            return !closed
        }
        if isFirst { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
}

/// A folder of one test, removed with it.
final class ScratchFolder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(component: "nw-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
    }
}

/// A port that was free a moment ago, for a server that must come back to the same one.
///
/// It is below those that the system gives to connections (`ip_local_port_range`), which other tests make meanwhile.
func freePort() throws -> Int {
    for _ in 0..<100 {
        let port = UInt16.random(in: 10_000..<32_000)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        if isBound { return Int(port) }
    }
    throw NoFreePort()
}

private struct NoFreePort: Error {}

/// A socket that is connected to a port of this machine.
func connectedSocket(_ port: Int) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
    }
    try #require(code == 0, "errno \(errno)")
    return descriptor
}
