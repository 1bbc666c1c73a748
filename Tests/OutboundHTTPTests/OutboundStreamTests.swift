import HubTestServer
import Synchronization
import Testing

@testable import OutboundHTTP

@Suite struct OutboundStreamTests {
    let client = OutboundClient(userAgent: "newswire-test/1")

    /// Without a time of its own a test is not about time, however long others hold the machine.
    private func request(_ url: String, idle: Duration? = .seconds(600)) -> OutboundRequest {
        OutboundRequest(url: url, totalTimeout: nil, idleTimeout: idle, addresses: .any, redirectAddresses: .any)
    }

    /// Reads until so many bytes came.
    private func read(_ stream: OutboundStream, _ count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let chunk = try await stream.nextChunk() { bytes += chunk }
        return bytes
    }

    @Test func `chunks arrive while the reply is open and the end is the end`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(headers: [("X-A", "b")], script) }
        let stream = try await client.stream(request(server.url("/")))
        #expect(stream.status == 200)
        #expect(stream.headers["X-A"] == "b")
        for text in ["one", "two", "three"] {
            script.send(text)
            #expect(try await read(stream, text.utf8.count) == Array(text.utf8))
        }
        script.end()
        #expect(try await stream.nextChunk() == nil)
        #expect(try await stream.nextChunk() == nil)
    }

    @Test func `a slow reader holds the server back and loses nothing`() async throws {
        let total = 20 * 1_048_576
        let written = Mutex(0)
        let progress = Gate()
        let server = try ScriptedHTTPServer { _ in
            .stream { writer in
                var piece = [UInt8](repeating: 0, count: 65_536)
                for index in 0..<(total / piece.count) {
                    piece[0] = UInt8(index % 251)
                    guard writer.write(piece) else { return }
                    written.withLock { $0 += piece.count }
                    if index == 8 { progress.open() }
                }
            }
        }
        let stream = try await client.stream(request(server.url("/")))
        await progress.opened()
        let first = try #require(try await stream.nextChunk())
        #expect(first.count <= Transfer.maximumBufferedBytes)
        // Socket buffers of both sides, the pause bound and what was read; far from everything.
        #expect(written.withLock { $0 } < total / 2)
        var bytes = first
        while let chunk = try await stream.nextChunk() {
            #expect(chunk.count <= Transfer.maximumBufferedBytes)
            bytes += chunk
        }
        #expect(bytes.count == total)
        #expect((0..<(total / 65_536)).allSatisfy { bytes[$0 * 65_536] == UInt8($0 % 251) })
    }

    @Test func `time in which the reader is away does not count as silence`() async throws {
        let server = try ScriptedHTTPServer { _ in
            .stream { $0.write([UInt8](repeating: 7, count: 8 * 1_048_576)) }
        }
        let stream = try await client.stream(request(server.url("/"), idle: .seconds(2)))
        // Another request with the same bound times out in the meantime: so much time has passed.
        let silent = try ScriptedHTTPServer { _ in .never }
        await #expect(throws: OutboundError.self) {
            try await client.stream(request(silent.url("/"), idle: .seconds(3)))
        }
        var count = 0
        while let chunk = try await stream.nextChunk() { count += chunk.count }
        #expect(count == 8 * 1_048_576)
    }

    @Test func `silence ends a stream`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(script) }
        script.send("hello")
        let stream = try await client.stream(request(server.url("/"), idle: .seconds(1)))
        #expect(try await read(stream, 5) == Array("hello".utf8))
        await #expect(
            throws: OutboundError.timedOut(
                host: "127.0.0.1:\(server.port)",
                stage: .reading,
                after: .seconds(1)
            )
        ) { try await stream.nextChunk() }
        await script.disconnected()
    }

    @Test func `a stream that breaks off gives its bytes first and then says so`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(script) }
        script.send("last words")
        let stream = try await client.stream(request(server.url("/")))
        script.cut()
        await script.disconnected()
        #expect(try await read(stream, 10) == Array("last words".utf8))
        await #expect(throws: OutboundError.self) { try await stream.nextChunk() }
    }

    @Test func `cancelling the reading task closes the connection`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(script) }
        let stream = try await client.stream(request(server.url("/")))
        let task = Task { try await stream.nextChunk() }
        task.cancel()
        await #expect(throws: OutboundError.cancelled) { try await task.value }
        await script.disconnected()
        await #expect(throws: OutboundError.cancelled) { try await stream.nextChunk() }
    }

    @Test func `cancel ends a waiting reader`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(script) }
        let stream = try await client.stream(request(server.url("/")))
        let waiting = Task { try await stream.nextChunk() }
        stream.cancel()
        await #expect(throws: OutboundError.cancelled) { try await waiting.value }
        await script.disconnected()
    }

    @Test func `a stream that is let go closes its connection`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(script) }
        _ = try await client.stream(request(server.url("/")))
        await script.disconnected()
    }

    @Test func `a stream outlives the last other hold on its client`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(script) }
        let stream = try await OutboundClient(userAgent: "t").stream(request(server.url("/")))
        script.send("still")
        #expect(try await read(stream, 5) == Array("still".utf8))
    }

    @Test func `shutdown ends open streams`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(script) }
        let stream = try await client.stream(request(server.url("/")))
        let waiting = Task { try await stream.nextChunk() }
        await client.shutdown()
        await #expect(throws: OutboundError.shutDown) { try await waiting.value }
        await script.disconnected()
    }

    @Test func `streams take no connection away from requests`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { $0.path == "/stream" ? .stream(script) : .status(200) }
        let client = OutboundClient(userAgent: "t", maximumConnections: 1, maximumConnectionsPerHost: 1)
        var streams: [OutboundStream] = []
        for _ in 0..<5 { streams.append(try await client.stream(request(server.url("/stream")))) }
        let reply = try await client.send(OutboundRequest(url: server.url("/"), addresses: .any))
        #expect(reply.status == 200)
        #expect(Set(server.requests.map(\.connection)).count == 6)
        for stream in streams { stream.cancel() }
        await script.disconnected(times: 5)
    }

    @Test func `a redirected stream is followed`() async throws {
        let script = ScriptedStream()
        let server = try ScriptedHTTPServer { $0.path == "/" ? .redirect(307, to: "/x") : .stream(script) }
        script.send("there")
        let stream = try await client.stream(request(server.url("/")))
        #expect(stream.url == server.url("/x"))
        #expect(try await read(stream, 5) == Array("there".utf8))
    }

    @Test func `the words of an error reply are read up to a limit`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(404, body: "0123456789") }
        #expect(try await client.stream(request(server.url("/"))).text(limit: 4) == "0123")
        #expect(try await client.stream(request(server.url("/"))).text(limit: 100) == "0123456789")
    }
}
