import Foundation
import HTTPTypes
import HubProtocol
import Hummingbird
import NIOSSL
import NetworkAddresses
import Testing
import WebEdge

@testable import HubServer

/// A TCP balancer in front of the hub, which names its clients.
struct ProxyProtocolTests {
    /// Runs a hub that answers with the client's address as it sees it.
    private func run(trusting proxies: [String], _ body: (TestHub) async throws -> Void) async throws {
        try await TestHub.run(
            try Scratch(),
            configure: { $0.trustedProxies = proxies.compactMap { AddressBlock($0) } },
            mounting: { _ in
                let router = Router(context: WebContext<Never>.self)
                router.add(
                    middleware: IdentifyClient<Never>(
                        trustedProxies: TrustedProxies(proxies.compactMap { AddressBlock($0) })
                    )
                )
                router.get("/-/who") { _, context in
                    "peer \(context.client.peer.map { "\($0)" } ?? "-") client \(context.client.network)"
                }
                return [MountedApplication("test", below: "-", responder: router.buildResponder())]
            },
            body
        )
    }

    /// What the hub says about a connection that begins with this text.
    private func answer(_ hub: TestHub, after header: String, fields: String = "") async throws -> String {
        let connection = try await Connection.open(hub.port)
        try await connection.send("\(header)GET /-/who HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\(fields)\r\n")
        var text = ""
        for await bytes in connection.bytes { text += String(decoding: bytes, as: UTF8.self) }
        return text.isEmpty ? "" : String(text.split(separator: "\r\n\r\n", maxSplits: 1).last ?? "")
    }

    @Test func `the balancer's client is the client, whatever it claims itself`() async throws {
        let header = "PROXY TCP4 203.0.113.7 198.51.100.1 56324 443\r\n"
        try await run(trusting: ["127.0.0.1"]) { hub in
            let plain = try await answer(hub, after: header)
            #expect(plain.hasPrefix("peer 203.0.113.7 client 203.0.113."), "\(plain)")
            let lie = try await answer(hub, after: header, fields: "X-Forwarded-For: 192.0.2.99\r\n")
            #expect(lie == plain)
            // Balancers check their servers without a client, and others send no header.
            for start in ["", "PROXY UNKNOWN\r\n"] {
                let reply = try await answer(hub, after: start)
                #expect(reply.hasPrefix("peer 127.0.0.1 "), "\(reply)")
            }
            #expect(try await answer(hub, after: "PROXY TCP4 nobody\r\n") == "")
        }
    }

    @Test func `a client that claims to be a balancer is cut off`() async throws {
        try await run(trusting: ["192.0.2.1"]) { hub in
            let header = "PROXY TCP4 203.0.113.7 198.51.100.1 56324 443\r\n"
            #expect(try await answer(hub, after: header) == "")
            #expect(try await answer(hub, after: "PROXY UNKNOWN\r\n") == "")
            let reply = try await answer(hub, after: "")
            #expect(reply.hasPrefix("peer 127.0.0.1 "), "\(reply)")
        }
    }

    @Test func `a proxy behind the balancer reports its own clients`() async throws {
        try await run(trusting: ["127.0.0.1", "198.51.100.9"]) { hub in
            let header = "PROXY TCP4 198.51.100.9 198.51.100.1 56324 443\r\n"
            let reply = try await answer(hub, after: header, fields: "X-Forwarded-For: 203.0.113.7\r\n")
            #expect(reply.hasPrefix("peer 198.51.100.9 client 203.0.113."), "\(reply)")
        }
    }
}
