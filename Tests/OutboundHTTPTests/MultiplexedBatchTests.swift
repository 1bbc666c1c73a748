import Glibc
import HubTestServer
import Testing

@testable import OutboundHTTP

/// Batches over HTTP/2, with hosts that do what no library would.
@Suite struct MultiplexedBatchTests {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    private let client = OutboundClient(
        userAgent: "test/1",
        streamsPerConnection: 4,
        multiplexedConnectionsPerHost: 2,
        proxies: .none
    )

    /// Sends a request to each path and returns the results in order.
    private func send(
        _ paths: [String],
        to server: FrameServer,
        limit: Int = 1_000,
        timeout: Duration = .seconds(60),
        connectTimeout: Duration? = nil,
        queueTimeout: Duration? = nil,
        opensConnection: Bool = false,
        keepsStart: Bool = false,
        with client: OutboundClient? = nil
    ) async -> [Outcome] {
        var common = OutboundRequest(
            method: "POST",
            url: server.url,
            headers: [("Authorization", "bearer x"), ("Connection", "close"), ("Empty", "")],
            body: Array("{}".utf8),
            connectTimeout: connectTimeout ?? timeout,
            totalTimeout: timeout,
            idleTimeout: nil,
            maximumBodyBytes: limit,
            addresses: .any
        )
        common.certificateAuthorities = server.authorities
        common.opensConnection = opensConnection
        common.queueTimeout = queueTimeout
        common.keepsStart = keepsStart
        let (stream, continuation) = AsyncStream<(Int, Outcome)>.makeStream()
        (client ?? self.client).send(
            common,
            to: paths.map { OutboundTarget(path: $0, headers: [("Apns-Id", "id-\($0)")]) }
        ) { results in
            for (place, result) in results { continuation.yield((place, result)) }
        }
        var outcomes: [Int: Outcome] = [:]
        for await (place, outcome) in stream.prefix(paths.count) { outcomes[place] = outcome }
        return paths.indices.compactMap { outcomes[$0] }
    }

    private static func reply(_ stream: UInt32, _ status: String = "200", body: String = "") -> [UInt8] {
        let head = HTTP2Bytes.headers(stream, [(":status", status), ("apns-id", "\(stream)")], ends: body.isEmpty)
        return body.isEmpty ? head : head + HTTP2Bytes.data(stream, Array(body.utf8), ends: true)
    }

    /// Answers each request when its body has come.
    private static func answer(_ frame: FrameServer.Frame, _ status: String = "200", body: String = "") -> [UInt8] {
        frame.type == 0 && frame.flags & 1 == 1 ? reply(frame.stream, status, body: body) : []
    }

    @Test func `requests share connections, as many as the host and we allow, and get their own answers`() async throws
    {
        // MAX_CONCURRENT_STREAMS of 2.
        let greeting = HTTP2Bytes.frame(4, flags: 0, stream: 0, [0, 3, 0, 0, 0, 2])
        let gate = Counter<UInt32>()
        let server = try await FrameServer(greeting: greeting) { frame in
            guard frame.type == 0 else { return .nothing }
            gate.append(frame.stream)
            return .bytes(Self.reply(frame.stream, frame.stream == 1 ? "410" : "200", body: "for \(frame.stream)"))
        }
        let outcomes = await send((0..<40).map { "\($0)" }, to: server)
        let replies = try outcomes.map { try $0.get() }
        #expect(replies.count == 40)
        for reply in replies {
            #expect(String(decoding: reply.body, as: UTF8.self) == "for \(reply.headers["apns-id"] ?? "")")
        }
        #expect(replies.count { $0.status == 410 } == server.connections.count)
        #expect(server.connections.count <= 2)
        #expect(replies[3].url == "\(server.url)3")
        await client.shutdown()
    }

    @Test func `requests that the host refuses without looking at them are sent again`() async throws {
        let server = try await FrameServer { frame in
            switch (frame.connection, frame.type) {
            // Refused (RFC 9113 §7), and the connection takes no more than stream 1.
            case (1, 1) where frame.stream == 3: .bytes(HTTP2Bytes.frame(3, flags: 0, stream: 3, [0, 0, 0, 7]))
            case (1, 1) where frame.stream == 5: .bytes(HTTP2Bytes.goAway(last: 1))
            default: .bytes(frame.connection == 1 && frame.stream != 1 ? [] : Self.answer(frame))
            }
        }
        let outcomes = await send(["a", "b", "c", "d"], to: server)
        #expect(try outcomes.map { try $0.get().status } == [200, 200, 200, 200])
        #expect(server.connections == [1, 2])
        await client.shutdown()
    }

    @Test func `a host that refuses everything is given up`() async throws {
        let began = ContinuousClock.now
        let server = try await FrameServer { frame in
            frame.isRequest ? .bytes(HTTP2Bytes.frame(3, flags: 0, stream: frame.stream, [0, 0, 0, 7])) : .nothing
        }
        let outcomes = await send(["a"], to: server)
        #expect(throws: OutboundError.self) { try outcomes[0].get() }
        #expect(server.frames.elements.count { $0.isRequest } == 5)
        #expect(ContinuousClock.now - began >= .milliseconds(150), "with growing waits")
        await client.shutdown()
    }

    @Test func `a connection that ends leaves each request with what happened to it`() async throws {
        let server = try await FrameServer { frame in
            guard frame.isRequest else { return .nothing }
            switch frame.stream {
            case 1:
                let head = HTTP2Bytes.headers(1, [(":status", "200"), ("content-length", "9")])
                return .bytes(head, HTTP2Bytes.data(1, [1, 2]))
            case 3: return .nothing
            default: return .end
            }
        }
        let outcomes = await send(["a", "b", "c"], to: server)
        #expect(outcomes[0] == .failure(.cut(host: "127.0.0.1:\(server.port)", received: 2, expected: 9)))
        let reason = "the connection ended without an answer"
        let ended = OutboundError.ended(host: "127.0.0.1:\(server.port)", reason: reason)
        #expect(outcomes[1...] == [.failure(ended), .failure(ended)])
        await client.shutdown()
    }

    @Test func `interim answers and trailers are not part of the answer, nor is a reset after it`() async throws {
        let server = try await FrameServer { frame in
            guard frame.isRequest else { return .nothing }
            return .bytes(
                HTTP2Bytes.headers(frame.stream, [(":status", "103"), ("link", "x")]),
                HTTP2Bytes.headers(frame.stream, [(":status", "200"), ("a", "b")]),
                HTTP2Bytes.data(frame.stream, [7]),
                HTTP2Bytes.headers(frame.stream, [("trailer", "x")], ends: true),
                HTTP2Bytes.frame(3, flags: 0, stream: frame.stream, [0, 0, 0, 0])
            )
        }
        let reply = try await send(["a"], to: server)[0].get()
        #expect(reply.status == 200 && reply.body == [7])
        #expect(reply.headers == OutboundHeaders([("a", "b")]))
        await client.shutdown()
    }

    @Test func `answers that are too large or malformed are refused, and others go on`() async throws {
        let server = try await FrameServer { frame in
            guard frame.isRequest else { return .nothing }
            switch frame.stream {
            case 1: return .bytes(Self.reply(1, body: String(repeating: "x", count: 2_000)))
            case 3:
                let long = String(repeating: "y", count: 7_000)
                let fields = [(":status", "200"), ("f0", long), ("f1", long)]
                return .bytes(HTTP2Bytes.headers(3, fields, ends: true))
            case 5: return .bytes(HTTP2Bytes.headers(5, [("no-status", "x")], ends: true))
            default: return .bytes(Self.reply(frame.stream))
            }
        }
        let outcomes = await send(["a", "b", "c", "d"], to: server)
        #expect(outcomes[0] == .failure(.tooLarge(host: "127.0.0.1:\(server.port)", limit: 1_000)))
        #expect(try outcomes[1].get().headers.all("f1").first?.count == 7_000)
        #expect(throws: OutboundError.self) { try outcomes[2].get() }
        #expect(try outcomes[3].get().status == 200)
        await client.shutdown()
    }

    @Test(arguments: [["http/1.1"], ["none"]])
    func `a host without HTTP/2 gets its requests over HTTP/1.1`(protocols: [String]) async throws {
        let reply = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
        let server = try await FrameServer(protocols: protocols, http1: reply)
        for outcome in await send(["a", "b", "c"], to: server) + send(["d"], to: server) {
            let answer = try outcome.get()
            #expect(answer.status == 200 && answer.body == Array("ok".utf8))
        }
        #expect(server.frames.elements.isEmpty, "no preface without h2 in ALPN")
        await client.shutdown()
    }

    @Test func `after requests without an answer in time the next ones get a new connection`() async throws {
        let server = try await FrameServer { frame in
            frame.connection == 1 && frame.stream > 1 ? .nothing : .bytes(Self.answer(frame))
        }
        // What arrives after a request was sent is a sign of life: the settings arrive before this answer.
        #expect(try await send(["first"], to: server)[0].get().status == 200)
        let outcomes = await send(
            ["a", "b"],
            to: server,
            timeout: .milliseconds(300),
            connectTimeout: .seconds(30)
        )
        for outcome in outcomes {
            guard case .failure(.timedOut) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
        }
        #expect(try await send(["f"], to: server)[0].get().status == 200)
        await client.shutdown()
    }

    /// A client that asks silent hosts soon.
    private func impatientClient() -> OutboundClient {
        OutboundClient(
            userAgent: "test/1",
            streamsPerConnection: 4,
            multiplexedConnectionsPerHost: 2,
            proxies: .none,
            asksSilentHostsAfter: .seconds(1)
        )
    }

    @Test func `a connection without an answer to a question for a sign of life is closed`() async throws {
        let asked = Gate()
        let server = try await FrameServer { frame in
            if frame.isPing { asked.open() }
            return frame.connection == 1 ? .nothing : .bytes(Self.answer(frame))
        }
        let impatient = impatientClient()
        let outcomes = await send(["a", "b"], to: server, with: impatient)
        for outcome in outcomes {
            guard case .failure(.ended) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
        }
        // The server may read the question after the client has given up.
        await asked.opened()
        #expect(server.frames.elements.contains { $0.isPing })
        #expect(try await send(["c"], to: server, with: impatient)[0].get().status == 200)
        #expect(server.connections == [1, 2])
        await impatient.shutdown()
    }

    @Test func `a host that gives a sign of life has all of its time for the answer`() async throws {
        let pings = Counter<UInt32>()
        let server = try await FrameServer { frame in
            guard frame.isPing else { return .nothing }
            pings.append(frame.stream)
            let pong = HTTP2Bytes.frame(6, flags: 1, stream: 0, frame.payload)
            return .bytes(pong, pings.elements.count == 2 ? Self.reply(1) : [])
        }
        let impatient = impatientClient()
        #expect(try await send(["a"], to: server, with: impatient)[0].get().status == 200)
        #expect(server.connections == [1])
        await impatient.shutdown()
    }

    @Test func `connections that their host ends do not keep others from being opened`() async throws {
        let taken = Counter<Int>()
        let server = try await FrameServer { frame in
            // The first two connections take one request each, and never answer it.
            if frame.isRequest, frame.stream == 1 { taken.append(frame.connection) }
            if frame.connection <= 2 { return frame.isRequest ? .bytes(HTTP2Bytes.goAway(last: 1)) : .nothing }
            return .bytes(Self.answer(frame))
        }
        async let first = send(["a"], to: server)
        async let second = send(["b"], to: server)
        _ = await taken.elements(atLeast: 2)
        #expect(try await send(["c"], to: server)[0].get().status == 200)
        await client.shutdown()
        for outcome in await first + second { #expect(throws: OutboundError.self) { try outcome.get() } }
    }

    @Test func `the time of a request begins with its stream`() async throws {
        // One request at a time, on two connections, of which the first two do not answer.
        let greeting = HTTP2Bytes.frame(4, flags: 0, stream: 0, [0, 3, 0, 0, 0, 1])
        let server = try await FrameServer(greeting: greeting) { frame in
            frame.connection <= 2 ? .nothing : .bytes(Self.answer(frame))
        }
        let outcomes = await send(
            ["a", "b", "c", "d"],
            to: server,
            timeout: .seconds(2),
            connectTimeout: .seconds(30),
            queueTimeout: .seconds(60)
        )
        let statuses = outcomes.map { try? $0.get().status }
        #expect(statuses == [nil, nil, 200, 200], "the last two have waited for as long as the first two had")
        await client.shutdown()
    }

    @Test func `a reply whose beginning is enough may be longer than its limit`() async throws {
        let server = try await FrameServer { .bytes(Self.answer($0, body: String(repeating: "x", count: 1_001))) }
        #expect(try await send(["a"], to: server, keepsStart: true)[0].get().status == 200)
        guard case .failure(.tooLarge) = await send(["a"], to: server)[0] else { return #expect(Bool(false)) }
        await client.shutdown()
    }

    @Test func `a connection that fell silent is closed when a request on it times out, also by libcurl`() async throws
    {
        let server = try await FrameServer { frame in
            frame.connection == 1 && frame.stream > 1 ? .nothing : .bytes(Self.answer(frame))
        }
        var request = OutboundRequest(
            method: "POST",
            url: server.url,
            body: Array("{}".utf8),
            totalTimeout: .seconds(20),
            idleTimeout: nil,
            addresses: .any
        )
        request.certificateAuthorities = server.authorities
        #expect(try await client.send(request).status == 200)
        request.totalTimeout = .milliseconds(300)
        await #expect(throws: OutboundError.self) { try await client.send(request) }
        request.totalTimeout = .seconds(20)
        #expect(try await client.send(request).status == 200)
        #expect(server.connections == [1, 2])
        await client.shutdown()
    }

    @Test func `the kernel ends a connection whose peer acknowledges nothing for 25 seconds`() throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        LiveConnections.watch(descriptor, patience: OutboundClient.lossPatience)
        func value(_ level: CInt, _ option: CInt) -> CInt {
            var value: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            return getsockopt(descriptor, level, option, &value, &length) == 0 ? value : -1
        }
        #expect(value(SOL_SOCKET, SO_KEEPALIVE) == 1)
        #expect(value(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT) == 25_000)
        let tcp = CInt(IPPROTO_TCP)
        #expect(value(tcp, TCP_KEEPIDLE) + value(tcp, TCP_KEEPINTVL) * 3 <= 25)
    }

    @Test func `a request that asks for a new connection gets one, and the old one its answers`() async throws {
        let server = try await FrameServer { .bytes(Self.answer($0)) }
        #expect(try await send(["a"], to: server)[0].get().status == 200)
        #expect(try await send(["b"], to: server)[0].get().status == 200)
        #expect(server.connections == [1])
        #expect(try await send(["c"], to: server, opensConnection: true)[0].get().status == 200)
        #expect(server.connections == [1, 2])
        await client.shutdown()
    }

    @Test func `a host that cannot be reached or trusted fails each request with the reason`() async throws {
        let server = try await FrameServer { .bytes(Self.answer($0)) }
        var common = OutboundRequest(method: "POST", url: server.url, body: [1], idleTimeout: nil, addresses: .any)
        for (policy, authorities) in [(AddressPolicy.any, "/dev/null"), (.publicOnly, server.authorities)] {
            common.certificateAuthorities = authorities
            common.addresses = policy
            let results = Counter<Outcome>()
            client.send(common, to: ["a", "b"].map { OutboundTarget(path: $0) }) { answers in
                for (_, result) in answers { results.append(result) }
            }
            for result in await results.elements(atLeast: 2) {
                switch (policy, result) {
                case (.any, .failure(.untrusted)), (.publicOnly, .failure(.refusedAddress)): break
                default: Issue.record("\(result)")
                }
            }
        }
        #expect(server.frames.elements.isEmpty)
        await client.shutdown()
    }

    @Test func `a shutdown ends what waits and what is under way`() async throws {
        let server = try await FrameServer { _ in .nothing }
        let client = client
        async let outcomes = send((0..<20).map { "\($0)" }, to: server)
        _ = await server.frames.elements(atLeast: 8)
        await client.shutdown()
        for outcome in await outcomes { #expect(outcome == .failure(.shutDown)) }
        #expect(await send(["x"], to: server) == [.failure(.shutDown)])
    }
}
