import Foundation
import HubTestServer
import NetworkAddresses
import Synchronization
import Testing

@testable import ReplicatedLog

/// Log servers on this machine: one alone, or several in a cluster.
final class LogServers: Sendable {
    /// The engine that `make oracles` installs beside the Python of ``Oracle``; `nil` where it did not.
    static let program = Oracle.python.map { URL(filePath: $0).deletingLastPathComponent().path + "/nats-server" }
        .flatMap { FileManager.default.isExecutableFile(atPath: $0) ? $0 : nil }
    static let reason: Comment = "'make oracles' installs the log's servers"

    private let folder: ScratchFolder
    /// The first server's disk; `nil` for the same as the others'.
    private let disk: SmallDisk?
    let servers: [LogServerProcess]

    /// Starts them; `settings` are lines for all their configuration files, and `jetStream` for that part of them.
    init(_ count: Int = 1, settings: String = "", jetStream: String = "", disk: SmallDisk? = nil) async throws {
        folder = try ScratchFolder()
        self.disk = disk
        let (ports, routes) = (try Self.freePorts(count), try Self.freePorts(count))
        let peers = routes.map { "\"nats://127.0.0.1:\($0)\"" }.joined(separator: ", ")
        var servers: [LogServerProcess] = []
        for (number, port) in ports.enumerated() {
            let cluster =
                count == 1 ? "" : "cluster { name: test, listen: \"127.0.0.1:\(routes[number])\", routes: [\(peers)] }"
            let file = folder.file("server\(number).conf")
            let store = number == 0 ? disk?.path ?? folder.file("store0") : folder.file("store\(number)")
            try """
            server_name: log\(number)
            listen: "127.0.0.1:\(port)"
            jetstream { store_dir: "\(store)", sync_interval: always, \(jetStream) }
            \(cluster)
            \(settings)

            """.write(toFile: file, atomically: true, encoding: .utf8)
            servers.append(LogServerProcess(name: "log\(number)", port: port, configuration: file))
        }
        self.servers = servers
        for server in servers { try await server.start() }
    }

    deinit { for server in servers { server.send(SIGKILL) } }

    func configuration(_ node: String = "a", replicas: Int? = nil) throws -> ReplicatedLogConfiguration {
        var configuration = ReplicatedLogConfiguration(
            servers: try servers.map { try #require(LogServer("nats://127.0.0.1:\($0.port)")) },
            name: "test",
            node: node
        )
        configuration.replicas = replicas ?? servers.count
        // Elements come from entries alone.
        configuration.wakeUpInterval = .seconds(3_600)
        return configuration
    }

    /// Starts a server again so that it has no connection to the others, and nodes can still reach it.
    func cutOff(_ server: LogServerProcess) async throws {
        await server.end()
        let ports = try Self.freePorts(2)
        let text = try String(contentsOfFile: server.configuration, encoding: .utf8)
        let cluster =
            "cluster { name: test, listen: \"127.0.0.1:\(ports[0])\", routes: [\"nats://127.0.0.1:\(ports[1])\"] }"
        try text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("cluster ") ? cluster : String($0) }.joined(separator: "\n")
            .write(toFile: server.configuration, atomically: true, encoding: .utf8)
        try await server.start()
    }

    /// Joins the log as a node.
    func node(
        _ name: String = "a",
        _ change: (inout ReplicatedLogConfiguration) -> Void = { _ in }
    ) async throws -> ReplicatedLog {
        var configuration = try configuration(name)
        change(&configuration)
        configuration.readingPatience = configuration.patience
        return try await ReplicatedLog.connect(configuration, logger: .quiet)
    }

    /// The server that leads the log's stream.
    func leader(of node: ReplicatedLog) async throws -> LogServerProcess {
        let name = try await ReplicatedLog.blocking {
            try RetryDeadline(.seconds(20)).run { rest in
                guard let leader = try node.log.stream.info(within: rest).cluster?.leader, !leader.isEmpty else {
                    throw LogStream.Unanswered("no leader")
                }
                return leader
            }
        }
        return try #require(servers.first { $0.name == name })
    }

    /// Gives the lead of the log's stream to a server.
    func lead(_ node: ReplicatedLog, with name: String) async throws {
        let stream = node.log.stream.configuration.subjects.stream
        let placement = #"{"placement":{"preferred":"\#(name)"}}"#
        for _ in 0..<20 where try await leader(of: node).name != name {
            _ = try? await node.engine("STREAM.LEADER.STEPDOWN.\(stream)", placement)
        }
        try #require(try await leader(of: node).name == name)
    }

    private struct NoFreePort: Error {}

    private static func freePorts(_ count: Int) throws -> [UInt16] {
        // All at once, so that they differ.
        let sockets = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        defer { for socket in sockets { close(socket) } }
        return try sockets.map { socket in
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            // The system gives connections those from 32768 on: one of them could get the port before the server does.
            for _ in 0..<1_000 {
                let port = UInt16.random(in: 10_000..<32_768)
                address.sin_port = port.bigEndian
                let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) == 0 }
                }
                if isBound { return port }
            }
            throw NoFreePort()
        }
    }
}

/// A log server, which can be ended in every way and started again.
final class LogServerProcess: Sendable {
    let name: String
    let port: UInt16
    let configuration: String
    private let process = Mutex<Process?>(nil)

    init(name: String, port: UInt16, configuration: String) {
        self.name = name
        self.port = port
        self.configuration = configuration
    }

    /// Returns when it takes connections.
    func start() async throws {
        let process = Process()
        process.executableURL = URL(filePath: try #require(LogServers.program))
        process.arguments = ["-c", configuration]
        process.standardOutput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardError = pipe
        let (ready, continuation) = AsyncStream<Bool>.makeStream()
        let log = Printed()
        // A thread: Dispatch's sources of descriptors that are closed soon can crash on Linux.
        let reader = Thread {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(pipe.fileHandleForReading.fileDescriptor, &bytes, bytes.count)
                guard count > 0 else { break }
                if log.append(String(decoding: bytes[..<count], as: UTF8.self)).contains("Server is ready") {
                    continuation.yield(true)
                }
            }
            continuation.finish()
        }
        try process.run()
        reader.start()
        self.process.withLock { $0 = process }
        // One that neither takes connections nor ends is ended, and the wait with it.
        let limit = Task {
            try await Task.sleep(for: WaitLimit.duration)
            send(SIGKILL)
        }
        defer { limit.cancel() }
        let isReady = await ready.first { $0 }
        try #require(isReady == true, "\(log.text)")
    }

    func send(_ number: Int32) {
        process.withLock { process in
            guard let process, process.isRunning else { return }
            kill(process.processIdentifier, number)
        }
    }

    /// Pauses it, and returns when none of its threads answers any more: on a busy machine that takes a while.
    func pause() {
        send(SIGSTOP)
        guard let process = process.withLock({ $0 }) else { return }
        var change = siginfo_t()
        waitid(P_PID, id_t(process.processIdentifier), &change, WSTOPPED | WEXITED | WNOWAIT)
    }

    /// Ends it as a power cut would, and returns when it has ended.
    func end() async {
        send(SIGKILL)
        let process = process.withLock { $0 }
        guard let process else { return }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                process.waitUntilExit()
                continuation.resume()
            }
        }
    }

    private final class Printed: Sendable {
        private let lines = Mutex("")

        var text: String { lines.withLock { $0 } }

        func append(_ text: String) -> String {
            lines.withLock { lines in
                lines += text
                return lines
            }
        }
    }
}
