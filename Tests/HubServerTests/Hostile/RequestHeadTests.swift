import HubProtocol
import HubRouting
import HubTestServer
import NIOCore
import NIOEmbedded
import NetworkAddresses
import Testing

@testable import HubServer

/// Heads of requests, by the same rules over HTTP/1.0, HTTP/1.1, HTTP/2 and on streams.
struct RequestHeadTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let lines: [String]
        let status: Int
    }

    private static let path = "/healthz"
    static let cases = [
        Case(testDescription: "a host", lines: ["GET \(path) HTTP/1.1", "Host: hub"], status: 200),
        Case(testDescription: "an empty port", lines: ["GET \(path) HTTP/1.1", "Host: hub:"], status: 200),
        Case(testDescription: "an IPv6 host", lines: ["GET \(path) HTTP/1.1", "Host: [::1]:80 "], status: 200),
        Case(testDescription: "no host", lines: ["GET \(path) HTTP/1.1"], status: 400),
        Case(testDescription: "no host in HTTP/1.0", lines: ["GET \(path) HTTP/1.0"], status: 200),
        Case(testDescription: "two hosts", lines: ["GET \(path) HTTP/1.1", "Host: hub", "Host: hub"], status: 400),
        Case(
            testDescription: "two hosts in HTTP/1.0",
            lines: ["GET \(path) HTTP/1.0", "Host: a", "Host: b"],
            status: 400
        ),
        Case(testDescription: "an empty host", lines: ["GET \(path) HTTP/1.1", "Host:"], status: 400),
        Case(testDescription: "a host with a path", lines: ["GET \(path) HTTP/1.1", "Host: a/b"], status: 400),
        Case(testDescription: "credentials in a host", lines: ["GET \(path) HTTP/1.1", "Host: a@b"], status: 400),
        Case(
            testDescription: "a content coding",
            lines: ["POST \(path) HTTP/1.1", "Host: hub", "Content-Encoding: gzip", "Content-Length: 0"],
            status: 415
        ),
        Case(
            testDescription: "no content coding",
            lines: ["GET \(path) HTTP/1.1", "Host: hub", "Content-Encoding: identity"],
            status: 200
        ),
        Case(
            testDescription: "large cookies",
            lines: ["GET \(path) HTTP/1.1", "Host: hub", "Cookie: \(String(repeating: "c", count: 60_000))"],
            status: 200
        ),
        Case(
            testDescription: "too large cookies",
            lines: ["GET \(path) HTTP/1.1", "Host: hub", "Cookie: \(String(repeating: "c", count: 70_000))"],
            status: 431
        ),
        Case(
            testDescription: "more than the decoder takes",
            lines: ["GET \(path) HTTP/1.1", "Host: hub", "Cookie: \(String(repeating: "c", count: 90_000))"],
            status: 431
        ),
        Case(
            testDescription: "a stream without a host",
            lines: ["GET /news/installations/a/stream HTTP/1.1"],
            status: 400
        ),
        Case(
            testDescription: "a stream with two hosts",
            lines: ["GET /news/installations/a/stream HTTP/1.1", "Host: a", "Host: b"],
            status: 400
        ),
        Case(
            testDescription: "a stream with too large cookies",
            lines: [
                "GET /news/installations/a/stream HTTP/1.1", "Host: a",
                "Cookie: \(String(repeating: "c", count: 70_000))",
            ],
            status: 431
        ),
    ]

    @Test(arguments: cases)
    func `the first head of a connection, and a later one`(each: Case) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let text = each.lines.map { "\($0)\r\n" }.joined() + "Connection: close\r\n\r\n"
            let first = try await Connection.open(hub.port)
            try await first.send(text)
            #expect(try await first.reply().status == each.status)
            let second = try await Connection.open(hub.port)
            try await second.send("GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n" + text)
            #expect(try await second.reply(after: 1).status == each.status)
        }
    }

    @Test(arguments: [1, 7, 1_000])
    func `the settings of an HTTP/2 connection are in force before its client has acknowledged them`(piece: Int) throws
    {
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0]
        let acknowledgement: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]
        let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0]
        let sent = preface + settings + ping + acknowledgement + ping + acknowledgement + acknowledgement + ping
        let channel = EmbeddedChannel(handler: EarlySettings())
        for start in stride(from: 0, to: sent.count, by: piece) {
            try channel.writeInbound(ByteBuffer(bytes: sent[start..<min(start + piece, sent.count)]))
        }
        var received: [UInt8] = []
        while let part = try channel.readInbound(as: ByteBuffer.self) { received += part.readableBytesView }
        let expected = preface + settings + acknowledgement + acknowledgement + ping + ping + acknowledgement + ping
        #expect(received == expected)
    }

    @Test func `blanks at the end of a stream's fields are removed`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            #expect(try await hub.put(agent).status == 200)
            let connection = try await Connection.open(hub.port)
            let request = hub.request(
                "GET",
                "installations/a/stream",
                as: hub.listen,
                headers: ["Newswire-Push-Channel": "\(agent.secret.text) \t"]
            )
            try await connection.send(request)
            var text = ""
            for await bytes in connection.bytes {
                text += String(decoding: bytes, as: UTF8.self)
                if text.contains("\r\n\r\n") { break }
            }
            #expect(text.hasPrefix("HTTP/1.1 200"), "\(text)")
        }
    }
}
