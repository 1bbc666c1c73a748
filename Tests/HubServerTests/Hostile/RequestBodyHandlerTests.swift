import HTTPTypes
import HubRouting
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import Testing
import WebEdge

@testable import HubServer

/// Bodies on a channel whose time the test tells.
struct RequestBodyHandlerTests {
    private let channel = EmbeddedChannel()
    private let limits = ConnectionLimits()

    init() throws {
        try channel.pipeline.syncOperations.addHandler(RequestBodyHandler(.http1, limits))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func begin(length: Int?) throws {
        var request = HTTPRequest(method: .put, scheme: "http", authority: "h", path: "/")
        if let length { request.headerFields[.contentLength] = "\(length)" }
        try channel.writeInbound(HTTPRequestPart.head(request))
    }

    private func send(_ bytes: Int) throws {
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 120, count: bytes)))
    }

    private func pass(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    /// What the route is told.
    private func fault() -> RequestFault? {
        do { try channel.throwIfErrorCaught() } catch { return error as? RequestFault }
        return nil
    }

    private func answer() throws {
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .badRequest)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    @Test func `a body of a byte a second ends after its grace`() throws {
        try begin(length: 1_000)
        for _ in 0..<20 {
            try send(1)
            #expect(fault() == nil)
            pass(1)
        }
        pass(1)
        #expect(fault() == .tooSlow)
        try answer()
        guard case .head(let head) = try #require(try channel.readOutbound(as: HTTPResponsePart.self)) else {
            Issue.record("no head")
            return
        }
        #expect(head.headerFields[.connection] == "close")
    }

    @Test func `a body that keeps the pace is taken, however long it takes`() throws {
        try begin(length: nil)
        for _ in 0..<300 {
            try send(limits.bodyRate)
            pass(1)
            #expect(fault() == nil)
        }
        try channel.writeInbound(HTTPRequestPart.end(nil))
        pass(3_600)
        #expect(fault() == nil)
    }

    @Test func `a body behind a request that is still worked at is not judged`() throws {
        try begin(length: nil)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try begin(length: 10)
        try send(1)
        pass(60)
        #expect(fault() == nil)
        try answer()
        pass(60)
        #expect(fault() == .tooSlow)
    }

    @Test func `the rest of a body whose request was answered keeps no connection open`() throws {
        try begin(length: 10)
        try answer()
        #expect(channel.isActive)
        pass(30)
        #expect(!channel.isActive)
    }

    @Test func `a connection that is lost in the middle of a body is a body cut short`() throws {
        try begin(length: 10)
        try send(5)
        channel.pipeline.fireChannelInactive()
        #expect(fault() == .cutShort)
    }

    @Test func `a client that takes nothing of its answer is cut off`() throws {
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        pass(59)
        #expect(channel.isActive)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        pass(60)
        #expect(channel.isActive)
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        pass(60)
        #expect(!channel.isActive)
    }

    @Test func `over HTTP 1.1 NIO ends a head without a length with a chunk, also in answer to HEAD`() throws {
        let channel = EmbeddedChannel(handler: HTTPResponseEncoder())
        let head = HTTPResponseHead(version: .http1_1, status: .ok)
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        // Once this fails, HTTP/1.1 needs no length either: see ``RequestBodyHandler``.
        #expect(text.hasSuffix("\r\n\r\n0\r\n\r\n"), "\(text)")
    }
}
