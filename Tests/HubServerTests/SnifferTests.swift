import Certificates
import FairShares
import Foundation
import HubProtocol
import HubRouting
import HubStore
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import NetworkAddresses
import Testing
import WebEdge

import class HubTestServer.LogLines

@testable import HubServer

/// What a connection becomes, without a network and with a clock of its own.
struct SnifferTests {
    private let scratch: Scratch
    private let lines = LogLines()
    private let limits = ConnectionLimits()

    init() throws {
        scratch = try Scratch()
    }

    private func sniffing(takesPlainHTTP: Bool = false) throws -> ProtocolDetectingChannel {
        var configuration = HubConfiguration(databasePath: scratch.path, hubName: try HubName("news"))
        configuration.takesPlainHTTP = takesPlainHTTP
        let local = LocalCertificates(directory: scratch.folder, names: [try #require(HostName("localhost"))])
        let edge = ServerEdge(
            client: ClientAddress(publicAddress: .own(.name("localhost")), port: 0, trustedProxies: []),
            connections: ConnectionQuota(configuration.connectionLimits, grouping: .standard, clock: { .zero }),
            tls: try CertificateReloader(.local(local), now: { Date() }, logger: lines.logger),
            takesPlainHTTP: configuration.takesPlainHTTP,
            limits: configuration.connectionLimits,
            logger: lines.logger
        )
        return ProtocolDetectingChannel(
            { _, _, _ in },
            streams: StreamGate(
                hubs: HubDirectory(
                    store: try HubStore(path: scratch.path),
                    epochs: EpochHistory(epochs: []),
                    namespaceRules: [],
                    eventLoops: [],
                    configuration: configuration,
                    logger: .quiet
                ),
                applications: [],
                edge: edge,
                crossOrigin: CrossOrigin([])
            ),
            edge: edge
        )
    }

    /// A connection that came in at an address of this machine.
    private func connection(at address: String, takesPlainHTTP: Bool = false) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        channel.localAddress = try SocketAddress(ipAddress: address, port: 8787)
        try channel.connect(to: try SocketAddress(ipAddress: "192.0.2.9", port: 1)).wait()
        _ = try sniffing(takesPlainHTTP: takesPlainHTTP).setup(channel: channel, logger: lines.logger).wait()
        return channel
    }

    private func written(_ channel: EmbeddedChannel) throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    @Test(arguments: [
        ("127.0.0.1", false, true), ("::1", false, true), ("::ffff:127.0.0.1", false, true),
        ("192.0.2.1", false, false),
        ("192.0.2.1", true, true), ("2001:db8::1", false, false),
    ])
    func `plain HTTP is taken where nobody can listen in, or where the operator says so`(
        address: String,
        takesPlainHTTP: Bool,
        isTaken: Bool
    ) throws {
        let channel = try connection(at: address, takesPlainHTTP: takesPlainHTTP)
        try channel.writeInbound(ByteBuffer(string: "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"))
        let reply = try written(channel)
        if isTaken {
            #expect(reply.isEmpty)
        } else {
            #expect(reply.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(reply.contains("<Error><Code>400</Code><Detail>This port requires HTTPS: use https://"))
            #expect(reply.contains("Connection: close"))
            // However long the client goes on.
            try channel.writeInbound(ByteBuffer(string: "more"))
            channel.embeddedEventLoop.advanceTime(by: .seconds(3))
            #expect(!channel.isActive)
        }
    }

    @Test func `a browser that opens the plain address gets a page with the one to open`() throws {
        let channel = try connection(at: "192.0.2.1")
        let head = "GET /-/news/?code=secret HTTP/1.1\r\nHost: hub.example:8787\r\nAccept: text/html,*/*;q=0.8\r\n\r\n"
        try channel.writeInbound(ByteBuffer(string: head))
        let reply = try written(channel)
        #expect(reply.hasPrefix("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html; charset=utf-8\r\n"))
        #expect(reply.contains(#"<a href="https://hub.example:8787/-/news/">"#) && !reply.contains("secret"))
        let parts = reply.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(parts.count == 2 && reply.contains("Content-Length: \(parts[1].utf8.count)\r\n"))
        channel.embeddedEventLoop.advanceTime(by: .seconds(3))
        #expect(!channel.isActive)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n", "https://h/"),
        ("GET / HTTP/1.1\r\nhost:  [::1]:80\r\naccept: image/png\r\naccept: text/html\r\n\r\n", "https://[::1]:80/"),
        ("GET /a\"><script> HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n", "https://h/"),
        ("GET /a\u{e9} HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n", "https://h/"),
        ("GET https://evil/ HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n", "https://h/"),
        ("GET / HTTP/1.1\r\nHost: h\"><b>\r\nAccept: text/html\r\n\r\n", nil),
        ("GET / HTTP/1.1\r\nHost: h/evil\r\nAccept: text/html\r\n\r\n", nil),
        ("GET / HTTP/1.1\r\nAccept: text/html\r\n\r\n", nil),
        ("GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html", nil),
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\nAccept: text/html\r\n\r\n", nil),
        ("POST / HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n", nil),
        ("GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\nAuthorization: x\r\n\r\n", nil),
        ("GET / HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n", nil), ("", nil), ("\r\n\r\n", nil),
    ])
    func `a plain request is a browser's if it asks for a page of a valid host`(head: String, address: String?) {
        #expect(PlainVisit(head.utf8)?.address == address)
    }

    @Test(arguments: [
        ("text/html", true), ("application/xml, TEXT/HTML ; q=0.9", true), ("text/html;level=1;q=0.1", true),
        ("text/html;q=0", false), ("text/html; q=0.000", false), ("*/*", false), ("text/*", false),
        ("application/atom+xml,application/xml", false), ("", false), ("text/html2", false),
    ])
    func `a client prefers HTML only if it says so`(accept: String, isStated: Bool) {
        #expect(HTMLPreference.isStated(in: [accept]) == isStated)
    }

    @Test func `a handshake that fails is logged at debug level, and the connection ends`() throws {
        let channel = try connection(at: "192.0.2.1")
        // The beginning of a record, and nothing that could be in it.
        _ = try? channel.writeInbound(ByteBuffer(bytes: [0x16, 3, 1, 0, 4, 0xFF, 0xFF, 0xFF, 0xFF]))
        #expect(!channel.isActive)
        #expect(lines.all.count == 1, "\(lines.all)")
        #expect(lines.all.first?.hasPrefix("debug a TLS handshake failed error.reason=") == true)
    }

    @Test func `a handshake that does not end is ended`() throws {
        let channel = try connection(at: "127.0.0.1")
        try channel.writeInbound(ByteBuffer(bytes: [0x16]))
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(limits.handshake) - .seconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(10))
        #expect(!channel.isActive)
        #expect(lines.all == ["debug a TLS handshake failed error.reason=it took too long"])
    }

    @Test func `a connection that cannot be set up is closed with a warning`() throws {
        let channel = EmbeddedChannel()
        // A closed connection takes no handlers.
        _ = try channel.finish()
        #expect(throws: (any Error).self) { try sniffing().setup(channel: channel, logger: lines.logger).wait() }
        #expect(lines.all.count == 1, "\(lines.all)")
        #expect(lines.all.first?.hasPrefix("warning a connection could not be set up error.reason=") == true)
    }

    @Test func `a connection that says nothing is ended`() throws {
        let channel = try connection(at: "127.0.0.1")
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(limits.head))
        #expect(!channel.isActive)
    }
}
