import Foundation
import HubProtocol
import HubRouting
import NIOCore
import Testing

@testable import HubServer

/// Requests as the odder of the clients write them, byte for byte.
struct UnusualRequestTests {
    private static let body = #"{"title":"t"}"#

    private func head(_ hub: TestHub, _ method: String, _ target: String, _ headers: [String]) -> String {
        (["\(method) \(target) HTTP/1.1", "Host: h", "Authorization: \(hub.token(hub.full))"] + headers)
            .joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Reads until so much has come as `isEnough` wants.
    private func read(
        _ iterator: inout AsyncStream<[UInt8]>.Iterator,
        until isEnough: (String) -> Bool
    ) async -> String {
        var bytes: [UInt8] = []
        while !isEnough(String(decoding: bytes, as: UTF8.self)), let more = await iterator.next() { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let goOn = "HTTP/1.1 100 Continue\r\n\r\n"

    @Test(arguments: ["100-continue", "100-Continue"])
    func `a body that waits to be asked for is asked for at once, again and again`(_ expectation: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            var bytes = connection.bytes.makeAsyncIterator()
            for round in 0..<3 {
                let length = "Content-Length: \(Self.body.utf8.count)"
                try await connection.send(head(hub, "POST", "/news/messages/", [length, "Expect: \(expectation)"]))
                // Nothing of the body is sent before this has come.
                #expect(await read(&bytes) { $0.hasSuffix("\r\n\r\n") } == Self.goOn, "\(round)")
                try await connection.send(Self.body)
                let reply = await read(&bytes) { $0.hasSuffix("\r\n\r\n") }
                #expect(reply.hasPrefix("HTTP/1.1 201 Created\r\n"), "\(reply)")
            }
        }
    }

    @Test(arguments: [
        ("/healthz", "200 OK"), ("/readyz", "200 OK"), ("/metrics", "200 OK"), ("/news", "200 OK"),
        ("/news/installations/a/stream", "200 OK"), ("/news/installations/a/pending", "200 OK"),
        ("/news/registrations/", "200 OK"), ("/nothing/at/all", "404 Not Found"),
    ])
    func `what is asked for by its head has no body, and the next answer follows`(
        path: String,
        status: String
    ) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            try await connection.send(head(hub, "HEAD", path, []) + head(hub, "GET", "/healthz", ["Connection: close"]))
            var bytes = connection.bytes.makeAsyncIterator()
            let text = await read(&bytes) { $0.hasSuffix("\r\n\r\nok\n") }
            let answers = text.components(separatedBy: "HTTP/1.1 ").dropFirst()
            #expect(answers.count == 2 && answers.first?.hasPrefix("\(status)\r\n") == true, "\(text)")
            #expect(answers.first?.hasSuffix("\r\n\r\n") == true, "no body: \(text)")
        }
    }

    @Test func `a HEAD over HTTP 2 names the length of GET's body, and none for a body without a known length`()
        async throws
    {
        let scratch = try Scratch()
        try await TestHub.run(scratch) {
            $0.certificate = .test(in: scratch)
        } _: { hub async throws in
            let id = try await hub.accept("x")
            for (path, length) in [
                ("/healthz", "3"), ("/news/installations/a/stream", nil), ("/news/installations/a/pending", nil),
                ("/news/messages/\(id)/errordetails", nil),
            ] {
                let reply = try await HTTP2Exchange.send(
                    hub.port,
                    headers: [
                        (":method", "HEAD"), (":scheme", "https"), (":authority", "h"), (":path", path),
                        ("authorization", hub.token(hub.full)),
                    ],
                    body: ""
                )
                #expect(reply.status == 200 && reply.body.isEmpty, "\(path)")
                #expect(reply.headers["content-length"] == length, "\(path)")
            }
        }
    }

    @Test func `a client of HTTP 1.0 is answered, and the connection ends`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            try await connection.send("GET /healthz HTTP/1.0\r\n\r\n")
            var bytes = connection.bytes.makeAsyncIterator()
            let text = await read(&bytes) { _ in false }
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("\r\n\r\nok\n"), "\(text)")
        }
    }

    @Test func `the largest batch is asked for`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            var bytes = connection.bytes.makeAsyncIterator()
            let headers = ["Content-Length: \(SendRequest.Kind.batch.maximumBytes)", "Expect: 100-continue"]
            try await connection.send(head(hub, "POST", "/news/messages/$batch", headers))
            #expect(await read(&bytes) { $0.hasSuffix("\r\n\r\n") } == Self.goOn)
        }
    }

    @Test func `a body that is too large is not asked for, and the refusal says that the connection ends`() async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            let headers = ["Content-Length: 10000000", "Expect: 100-continue"]
            try await connection.send(head(hub, "POST", "/news/messages/", headers))
            let reply = try await connection.reply()
            #expect(reply.status == 413)
            #expect(reply.error?.status == 413)
            #expect(reply.headers["connection"] == "close")
        }
    }

    @Test func `a request that follows another's answer is not asked for its body in the middle of it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            let length = "Content-Length: \(Self.body.utf8.count)"
            // A long poll, which is answered when there is a message.
            let agent = Agent("a")
            try await hub.register(agent)
            try await connection.send(
                hub.request("GET", "installations/a/pending?wait=60", as: hub.listen, channel: agent.secret)
                    + head(hub, "POST", "/news/messages/", [length, "Expect: 100-continue", "Connection: close"])
            )
            try await hub.accept("x")
            var bytes = connection.bytes.makeAsyncIterator()
            let first = await read(&bytes) { $0.hasSuffix(Self.goOn) }
            #expect(first.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(first.components(separatedBy: "HTTP/1.1").count == 3, "\(first)")
            try await connection.send(Self.body)
            #expect(await read(&bytes) { _ in false }.hasPrefix("HTTP/1.1 201 Created\r\n"))
        }
    }

    @Test(arguments: [["Content-Length: 1000000000"], ["Transfer-Encoding: chunked"]])
    func `a body that is too large is refused while it is still coming, and the client can read why`(
        headers: [String]
    ) async throws {
        let bytes = String(repeating: "x", count: 64 << 10)
        let isChunked = headers.contains { $0.hasSuffix("chunked") }
        let piece = isChunked ? "\(String(bytes.utf8.count, radix: 16))\r\n\(bytes)\r\n" : bytes
        let label = headers[0]
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            try await connection.send(head(hub, "POST", "/news/messages/", headers))
            let sending = Task {
                // More than sockets hold, so that a hub that stops reading is found out.
                for _ in 0..<2_000 { try await connection.send(piece) }
            }
            var received = connection.bytes.makeAsyncIterator()
            let text = await read(&received) { $0.contains("</Error>") }
            let reply = try Reply(Array(text.utf8))
            #expect(reply.status == 413 && reply.error?.status == 413, "\(label): \(text)")
            #expect(reply.headers["connection"] == "close", "\(label)")
            // Having read it, a client stops: the hub has ended its side.
            #expect(await received.next() == nil, "\(label)")
            sending.cancel()
            _ = await sending.result
            #expect(try await hub.post().status == 201)
        }
    }

    @Test func `a small body behind a refusal leaves the connection usable`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            let length = "Content-Length: \(Self.body.utf8.count)"
            var bytes = connection.bytes.makeAsyncIterator()
            try await connection.send("POST /news/messages/ HTTP/1.1\r\nHost: h\r\n\(length)\r\n\r\n")
            let refusal = await read(&bytes) { $0.contains("</Error>") }
            #expect(refusal.hasPrefix("HTTP/1.1 401 ") && !refusal.lowercased().contains("connection: close"))
            try await connection.send(Self.body + head(hub, "POST", "/news/messages/", [length]) + Self.body)
            #expect(await read(&bytes) { $0.hasSuffix("\r\n\r\n") }.hasPrefix("HTTP/1.1 201 "))
        }
    }

    @Test func `a body in chunks is a body`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            let headers = ["Transfer-Encoding: chunked", "Connection: close"]
            try await connection.send(head(hub, "POST", "/news/messages/", headers))
            for piece in [#"{"tit"#, #"le":"in chunks"}"#] {
                try await connection.send("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n")
            }
            try await connection.send("0\r\n\r\n")
            #expect(try await connection.reply().status == 201)
            #expect(hub.head == 1)
        }
    }

    static let oddities: [(label: String, headers: [String])] = [
        ("empty content type", ["Content-Type:"]),
        ("content type of spaces", ["content-type:   "]),
        ("odd content type", ["Content-Type: application/json;charset=\"utf-8\""]),
        ("no content type", []),
        ("header names in other cases", ["SERVICEBUSNOTIFICATION-FORMAT: Template", "servicebusnotification-tags:"]),
        ("connection in capitals", ["CONNECTION: Close"]),
        ("no telling what", ["X-Apns-Expiration: \u{1}\u{2}"]),
    ]

    @Test(arguments: oddities)
    func `what clients write into headers does not fail a request`(label: String, headers: [String]) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let connection = try await Connection.open(hub.port)
            let closing = headers.contains { $0.lowercased().hasPrefix("connection") } ? [] : ["Connection: close"]
            let length = "Content-Length: \(Self.body.utf8.count)"
            try await connection.send(head(hub, "POST", "/news/messages/", headers + closing + [length]) + Self.body)
            let reply = try await connection.reply()
            if label == "no telling what" {
                #expect(reply.status == 400 && reply.error != nil, "\(reply.body)")
            } else {
                #expect(reply.status == 201, "\(label): \(reply.body)")
            }
        }
    }

    @Test func `header values of raw bytes that are neither ASCII nor UTF-8 do not fail a request`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for raw in [[0xC3, 0xA9], [0xE9, 0x80, 0xFF], [0xFE]] as [[UInt8]] {
                let length = "Content-Length: \(Self.body.utf8.count)"
                let text = head(hub, "POST", "/news/messages/", ["X-Apns-Expiration: @", length, "Connection: close"])
                var bytes: [UInt8] = []
                for byte in (text + Self.body).utf8 {
                    // A token has none.
                    bytes += byte == UInt8(ascii: "@") ? raw : [byte]
                }
                let connection = try await Connection.open(hub.port)
                try await connection.channel.writeAndFlush(ByteBuffer(bytes: bytes))
                #expect(try await connection.reply().status == 201, "\(raw)")
            }
        }
    }

    /// Segments in any case, slashes at the end, any version of the protocol and none.
    static let addresses: [(method: String, target: String, status: Int)] = [
        ("POST", "/news/messages/?api-version=2015-01", 201), ("POST", "/news/Messages?api-version=2013-10", 201),
        ("POST", "/NEWS/MESSAGES/", 201), ("POST", "/news/messages/?", 201),
        ("POST", "/news/messages?api-version=", 201),
        ("POST", "/news/messages/?API-VERSION=no-such-version&x", 201), ("GET", "/news/Installations/x/", 404),
        ("GET", "/news/installations/x/?api-version=2020-06", 404), ("GET", "/news/CATEGORIES/", 200),
        ("DELETE", "/news/installations/x/?Api-Version=2017-04", 204), ("GET", "/Healthz/", 200),
    ]

    @Test(arguments: addresses)
    func `an address is taken however it is written`(method: String, target: String, status: Int) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let reply = try await hub.send(method, target, as: hub.full, method == "POST" ? Self.body : "")
            #expect(reply.status == status, "\(reply.body)")
        }
    }

    @Test func `the id that a client tracks its request by comes back, and puts nothing else into the reply`()
        async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let id = "0f8fad5b-d9cb-469f-a165-70867728950e"
            for (path, body, status) in [("messages/", Self.body, 201), ("messages/", "{", 400), ("nowhere", "", 404)] {
                let reply = try await hub.send("POST", path, as: hub.full, headers: ["trackingid": id], body)
                #expect(reply.status == status)
                #expect(reply.headers["trackingid"] == id)
                #expect(UUID(uuidString: reply.headers["x-ms-correlation-request-id"] ?? "") != nil)
                if status != 201 { #expect(reply.body.contains("TrackingId:\(id),")) }
            }
            for odd in ["a<b>&\"c", String(repeating: "x", count: 4_000), "é"] {
                let reply = try await hub.send("POST", "nowhere", as: hub.full, headers: ["TrackingId": odd])
                #expect(UUID(uuidString: reply.headers["trackingid"] ?? "") != nil, "\(odd.prefix(9))")
                #expect(reply.error != nil && reply.body.utf8.count < 500)
            }
        }
    }
}
