import Foundation
import HubProtocol
import HubRouting
import HubTestServer
import HubStore
import NIOCore
import Synchronization
import Testing

@testable import HubServer

/// What clients and networks do wrong to a request on its way is neither taken for a request nor for a failure of the hub.
struct WireFaultTests {
    /// A body that is as valid where it is cut as it is whole.
    private static let headers = [
        "ServiceBusNotification-Format": "windows", "X-WNS-Type": "wns/raw",
        "Content-Type": "application/octet-stream",
    ]

    enum Ending: Sendable {
        /// The client has said all it wanted, and reads on.
        case finish
        case close
        case reset
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let label: String
        let headers: [String: String]
        let body: String
        var ending = Ending.finish
        /// Of the answer; `nil` where nobody is there to read it.
        var status: Int? = 400
        var testDescription: String { label }
    }

    private static let chunked = ["Transfer-Encoding": "chunked"]
    private static let ten = ["Content-Length": "10"]

    static let faults = [
        Fault(label: "chunk cut short", headers: chunked, body: "5\r\nhel"),
        Fault(label: "no last chunk", headers: chunked, body: "5\r\nhello\r\n"),
        Fault(label: "no end of the trailers", headers: chunked, body: "5\r\nhello\r\n0\r\nA: b\r\n"),
        Fault(label: "not a chunk's size", headers: chunked, body: "five\r\nhello\r\n0\r\n\r\n"),
        Fault(label: "chunk longer than its size", headers: chunked, body: "2\r\nhello\r\n0\r\n\r\n"),
        Fault(label: "bad trailer", headers: chunked, body: "5\r\nhello\r\n0\r\nno\u{1} field\r\n\r\n"),
        Fault(label: "less than announced", headers: ten, body: "hello"),
        Fault(label: "chunk cut by a close", headers: chunked, body: "5\r\nhel", ending: .close, status: nil),
        Fault(label: "body cut by a close", headers: ten, body: "hello", ending: .close, status: nil),
        Fault(label: "chunk cut by a reset", headers: chunked, body: "5\r\nhel", ending: .reset, status: nil),
        Fault(label: "body cut by a reset", headers: ten, body: "hello", ending: .reset, status: nil),
    ]

    /// Serves with everything logged; at the end nothing may have been accepted, failed or logged as an error.
    private func run(_ body: (TestHub, LogLines) async throws -> Void) async throws {
        let (scratch, lines) = (try Scratch(), LogLines())
        try await TestHub.run(scratch, logger: lines.logger) { configuration in
            configuration.certificate = .test(in: scratch)
        } _: { hub in
            try await body(hub, lines)
            let accepted = try await hub.hub.store.newestMessages(hub: hub.hub.record.id, through: .end, limit: 1)
            #expect(accepted.isEmpty, "a part of a message is no message")
            #expect(try await hub.send("GET", "/healthz", as: nil).status == 200)
            let page = try await hub.send("GET", "/metrics", as: nil).body
            #expect(!page.contains(#"status="5"#))
        }
        #expect(lines.all.filter { $0.hasPrefix("error") || $0.hasPrefix("warning") } == [])
    }

    /// Waits until the hub has given a request up.
    private func givenUp(_ lines: LogLines) async {
        await lines.wait { $0.contains("a request did not arrive completely") }
    }

    @Test(arguments: faults)
    func `a body that does not come whole is the client's fault`(fault: Fault) async throws {
        try await run { hub, lines in
            let connection = try await Connection.open(hub.port)
            let headers = Self.headers.merging(fault.headers) { $1 }
            try await connection.send(hub.request("POST", "messages", as: hub.full, headers: headers) + fault.body)
            switch fault.ending {
            case .finish: await connection.finishSending()
            case .close: try await connection.close()
            case .reset: try await connection.reset()
            }
            if let status = fault.status {
                let reply = try await connection.reply()
                #expect(reply.status == status && reply.error?.status == status, "\(reply.body)")
                #expect(reply.headers["connection"] == "close")
            }
            await givenUp(lines)
        }
    }

    @Test(arguments: [
        "\u{0}\u{1}\u{2} garbage\r\n\r\n", "GET /healthz HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
    ])
    func `garbage behind a request is refused, and the request is answered`(garbage: String) async throws {
        try await run { hub, _ in
            let connection = try await Connection.open(hub.port)
            try await connection.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n" + garbage)
            var bytes: [UInt8] = []
            for await more in connection.bytes { bytes += more }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("HTTP/1.1 400 "), "\(text)")
        }
    }

    @Test(arguments: [
        ["Content-Length": "-1"], ["Content-Length": "5, 6"], ["Content-Length": "99999999999999999999999"],
        ["Content-Length": "5", "Transfer-Encoding": "chunked"], ["Transfer-Encoding": "gzip"],
    ])
    func `a body of no certain length is refused`(headers: [String: String]) async throws {
        try await run { hub, _ in
            let connection = try await Connection.open(hub.port)
            let all = Self.headers.merging(headers) { $1 }
            try await connection.send(hub.request("POST", "messages", as: hub.full, headers: all) + "hello")
            await connection.finishSending()
            #expect((400..<500).contains(try await connection.reply().status))
        }
    }

    @Test func `a client that goes away while it is answered is not a failure`() async throws {
        try await run { hub, _ in
            let agent = Agent("a")
            try await hub.register(agent)
            for _ in 0..<20 {
                let connection = try await Connection.open(hub.port, reads: false)
                let request = hub.request(
                    "GET",
                    "installations/a/pending?wait=0",
                    as: hub.listen,
                    channel: agent.secret
                )
                try await connection.send(String(repeating: request, count: 50))
                try await connection.reset()
            }
            #expect(try await hub.send("DELETE", "installations/a", as: hub.full).status == 204)
        }
    }

    // MARK: - HTTP/2

    struct Frames: Sendable, CustomTestStringConvertible {
        let label: String
        let length: Int?
        let frames: [UInt8]
        var closes = false
        var testDescription: String { label }
    }

    private static let hello = Array("hello".utf8)

    static let frames = [
        Frames(label: "reset", length: 10, frames: HTTP2Bytes.data(1, hello) + HTTP2Bytes.reset(1)),
        Frames(label: "reset without a length", length: nil, frames: HTTP2Bytes.data(1, hello) + HTTP2Bytes.reset(1)),
        Frames(label: "less than announced", length: 10, frames: HTTP2Bytes.data(1, hello, ends: true)),
        Frames(label: "more than announced", length: 3, frames: HTTP2Bytes.data(1, hello, ends: true)),
        Frames(
            label: "more than announced, to be continued",
            length: 3,
            frames: HTTP2Bytes.data(1, hello)
        ),
        Frames(
            label: "trailers that do not end",
            length: nil,
            frames: HTTP2Bytes.data(1, hello) + HTTP2Bytes.headers(1, [("a", "b")])
        ),
        Frames(
            label: "trailers of a request line",
            length: nil,
            frames: HTTP2Bytes.data(1, hello) + HTTP2Bytes.headers(1, [(":method", "GET")], ends: true)
        ),
        Frames(
            label: "trailers in capitals",
            length: nil,
            frames: HTTP2Bytes.data(1, hello) + HTTP2Bytes.headers(1, [("A B", "b")], ends: true)
        ),
        Frames(label: "close", length: 10, frames: HTTP2Bytes.data(1, hello), closes: true),
        Frames(label: "close without a length", length: nil, frames: HTTP2Bytes.data(1, hello), closes: true),
        Frames(
            label: "farewell and close",
            length: nil,
            frames: HTTP2Bytes.data(1, hello) + HTTP2Bytes.goAway(last: 0),
            closes: true
        ),
        Frames(
            label: "frame of another stream",
            length: nil,
            frames: HTTP2Bytes.data(1, hello) + HTTP2Bytes.data(7, hello)
        ),
    ]

    @Test(arguments: frames)
    func `a body that does not come whole over HTTP 2 is the client's fault`(fault: Frames) async throws {
        try await run { hub, lines in
            let connection = try await Connection.open(hub.port, tls: try .trustingAll(offering: ["h2"]))
            var fields = [("authorization", hub.token(hub.full))] + Self.headers.map { ($0.key.lowercased(), $0.value) }
            if let length = fault.length { fields.append(("content-length", "\(length)")) }
            let head = HTTP2Bytes.headers(1, HTTP2Bytes.request("POST", "/news/messages", fields))
            try await connection.send(HTTP2Bytes.preface + head + fault.frames)
            if fault.closes { try await connection.close() }
            await givenUp(lines)
        }
    }
}
