import Foundation
import Glibc
import HubTestServer
import Testing

@testable import OutboundHTTP

/// Connections whose packets are lost from one moment on, while new connections work.
///
/// The tests of ``Inside`` run in a process of their own, in a network namespace in which that process may drop packets.
struct LostPacketsTests {
    private static let variable = "NEWSWIRE_TEST_LOST_PACKETS"
    private static let isInside = ProcessInfo.processInfo.environment[variable] != nil
    private static let path = "/usr/sbin:/usr/bin:/sbin:/bin"

    /// Runs a program and returns its exit status and output.
    @discardableResult
    private static func run(_ arguments: [String], _ environment: [String: String] = [:]) throws -> (Int32, String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["PATH": path]) { $1 }
            .merging(environment) { $1 }
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    /// Runs what follows in a namespace, for three minutes at most.
    private static let namespace = [
        "timeout", "--kill-after=5", "180", "unshare", "--user", "--map-root-user", "--net",
    ]

    /// True if a namespace can be made, and packets dropped in it.
    static let isPossible: Bool = {
        guard !isInside else { return false }
        let drop = "iptables -A INPUT -p tcp --dport 1 -j DROP"
        let isPossible = (try? run(namespace + ["sh", "-c", "ip link set lo up && \(drop)"]).0) == 0
        if !isPossible {
            print(
                "skipped: lost packets need 'unshare', 'ip' and 'iptables', and the right to make a network namespace"
            )
        }
        return isPossible
    }()

    @Test(.enabled(if: isPossible, "no network namespace can be made, or no packets dropped in it"))
    func `connections whose packets are lost are replaced in time`() async throws {
        let program = try #require(FileManager.default.contents(atPath: "/proc/self/cmdline"))
        // The program, and the bundle of tests that it loads, if that is another file.
        let words = program.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let bundle = words.firstIndex(of: "--test-bundle-path").map { Array(words[$0...].prefix(2)) } ?? []
        let inner =
            [executable] + bundle + ["--testing-library", "swift-testing", "--filter", "LostPacketsTests.Inside"]
        let command = Self.namespace + ["sh", "-c", "ip link set lo up && exec \"$@\"", "sh"] + inner
        let (status, text) = try await Task.detached { try Self.run(command, [Self.variable: "1"]) }.value
        #expect(status == 0, "\(text)")
        let passed = Inside.Way.allCases.count { text.contains("back after a loss by \($0) in ") }
        #expect(passed == Inside.Way.allCases.count, "\(text)")
    }

    @Suite(.enabled(if: isInside, "runs in a process of its own"), .timeLimit(.minutes(2)))
    struct Inside {
        enum Way: String, CaseIterable, Sendable {
            /// Requests of Web Push, FCM and for tokens.
            case http2
            /// Requests to servers without HTTP/2.
            case http1
            /// Requests to APNs.
            case batch
            /// The connection is lost while there are no requests.
            case idle
        }

        /// Time after which lost connections are ended; with `NEWSWIRE_TEST_LOST_PACKETS=real` that of the program.
        private static let isReal = ProcessInfo.processInfo.environment[variable] == "real"
        private static let patience = isReal ? OutboundClient.lossPatience : .seconds(5)

        /// The client's end of a connection.
        private struct Connection {
            let port: Int
            /// Number of its socket.
            let inode: Substring
        }

        /// The connections to a port that are open now.
        private static func connections(to port: Int) throws -> [Connection] {
            let rows = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8).split(separator: "\n")
                .dropFirst()
            return rows.compactMap { row in
                let fields = row.split(separator: " ")
                let ends = fields[1...2].compactMap { $0.split(separator: ":").last.flatMap { Int($0, radix: 16) } }
                guard ends.count == 2, ends[1] == port, fields[3] == "01" else { return nil }
                return Connection(port: ends[0], inode: fields[9])
            }
        }

        /// Returns when the kernel has ended a connection, which may take a minute.
        private static func waitUntilEnded(_ connection: Connection) async throws {
            let folder = "/proc/self/fd"
            let name = try FileManager.default.contentsOfDirectory(atPath: folder).first { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
                return target == "socket:[\(connection.inode)]"
            }
            // With a descriptor of its own, the test sees the end of a socket that the client has closed meanwhile.
            let socket = fcntl(try #require(name.flatMap { CInt($0) }), F_DUPFD_CLOEXEC, 0)
            try #require(socket >= 0)
            defer { close(socket) }
            let events = await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    // The end and errors are reported without being asked for.
                    var entry = pollfd(fd: socket, events: 0, revents: 0)
                    let limit = ContinuousClock.now + .seconds(60)
                    var count: CInt = 0
                    repeat {
                        count = poll(&entry, 1, 60_000)
                    } while count < 0 && errno == EINTR && ContinuousClock.now < limit
                    continuation.resume(returning: count == 1 ? CInt(entry.revents) : 0)
                }
            }
            try #require(events & CInt(POLLHUP | POLLERR) != 0, "the connection is still open")
        }

        /// Drops all packets of the connections to a port that are open now.
        private static func lose(_ port: Int) throws {
            let connections = try connections(to: port)
            try #require(!connections.isEmpty)
            for connection in connections {
                for side in ["--sport", "--dport"] {
                    let end = [side, "\(connection.port)"]
                    let rule = ["iptables", "-w", "-A", "INPUT", "-p", "tcp"] + end + ["-j", "DROP"]
                    try #require(try run(rule).0 == 0)
                }
            }
        }

        /// Answers each request when its body has come.
        private static func answer(_ frame: FrameServer.Frame) -> FrameServer.Answer {
            guard frame.type == 0, frame.flags & 1 == 1 else { return .nothing }
            return .bytes(HTTP2Bytes.headers(frame.stream, [(":status", "200")], ends: true))
        }

        @Test(arguments: Way.allCases) func `a lost connection is replaced`(_ way: Way) async throws {
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
            let server = try await FrameServer(
                protocols: way == .http1 ? ["http/1.1"] : ["h2"],
                http1: way == .http1 ? Array(reply.utf8) : nil,
                Self.answer
            )
            let client = OutboundClient(
                userAgent: "test/1",
                multiplexedConnectionsPerHost: 4,
                proxies: .none,
                asksSilentHostsAfter: Self.isReal ? .seconds(10) : .seconds(2),
                endsLostConnectionsAfter: Self.patience
            )
            var request = OutboundRequest(
                method: "POST",
                url: server.url,
                body: Array("{}".utf8),
                totalTimeout: .seconds(30),
                idleTimeout: nil,
                addresses: .any
            )
            request.certificateAuthorities = server.authorities
            func send() async throws {
                guard way == .batch else {
                    _ = try await client.send(request)
                    return
                }
                let (stream, continuation) = AsyncStream<Result<OutboundResponse, OutboundError>>.makeStream()
                client.send(request, to: [OutboundTarget(path: "/a")]) { results in
                    for (_, result) in results { continuation.yield(result) }
                }
                for await result in stream.prefix(1) { _ = try result.get() }
            }
            try await send()
            try Self.lose(server.port)
            let start = ContinuousClock.now
            if way == .idle {
                for connection in try Self.connections(to: server.port) { try await Self.waitUntilEnded(connection) }
            }
            var failures = 0
            while true {
                do {
                    try await send()
                    break
                } catch {
                    failures += 1
                    try #require(failures < 10, "\(error)")
                }
            }
            let time = ContinuousClock.now - start
            #expect(way != .idle || failures == 0, "a connection that is lost while it is idle costs no request")
            // A request alone would give up after 30 seconds.
            #expect(time < .seconds(Self.isReal ? 40 : 20), "\(failures) failures")
            print("back after a loss by \(way.rawValue) in \(time)")
            await client.shutdown()
        }
    }
}
