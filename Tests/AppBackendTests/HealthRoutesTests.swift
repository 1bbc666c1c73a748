import Foundation
import GRDB
import HubClient
import HubProtocol
import HubTestServer
import NIOCore
import NIOPosix
import OutboundHTTP
import SQLiteFiles
import Synchronization
import Testing

@testable import AppBackend

@Suite struct HealthRoutesTests {
    /// A hub whose every answer is one status, which can change.
    private final class Answers: Sendable {
        private let status: Mutex<Int>

        init(_ first: Int) { status = Mutex(first) }

        var current: Int { status.withLock { $0 } }

        func set(_ new: Int) { status.withLock { $0 = new } }
    }

    /// Runs a backend in front of a hub that answers with a status.
    private func run(
        _ answers: Answers,
        _ clock: TestClock = TestClock(),
        _ body: (TestBackend) async throws -> Void
    ) async throws {
        let scratch = try ScratchFolder()
        let http = OutboundClient(userAgent: "newswire-test/1")
        let server = try ScriptedHTTPServer { _ in .status(answers.current) }
        let connection = try ConnectionString(
            parsing: "Endpoint=\(server.baseURL)/;SharedAccessKeyName=full;SharedAccessKey=c2VjcmV0"
        )
        let client = try HubClient(connection: connection, hub: HubName("news"), http: http)
        try await TestBackend.run(client, store: scratch.file("backend.sqlite")) {
            $0.clock = clock.backend
        } _: {
            try await body($0)
        }
        await http.shutdown()
    }

    @Test(arguments: [("/healthz", "ok\n"), ("/readyz", "ready\n")])
    func `monitors need no credentials, and wrong ones do not matter`(path: String, text: String) async throws {
        try await TestBackend.run { backend, _ in
            for headers in [[], [("Authorization", "Basic (null)")]] {
                let reply = try await backend.send("GET", path, as: nil, headers: headers)
                #expect(reply.status == 200 && reply.body == text)
                let head = try await backend.send("HEAD", path, as: nil, headers: headers)
                #expect(head.status == 200 && head.body.isEmpty)
            }
            let other = try await backend.send("POST", path, as: nil, "")
            #expect(other.status == 404, "\(other.body)")
        }
    }

    /// Sends a request as it is, and reads until the server closes the connection.
    private func exchange(_ text: String, _ port: Int) async throws -> String {
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await connection.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: text))
            var reply = ""
            for try await part in inbound { reply += String(buffer: part) }
            return reply
        }
    }

    @Test(arguments: [("/healthz", "200"), ("/nothing", "404")])
    func `a reply to HEAD has no body, whatever its status`(path: String, status: String) async throws {
        try await run(Answers(404)) { backend in
            let request = "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            let reply = try await exchange(request, backend.port)
            #expect(reply.hasPrefix("HTTP/1.1 \(status) "), "\(reply)")
            #expect(reply.hasSuffix("\r\n\r\n"), "\(reply)")
        }
    }

    @Test func `a hub that answered lately counts, and one that stays away does not`() async throws {
        // 404 is how a hub that is not ours answers a question about its credentials.
        let (answers, clock) = (Answers(404), TestClock())
        try await run(answers, clock) { backend in
            let first = try await backend.send("GET", "/readyz", as: nil)
            #expect(first.status == 200, "\(first.body)")
            answers.set(503)
            clock.advance(by: HubPlatforms.recency - .seconds(1))
            let recent = try await backend.send("GET", "/readyz", as: nil)
            #expect(recent.status == 200, "\(recent.body)")
            clock.advance(by: .seconds(1))
            let late = try await backend.send("GET", "/readyz", as: nil)
            #expect(late.status == 503)
            #expect(late.body == "not ready: the hub refuses requests of the app backend (503)\n")
            let alive = try await backend.send("GET", "/healthz", as: nil)
            #expect(alive.status == 200)
            answers.set(404)
            let again = try await backend.send("GET", "/readyz", as: nil)
            #expect(again.status == 200, "\(again.body)")
        }
    }

    @Test func `a database that cannot be read is reported`() async throws {
        try await run(Answers(404)) { backend in
            try await backend.store.write { try $0.database.execute(sql: "ALTER TABLE account RENAME TO lost") }
            let reply = try await backend.send("GET", "/readyz", as: nil)
            #expect(reply.status == 503)
            #expect(reply.body.hasPrefix("not ready: the database cannot be read: "), "\(reply.body)")
        }
    }
}
