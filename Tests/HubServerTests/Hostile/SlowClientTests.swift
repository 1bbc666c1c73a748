import Foundation
import HubProtocol
import HubRouting
import HubTestServer
import NIOCore
import NIOSSL
import Testing

@testable import HubServer

/// Clients that keep connections and say little: each kind is ended by a time of its own.
struct SlowClientTests {
    /// Short, so that the tests are.
    private static let limit = Duration.seconds(2)

    private func run(
        _ shorten: (inout ConnectionLimits) -> Void,
        _ body: (TestHub) async throws -> Void
    ) async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { configuration in
            configuration.certificate = .test(in: scratch)
            shorten(&configuration.connectionLimits)
        } _: { hub in
            try await body(hub)
        }
    }

    /// All that the hub says until it ends the connection.
    private func rest(_ connection: Connection) async -> String {
        var bytes: [UInt8] = []
        for await more in connection.bytes { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: ["", "GET /hea", "GET /news/installations/a/stream HTTP/1.1\r\nHost: h\r\n"])
    func `a connection without a request ends`(begun: String) async throws {
        try await run {
            $0.head = Self.limit
        } _: { hub in
            let connection = try await Connection.open(hub.port)
            if !begun.isEmpty { try await connection.send(begun) }
            #expect(await rest(connection).isEmpty)
        }
    }

    @Test func `half a head is answered with 408, and ends`() async throws {
        try await run {
            $0.head = Self.limit
        } _: { hub in
            let connection = try await Connection.open(hub.port)
            try await connection.send("GET /healthz HTTP/1.1\r\nHost: h\r\nX-Long: ")
            let answer = await rest(connection)
            #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.lowercased().contains("connection: close"), "\(answer)")
        }
    }

    @Test func `a head that has come leaves its request all the time it needs`() async throws {
        try await run {
            $0.head = Self.limit
        } _: { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let path = "installations/a/pending?wait=1"
            let reply = try await hub.send("GET", path, as: hub.listen, channel: agent.secret)
            #expect(reply.status == 200)
        }
    }

    @Test func `a TLS handshake that does not go on ends`() async throws {
        try await run {
            $0.handshake = Self.limit
        } _: { hub in
            let connection = try await Connection.open(hub.port)
            try await connection.send("\u{16}\u{3}\u{1}\u{2}\u{0}")
            #expect(await rest(connection).isEmpty)
        }
    }

    @Test func `within TLS a connection without a request ends, too`() async throws {
        try await run {
            $0.head = Self.limit
        } _: { hub in
            for protocols in [["http/1.1"], []] {
                let connection = try await Connection.open(hub.port, tls: try .trustingAll(offering: protocols))
                try await connection.send("GET /hea")
                #expect(await rest(connection).isEmpty)
            }
        }
    }

    @Test(arguments: [["http/1.1"], ["h2"]])
    func `a connection that is idle ends`(protocols: [String]) async throws {
        try await run {
            $0.idle = Self.limit
        } _: { hub in
            let connection = try await Connection.open(hub.port, tls: try .trustingAll(offering: protocols))
            let isHTTP2 = protocols == ["h2"]
            try await connection.send(
                isHTTP2 ? HTTP2Bytes.preface : Array("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
            )
            let answer = await rest(connection)
            #expect(isHTTP2 || answer.hasSuffix("ok\n"))
        }
    }

    @Test(arguments: ["http/1.1", "h2"])
    func `a body that trickles ends with 408, and changes nothing`(version: String) async throws {
        try await run { limits in
            limits.bodyGrace = Self.limit
            limits.bodyRate = 1 << 20
        } _: { hub in
            let connection = try await Connection.open(hub.port, tls: try .trustingAll(offering: [version]))
            if version == "h2" {
                let fields = HTTP2Bytes.request(
                    "PUT",
                    "/news/installations/a",
                    [
                        ("authorization", hub.token(hub.listen)), ("content-length", "500"),
                    ]
                )
                try await connection.send(HTTP2Bytes.preface + HTTP2Bytes.headers(1, fields))
                try await connection.send(HTTP2Bytes.data(1, Array("{".utf8)))
                var text = ""
                for await bytes in connection.bytes {
                    text += String(decoding: bytes, as: UTF8.self)
                    if text.contains("</Error>") { break }
                }
                #expect(text.contains("<Code>408</Code>"))
            } else {
                try await connection.send(
                    hub.request("PUT", "installations/a", as: hub.listen, headers: ["Content-Length": "500"])
                )
                try await connection.send("{")
                let reply = try await connection.reply()
                #expect(reply.status == 408 && reply.error?.status == 408, "\(reply.body)")
                #expect(reply.headers["connection"] == "close")
            }
            #expect(hub.head == 0)
        }
    }
}
