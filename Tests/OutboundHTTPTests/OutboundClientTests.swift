import FoundationEssentials
import HubTestServer
import OutboundHTTP
import Testing

/// Every request here goes to loopback, so those that are to arrive are made with the policy `.any`.
@Suite struct OutboundClientTests {
    let client = OutboundClient(userAgent: "newswire-test/1")

    private func error(_ request: OutboundRequest) async -> OutboundError? {
        do throws(OutboundError) {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    private func local(_ url: String, redirects: Int = 5) -> OutboundRequest {
        OutboundRequest(
            url: url,
            totalTimeout: .seconds(600),
            idleTimeout: .seconds(600),
            maximumRedirects: redirects,
            addresses: .any,
            redirectAddresses: .any
        )
    }

    @Test func `a request travels as it was made and its reply comes back whole`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(201, headers: [("X-A", "b")], body: "created") }
        let reply = try await client.send(
            OutboundRequest(
                method: "POST",
                url: server.url("/a/b?c=d#e"),
                headers: [("X-Test", "ä"), ("X-Empty", "")],
                body: Array("payload".utf8),
                addresses: .any
            )
        )
        #expect(reply.status == 201)
        #expect(reply.headers["x-a"] == "b")
        #expect(String(decoding: reply.body, as: UTF8.self) == "created")
        #expect(reply.url == server.url("/a/b?c=d"))
        #expect(reply.movedPermanentlyTo == nil)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.target == "/a/b?c=d")
        #expect(request.text == "payload")
        #expect(request.header("X-Test") == "ä")
        #expect(request.header("X-Empty") == "")
        #expect(request.header("User-Agent") == "newswire-test/1")
        #expect(request.header("Accept-Encoding") == "gzip, br, zstd")
        #expect(request.header("Content-Type") == nil)
        #expect(request.header("Expect") == nil)
    }

    @Test func `a field is sent back octet for octet`() async throws {
        let tag: [UInt8] = [0x57, 0x2F, 0x22, 0xFF, 0xC3, 0xA4, 0x20, 0x22, 0x2D, 0x67]
        let server = try ScriptedHTTPServer { _ in
            .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag:  ".utf8) + tag + Array(" \r\n\r\n".utf8))
        }
        let reply = try await client.send(local(server.url("/")))
        let field = try #require(reply.headers.field("etag"))
        #expect(field.bytes == tag)
        var request = local(server.url("/"))
        request.echoes = [OutboundHeaders.Field(name: "If-None-Match", bytes: field.bytes)]
        _ = try await client.send(request)
        let lines = try #require(server.requests.last?.head).split(separator: 0x0A)
        #expect(lines.contains { $0.filter { $0 != 0x0D } == Array("If-None-Match: ".utf8) + tag })
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "PUT", "PATCH", "POST", "OPTIONS"])
    func `each method arrives as itself`(_ method: String) async throws {
        let server = try ScriptedHTTPServer { _ in .status(200, body: "body") }
        var request = local(server.url("/"))
        request.method = method
        let reply = try await client.send(request)
        #expect(server.requests.map(\.method) == [method])
        #expect(reply.body.isEmpty == (method == "HEAD"))
    }

    @Test func `a body in a PATCH arrives with its length and none of a form's type`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(204) }
        var request = local(server.url("/"))
        request.method = "PATCH"
        request.body = [0, 1, 2, 255]
        #expect(try await client.send(request).status == 204)
        #expect(server.requests.first?.body == [0, 1, 2, 255])
    }

    @Test(arguments: [304, 404, 410, 429, 500])
    func `every status is a reply`(_ status: Int) async throws {
        let server = try ScriptedHTTPServer { _ in .status(status) }
        #expect(try await client.send(local(server.url("/"))).status == status)
    }

    @Test func `one connection serves requests that follow each other`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200, body: "x") }
        for _ in 0..<5 { _ = try await client.send(local(server.url("/"))) }
        #expect(Set(server.requests.map(\.connection)) == [0])
    }

    /// Handles are used again as they were set up, or set up anew.
    @Test func `a request has nothing of those before it`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200, body: "x") }
        var secret = local(server.url("/").replacing("http://", with: "http://me:pass@"))
        secret.method = "POST"
        secret.headers = [("X-Secret", "s"), ("Content-Type", "text/plain")]
        secret.body = Array("a body".utf8)
        var long = secret
        long.body = Array(repeating: 0x61, count: 100_000)
        var kinds: [OutboundRequest] = []
        let plain: [(String, [UInt8]?)] = [
            ("GET", nil), ("POST", nil), ("POST", []), ("PUT", [0x62]), ("HEAD", nil), ("DELETE", nil),
        ]
        for (method, body) in plain {
            var plain = local(server.url("/"))
            plain.method = method
            plain.body = body
            kinds += [secret, plain, plain, long, plain]
        }
        for request in kinds { _ = try await client.send(request) }
        let received = server.requests
        #expect(received.map(\.method) == kinds.map(\.method))
        for (request, asked) in zip(received, kinds) {
            #expect(request.body == asked.body ?? [])
            #expect(request.header("X-Secret") == (asked.headers.isEmpty ? nil : "s"))
            #expect(request.header("Content-Type") == (asked.headers.isEmpty ? nil : "text/plain"))
            #expect((request.header("Authorization") != nil) == asked.url.contains("me:pass"))
            #expect((request.header("Content-Length") == nil) == ["GET", "HEAD", "DELETE"].contains(asked.method))
        }
        #expect(Set(received.map(\.connection)).count <= 2)
    }

    @Test func `no more connections than allowed go to one host and all requests are answered`() async throws {
        let gate = Gate()
        let server = try ScriptedHTTPServer { _ in .status(200, body: "x").held(by: gate) }
        let client = OutboundClient(userAgent: "t", maximumConnectionsPerHost: 3)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<40 {
                let url = server.url("/\(index)")
                group.addTask {
                    try await client.send(OutboundRequest(url: url, addresses: .any)).status
                }
            }
            _ = await server.requests(atLeast: 3)
            gate.open()
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.requests.count == 40)
        #expect(Set(server.requests.map(\.connection)).count <= 3)
    }

    @Test func `each request of a batch has one result, also when it cannot be sent or the client is shut down`()
        async throws
    {
        let server = try ScriptedHTTPServer { request in .status(request.path == "/0" ? 404 : 200, body: "x") }
        let client = OutboundClient(userAgent: "t")
        func results(_ paths: [String], _ headers: [(name: String, value: String)] = []) async -> [Int: Int?] {
            let (stream, continuation) = AsyncStream<(Int, Int?)>.makeStream()
            let common = OutboundRequest(url: server.url("/"), headers: [("a", "1")] + headers, addresses: .any)
            client.send(common, to: paths.map { OutboundTarget(path: $0, headers: [("b", "p\($0)")]) }) { results in
                for (place, result) in results { continuation.yield((place, try? result.get().status)) }
            }
            var statuses: [Int: Int?] = [:]
            for await (place, status) in stream.prefix(paths.count) { statuses[place] = .some(status) }
            return statuses
        }
        let statuses = await results((0..<40).map { "\($0)" } + ["\n"])
        #expect(statuses.count == 41 && statuses[0] == .some(404) && statuses[40] == .some(nil))
        #expect(statuses.values.count { $0 == 200 } == 39)
        for request in server.requests {
            #expect(request.header("a") == "1" && request.header("b") == "p\(request.path.dropFirst())")
        }
        #expect(await results(["1", "2"], [("c", "\n")]).values.allSatisfy { $0 == nil }, "a header that all have")
        await client.shutdown()
        let refused = await results(["1", "2"])
        #expect(refused.count == 2 && refused.values.allSatisfy { $0 == nil })
    }

    @Test func `idle connections count towards the limit for all hosts together`() async throws {
        let gate = Gate()
        let (older, newer) = (
            try ScriptedHTTPServer { _ in .status(200) }, try ScriptedHTTPServer { _ in .status(200).held(by: gate) }
        )
        let client = OutboundClient(userAgent: "t", maximumConnections: 1, maximumConnectionsPerHost: 1)
        #expect(try await client.send(OutboundRequest(url: older.url("/"), addresses: .any)).status == 200)
        let begin = ContinuousClock.now
        async let reply = client.send(OutboundRequest(url: newer.url("/"), addresses: .any))
        // libcurl compares the ages of connections in whole milliseconds; requests of another client take their time.
        let other = OutboundClient(userAgent: "o")
        repeat {
            #expect(try await other.send(OutboundRequest(url: older.url("/"), addresses: .any)).status == 200)
        } while ContinuousClock.now - begin < .milliseconds(2)
        gate.open()
        #expect(try await reply.status == 200)
        await older.closedConnections(atLeast: 1)
        #expect(try await client.send(OutboundRequest(url: newer.url("/"), addresses: .any)).status == 200)
        #expect(Set(newer.requests.map(\.connection)).count == 1, "the newer connection is kept")
        await other.shutdown()
        await client.shutdown()
    }
}

// MARK: - Bodies

extension OutboundClientTests {
    @Test(arguments: [
        ("gzip", "H4sIAAAAAAACA0sqSk3MzsxLV8hLLS9WSBrlQXkAw9hvdBgBAAA="),
        ("br", "HxcB+I1Utb8sc7srkLkyZLZ6oAsjygE="),
        ("zstd", "KLUv/QRorQAAcGJyZWFraW5nIG5ld3MgAQAHoU4lg1IwcA=="),
    ])
    func `a compressed body arrives as it was before`(_ coding: String, _ body: String) async throws {
        let bytes = Array(try #require(Data(base64Encoded: body)))
        let server = try ScriptedHTTPServer { _ in
            .status(200, headers: [("Content-Encoding", coding)], body: bytes)
        }
        let reply = try await client.send(local(server.url("/")))
        #expect(String(decoding: reply.body, as: UTF8.self) == String(repeating: "breaking news ", count: 20))
    }

    @Test func `a body that is not in its claimed encoding is malformed`() async throws {
        let server = try ScriptedHTTPServer { _ in
            .status(200, headers: [("Content-Encoding", "gzip")], body: "plain text")
        }
        guard case .malformedReply = await error(local(server.url("/"))) else {
            Issue.record("not malformed")
            return
        }
    }

    /// A Zstandard frame of zero bytes in run-length blocks of 128 KiB, four bytes each (RFC 8878 §3.1.1).
    private static func bomb(blocks: Int) -> [UInt8] {
        var bytes: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38]
        for index in 0..<blocks {
            let header = UInt32(131_072 << 3 | 1 << 1 | (index == blocks - 1 ? 1 : 0))
            bytes += [UInt8(header & 255), UInt8(header >> 8 & 255), UInt8(header >> 16), 0]
        }
        return bytes
    }

    @Test(arguments: [
        (blocks: 16, limit: 1_048_576), (blocks: 100_000, limit: 16_777_216), (blocks: 100_000, limit: 1 << 40),
    ])
    func `a body that expands beyond its bound is given up while it expands`(_ blocks: Int, _ limit: Int) async throws {
        let server = try ScriptedHTTPServer { _ in
            .status(200, headers: [("Content-Encoding", "zstd")], body: Self.bomb(blocks: blocks))
        }
        var request = local(server.url("/"))
        request.maximumBodyBytes = limit
        #expect(await error(request) == .tooLarge(host: "127.0.0.1:\(server.port)", limit: limit))
    }

    @Test(arguments: ["UTF-8", "aws-chunked", "binary", "x-unknown, gzip", "gzip"])
    func `a body that is left as it came has whatever coding its server names`(coding: String) async throws {
        let bytes: [UInt8] = [0x1F, 0x8B, 1, 2, 3]
        let server = try ScriptedHTTPServer { _ in .status(200, headers: [("Content-Encoding", coding)], body: bytes) }
        var request = local(server.url("/"))
        request.keepsGzip = true
        #expect(try await client.send(request).body == bytes)
        #expect(server.requests.map { $0.header("Accept-Encoding") } == ["gzip"])
    }

    @Test func `a coding that was not asked for is asked for, and decoded`() async throws {
        // "feed" by brotli, without compression.
        let brotli: [UInt8] = [0x8B, 0x01, 0x80, 0x66, 0x65, 0x65, 0x64, 0x03]
        let server = try ScriptedHTTPServer { _ in .status(200, headers: [("Content-Encoding", "br")], body: brotli) }
        var request = local(server.url("/"))
        request.keepsGzip = true
        #expect(String(decoding: try await client.send(request).body, as: UTF8.self) == "feed")
        #expect(server.requests.map { $0.header("Accept-Encoding") } == ["gzip", "gzip, br, zstd"])
    }

    @Test func `headers, a user agent and cookies of a request stay within its origin`() async throws {
        let other = try ScriptedHTTPServer { _ in .status(200, body: "x") }
        let target = other.url("/")
        let server = try ScriptedHTTPServer { request in
            switch request.path {
            case "/1":
                .status(302, headers: [("Location", "/2"), ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2")])
            case "/2": .status(302, headers: [("Location", "/3"), ("Set-Cookie", "c=3")])
            default: .status(307, headers: [("Location", target)])
            }
        }
        var request = local(server.url("/1"))
        request.headers = [("X-Key", "secret"), ("Cookie", "own=0"), ("Authorization", "secret")]
        (request.userAgent, request.keepsCookies) = ("Special/1", true)
        for _ in 1...2 { _ = try await client.send(request) }
        let cookies: [String?] = ["own=0", "own=0; a=1; b=2", "own=0; a=1; b=2; c=3"]
        #expect(server.requests.map { $0.header("Cookie") } == cookies + cookies, "none is kept after the reply")
        #expect(server.requests.allSatisfy { $0.header("User-Agent") == "Special/1" && $0.header("X-Key") == "secret" })
        for request in other.requests {
            #expect(request.header("User-Agent") == "newswire-test/1")
            #expect(["X-Key", "Cookie", "Authorization"].allSatisfy { request.header($0) == nil })
        }
        request.keepsCookies = false
        _ = try await client.send(request)
        #expect(server.requests.suffix(3).allSatisfy { $0.header("Cookie") == "own=0" })
    }

    @Test func `53 bytes of brotli that expand to 64 MiB are given up`() async throws {
        let body = "z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37//z//8c/ARCHBQC69/8="
        let bytes = Array(try #require(Data(base64Encoded: body)))
        let server = try ScriptedHTTPServer { _ in .status(200, headers: [("Content-Encoding", "br")], body: bytes) }
        #expect(await error(local(server.url("/"))) == .tooLarge(host: "127.0.0.1:\(server.port)", limit: 16_777_216))
    }

    @Test func `a moderate expansion is read`() async throws {
        let server = try ScriptedHTTPServer { _ in
            .status(200, headers: [("Content-Encoding", "zstd")], body: Self.bomb(blocks: 16))
        }
        #expect(try await client.send(local(server.url("/"))).body.count == 2_097_152)
    }

    @Test func `a body of exactly the bound is read and one more byte is too large`() async throws {
        let server = try ScriptedHTTPServer { request in
            .stream { $0.write([UInt8](repeating: 0, count: request.path == "/more" ? 100_001 : 100_000)) }
        }
        var request = local(server.url("/"))
        request.maximumBodyBytes = 100_000
        #expect(try await client.send(request).body.count == 100_000)
        request.url = server.url("/more")
        #expect(await error(request) == .tooLarge(host: "127.0.0.1:\(server.port)", limit: 100_000))
    }

    @Test func `an announced length beyond the bound is given up before the body`() async throws {
        let server = try ScriptedHTTPServer { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n") }
        guard case .tooLarge = await error(local(server.url("/"))) else {
            Issue.record("not too large")
            return
        }
    }

    @Test func `a body shorter than announced is cut`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200, body: "0123456789").cut(afterBytes: 4) }
        #expect(
            await error(local(server.url("/")))
                == .cut(host: "127.0.0.1:\(server.port)", received: 4, expected: 10)
        )
    }

    @Test func `a chunked body without its end is cut`() async throws {
        let server = try ScriptedHTTPServer { _ in
            .stream { writer in
                writer.write("half")
                writer.cut()
            }
        }
        guard case .cut(_, let received, nil) = await error(local(server.url("/"))) else {
            Issue.record("not cut")
            return
        }
        #expect(received >= 4)
    }

    @Test func `a body that ends with its connection is whole`() async throws {
        let server = try ScriptedHTTPServer { _ in .raw("HTTP/1.0 200 OK\r\n\r\nuntil the end") }
        #expect(try await client.send(local(server.url("/"))).body == Array("until the end".utf8))
    }

    @Test(arguments: ["garbage\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 abc\r\n\r\n"])
    func `what is not HTTP is malformed`(_ answer: String) async throws {
        let server = try ScriptedHTTPServer { _ in .raw(answer) }
        let failure = await error(local(server.url("/")))
        guard case .malformedReply = failure else {
            Issue.record("was \(String(describing: failure))")
            return
        }
    }
}

// MARK: - Redirects

extension OutboundClientTests {
    @Test func `redirects are followed and a permanent move is reported`() async throws {
        let server = try ScriptedHTTPServer { request in
            switch request.path {
            case "/old": .redirect(301, to: "/new?x=1")
            case "/new": .redirect(302, to: "final")
            default: .status(200, body: "here")
            }
        }
        let reply = try await client.send(local(server.url("/old")))
        #expect(reply.status == 200)
        #expect(reply.url == server.url("/final"))
        #expect(reply.movedPermanentlyTo == server.url("/new?x=1"))
    }

    @Test func `user information becomes credentials, stays within the origin and is in no reply`() async throws {
        let other = try ScriptedHTTPServer { _ in .status(200) }
        let target = other.url("/away")
        let server = try ScriptedHTTPServer { request in
            switch request.path {
            case "/": .redirect(301, to: "/same")
            default: .redirect(302, to: target)
            }
        }
        let reply = try await client.send(local("http://me:secret@127.0.0.1:\(server.port)/"))
        #expect(server.requests.map { $0.header("Authorization") } == ["Basic bWU6c2VjcmV0", "Basic bWU6c2VjcmV0"])
        #expect(other.requests.first?.header("Authorization") == nil)
        #expect(reply.url == target)
        #expect(reply.movedPermanentlyTo == "http://me:secret@127.0.0.1:\(server.port)/same")
    }

    @Test func `a loop of redirects ends`() async throws {
        let server = try ScriptedHTTPServer { _ in .redirect(to: "/") }
        #expect(
            await error(local(server.url("/"), redirects: 3))
                == .tooManyRedirects(host: "127.0.0.1:\(server.port)", limit: 3)
        )
        #expect(server.requests.count == 4)
    }

    @Test func `with no redirects allowed the redirect is the reply`() async throws {
        let server = try ScriptedHTTPServer { _ in .redirect(308, to: "/x") }
        let reply = try await client.send(local(server.url("/"), redirects: 0))
        #expect(reply.status == 308)
        #expect(reply.headers["Location"] == "/x")
    }

    @Test func `a redirect with a large or cut body of its own is followed`() async throws {
        let server = try ScriptedHTTPServer { request in
            let body = String(repeating: "x", count: 200_000)
            return switch request.path {
            case "/large": .status(302, headers: [("Location", "/cut")], body: body)
            case "/cut": .status(302, headers: [("Location", "/end")], body: body).cut(afterBytes: 5)
            default: .status(200)
            }
        }
        #expect(try await client.send(local(server.url("/large"))).status == 200)
    }

    @Test func `a redirect never leads to a file`() async throws {
        let server = try ScriptedHTTPServer { _ in .redirect(to: "file:///etc/hostname") }
        var request = local(server.url("/"))
        request.allowsFile = true
        guard case .badURL = await error(request) else {
            Issue.record("followed to a file")
            return
        }
    }
}

// MARK: - The address guard

extension OutboundClientTests {
    @Test(arguments: ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "2130706433"])
    func `a host that is this machine is refused for untrusted addresses`(_ host: String) async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let failure = await error(OutboundRequest(url: "http://\(host):\(server.port)/"))
        guard case .refusedAddress = failure else {
            Issue.record("was \(String(describing: failure))")
            return
        }
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: ["169.254.169.254", "10.1.2.3", "100.100.100.200", "192.168.0.1", "[fd00:ec2::254]"])
    func `a private address is refused without a packet sent`(_ host: String) async throws {
        var request = OutboundRequest(url: "http://\(host)/latest/meta-data/")
        request.connectTimeout = .seconds(2)
        let bare = host.filter { $0 != "[" && $0 != "]" }
        #expect(await error(request) == .refusedAddress(host: host, address: bare))
    }

    @Test func `an international host is reached, and judged by the address that it turns into`() async throws {
        let server = try ScriptedHTTPServer { request in
            let port = request.header("X-Port") ?? ""
            return request.path == "/old" ? .redirect(to: "http://zürich.localhost:\(port)/new") : .status(200)
        }
        for host in ["bücher.localhost", "127.0.0。1", "１２７.1"] {
            #expect(try await client.send(local("http://\(host):\(server.port)/")).status == 200)
            guard case .refusedAddress = await error(OutboundRequest(url: "http://\(host):\(server.port)/")) else {
                Issue.record("\(host) is not refused")
                continue
            }
        }
        var request = local("http://bücher.localhost:\(server.port)/old")
        request.headers = [("X-Port", "\(server.port)")]
        #expect(try await client.send(request).url == "http://xn--zrich-kva.localhost:\(server.port)/new")
        #expect(
            server.requests.compactMap { $0.header("Host")?.prefix { $0 != ":" } } == [
                "xn--bcher-kva.localhost", "127.0.0.1", "127.0.0.1", "xn--bcher-kva.localhost",
                "xn--zrich-kva.localhost",
            ]
        )
    }

    @Test func `a connection kept by another request does not get round the guard`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        _ = try await client.send(local(server.url("/first")))
        let failure = await error(OutboundRequest(url: server.url("/second")))
        guard case .refusedAddress = failure else {
            Issue.record("was \(String(describing: failure))")
            return
        }
        #expect(server.requests.map(\.path) == ["/first"])
    }

    @Test func `a redirect from a permitted private host to another private one is refused`() async throws {
        let inner = try ScriptedHTTPServer { _ in .status(200) }
        let target = inner.url("/admin")
        let server = try ScriptedHTTPServer { _ in .redirect(to: target) }
        let failure = await error(OutboundRequest(url: server.url("/"), addresses: .any))
        guard case .refusedAddress = failure else {
            Issue.record("was \(String(describing: failure))")
            return
        }
        #expect(inner.requests.isEmpty)
    }
}

// MARK: - Time, cancellation, shutdown

extension OutboundClientTests {
    @Test func `a server that never answers is given up after the time in all`() async throws {
        let server = try ScriptedHTTPServer { _ in .never }
        var request = local(server.url("/"))
        request.totalTimeout = .seconds(1)
        #expect(
            await error(request)
                == .timedOut(host: "127.0.0.1:\(server.port)", stage: .waiting, after: .seconds(1))
        )
        await server.closedConnections(atLeast: 1)
    }

    @Test func `a server that falls silent is given up after the idle time`() async throws {
        let stream = ScriptedStream()
        let server = try ScriptedHTTPServer { _ in .stream(stream) }
        stream.send("some")
        var request = local(server.url("/"))
        // Long enough for the first bytes to come on a loaded machine.
        request.idleTimeout = .seconds(2)
        #expect(
            await error(request)
                == .timedOut(host: "127.0.0.1:\(server.port)", stage: .reading, after: .seconds(2))
        )
        await stream.disconnected()
    }

    @Test func `redirects share one time in all`() async throws {
        let server = try ScriptedHTTPServer { $0.path == "/" ? .redirect(to: "/x") : .never }
        var request = local(server.url("/"))
        request.totalTimeout = .milliseconds(80)
        guard case .timedOut = await error(request) else {
            Issue.record("did not time out")
            return
        }
    }

    @Test func `a request that waits for a connection is given up in time`() async throws {
        let server = try ScriptedHTTPServer { _ in .never }
        let client = OutboundClient(userAgent: "t", maximumConnectionsPerHost: 1)
        let first = Task { try await client.send(local(server.url("/"))) }
        _ = await server.requests(atLeast: 1)
        var request = local(server.url("/"))
        request.totalTimeout = .milliseconds(50)
        await #expect(
            throws: OutboundError.timedOut(
                host: "127.0.0.1:\(server.port)",
                stage: .queueing,
                after: .milliseconds(50)
            )
        ) { try await client.send(request) }
        first.cancel()
        await #expect(throws: OutboundError.cancelled) { try await first.value }
    }

    @Test func `cancelling the task closes the connection`() async throws {
        let server = try ScriptedHTTPServer { _ in .never }
        let request = local(server.url("/"))
        let task = Task { try await client.send(request) }
        _ = await server.requests(atLeast: 1)
        task.cancel()
        await #expect(throws: OutboundError.cancelled) { try await task.value }
        await server.closedConnections(atLeast: 1)
    }

    @Test func `a task cancelled before it sends sends nothing`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let request = local(server.url("/"))
        let gate = Gate()
        let task = Task {
            await gate.opened()
            return try await client.send(request)
        }
        task.cancel()
        gate.open()
        await #expect(throws: OutboundError.cancelled) { try await task.value }
        #expect(server.requests.isEmpty)
    }

    @Test func `shutdown ends transfers in flight and waiting ones, and refuses new ones`() async throws {
        let server = try ScriptedHTTPServer { _ in .never }
        let client = OutboundClient(userAgent: "t", maximumConnectionsPerHost: 2)
        let request = local(server.url("/"))
        let tasks = (0..<6).map { _ in Task { try await client.send(request) } }
        _ = await server.requests(atLeast: 2)
        await client.shutdown()
        for task in tasks { await #expect(throws: OutboundError.shutDown) { try await task.value } }
        await #expect(throws: OutboundError.shutDown) { try await client.send(request) }
        await server.closedConnections(atLeast: 2)
        await client.shutdown()
    }

    @Test func `shutdown of a client that did nothing returns`() async {
        await OutboundClient(userAgent: "t").shutdown()
    }

    @Test func `an idle client holds no connection and works again when asked`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let client = OutboundClient(userAgent: "t", keepsIdleConnectionsFor: .milliseconds(20))
        _ = try await client.send(local(server.url("/")))
        await server.closedConnections(atLeast: 1)
        #expect(try await client.send(local(server.url("/"))).status == 200)
        await client.shutdown()
        #expect(server.requests.map(\.connection) == [0, 1])
    }

    @Test func `a client asked again and again as it falls idle answers each time`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let client = OutboundClient(userAgent: "t", keepsIdleConnectionsFor: .zero)
        for _ in 0..<200 { #expect(try await client.send(local(server.url("/"))).status == 200) }
    }

    @Test func `a client that is let go closes its connections`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        do {
            let client = OutboundClient(userAgent: "t")
            _ = try await client.send(local(server.url("/")))
        }
        await server.closedConnections(atLeast: 1)
    }
}

// MARK: - What cannot be sent or reached

extension OutboundClientTests {
    @Test func `a closed port is reported with host and reason`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let url = "http://me:secret@127.0.0.1:\(server.port)/path?token=secret"
        server.close()
        let failure = try #require(await error(local(url)))
        #expect(failure.description == "cannot reach '127.0.0.1:\(server.port)': connection refused")
    }

    @Test func `an unknown name is reported`() async throws {
        let failure = try #require(await error(local("http://no-such-host.invalid/")))
        #expect(failure.description == "cannot reach 'no-such-host.invalid': no such host name")
    }

    @Test func `a server that hangs up without a word has ended it`() async throws {
        let server = try ScriptedHTTPServer { _ in .hangUp }
        guard case .ended = await error(local(server.url("/"))) else {
            Issue.record("not ended")
            return
        }
    }

    @Test func `a server that does not finish TLS is given up while connecting`() async throws {
        let server = try ScriptedHTTPServer { _ in .never }
        var request = local("https://127.0.0.1:\(server.port)/")
        request.connectTimeout = .milliseconds(80)
        #expect(
            await error(request)
                == .timedOut(host: "127.0.0.1:\(server.port)", stage: .connecting, after: .milliseconds(80))
        )
    }

    @Test(arguments: [("X-A", "a\r\nHost: evil"), ("X-A", "a\u{0}"), ("X A", "a"), ("", "a"), ("X:", "a")])
    func `a header that would write another line is refused`(_ name: String, _ value: String) async throws {
        let request = OutboundRequest(url: "http://127.0.0.1:1/", headers: [(name, value)], addresses: .any)
        guard case .badRequest = await error(request) else {
            Issue.record("not refused")
            return
        }
    }

    @Test(arguments: ["file:///etc/hostname", "ftp://127.0.0.1/", "nonsense"])
    func `an address of another scheme is refused`(_ url: String) async throws {
        guard case .badURL = await error(local(url)) else {
            Issue.record("not refused")
            return
        }
    }
}
