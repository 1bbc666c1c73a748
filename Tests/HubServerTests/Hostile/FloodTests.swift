import Foundation
import HubRouting
import HubTestServer
import NIOCore
import Testing

@testable import HubServer

/// Floods of one connection of HTTP/2: each ends the connection, and the others are served.
struct FloodTests {
    struct Flood: Sendable, CustomTestStringConvertible {
        let label: String
        let bytes: @Sendable (Int) -> [UInt8]
        let count: Int
        var testDescription: String { label }
    }

    static let floods = [
        Flood(
            label: "requests that are reset at once",
            bytes: { number in
                let stream = UInt32(2 * number + 1)
                return HTTP2Bytes.headers(stream, HTTP2Bytes.request("GET", "/healthz"), ends: true)
                    + HTTP2Bytes.reset(stream)
            },
            count: 20_000
        ),
        Flood(
            label: "a head without an end",
            bytes: { number in
                number == 0
                    ? HTTP2Bytes.headers(1, HTTP2Bytes.request("GET", "/healthz"), isWhole: false)
                    : HTTP2Bytes.continuation(1, [])
            },
            count: 20_000
        ),
        Flood(
            label: "a head without measure",
            bytes: { number in
                number == 0
                    ? HTTP2Bytes.headers(1, HTTP2Bytes.request("GET", "/healthz"), isWhole: false)
                    : HTTP2Bytes.continuation(1, [UInt8](repeating: 0, count: 16_000))
            },
            count: 1_000
        ),
        Flood(
            label: "pings",
            bytes: { _ in HTTP2Bytes.frame(6, flags: 0, stream: 0, [UInt8](repeating: 0, count: 8)) },
            count: 20_000
        ),
        Flood(label: "settings", bytes: { _ in HTTP2Bytes.frame(4, flags: 0, stream: 0, []) }, count: 20_000),
        Flood(
            label: "empty data",
            bytes: { number in
                number == 0
                    ? HTTP2Bytes.headers(1, HTTP2Bytes.request("POST", "/news/messages")) : HTTP2Bytes.data(1, [])
            },
            count: 20_000
        ),
    ]

    @Test(arguments: floods)
    func `a flood ends its own connection`(flood: Flood) async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { configuration in
            configuration.certificate = .test(in: scratch)
        } _: { hub in
            let connection = try await Connection.open(hub.port, tls: try .trustingAll(offering: ["h2"]))
            try await connection.send(HTTP2Bytes.preface)
            let sending = Task {
                for number in 0..<flood.count { try await connection.send(flood.bytes(number)) }
            }
            // What the hub says meanwhile is little: the connection ends long before all was sent.
            for await _ in connection.bytes {}
            let result = await sending.result
            #expect(throws: (any Error).self) { try result.get() }
            #expect(try await hub.send("GET", "/healthz", as: nil).status == 200)
        }
    }
}
