import Foundation
import HTTPTypes
import HubTestServer
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import OutboundHTTP
import Testing
import WebEdge

@testable import FeedPublisher

/// Clients of the callback server that open connections and say nothing.
@Suite struct CallbackDeadlinesTests {
    private let connections = ConnectionPlaces(maximum: 2)

    private func channel() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(CallbackDeadlines(connections))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func send(_ channel: EmbeddedChannel, ends: Bool) throws {
        let head = HTTPRequest(method: .post, scheme: "http", authority: "a", path: "/")
        try channel.writeInbound(HTTPRequestPart.head(head))
        if ends { try channel.writeInbound(HTTPRequestPart.end(nil)) }
    }

    private func answer(_ channel: EmbeddedChannel) throws {
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .notFound)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    @Test func `a connection without a request is closed after a short time`() throws {
        let channel = try channel()
        channel.embeddedEventLoop.advanceTime(by: CallbackDeadlines.headTime - .nanoseconds(1))
        #expect(channel.isActive && connections.count == 1)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive && connections.count == 0)
    }

    @Test func `a body that trickles in does not hold its connection`() throws {
        let channel = try channel()
        try send(channel, ends: false)
        for _ in 1...74 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "x")))
        }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive && connections.count == 0)
    }

    @Test func `a connection that is used again has the whole time for each request`() throws {
        let channel = try channel()
        for _ in 1...3 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(14))
            try send(channel, ends: true)
            channel.embeddedEventLoop.advanceTime(by: .seconds(74))
            try answer(channel)
        }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(15))
        #expect(!channel.isActive)
    }

    @Test func `the oldest connection without a request makes room for a new one`() throws {
        let (first, second) = (try channel(), try channel())
        let third = try channel()
        #expect(!first.isActive && second.isActive && third.isActive && connections.count == 2)
    }

    @Test func `a request that is being taken is never closed to make room`() throws {
        let (first, second) = (try channel(), try channel())
        try send(first, ends: false)
        let third = try channel()
        #expect(first.isActive && !second.isActive && third.isActive)
        try send(third, ends: false)
        let fourth = try channel()
        #expect(!fourth.isActive && first.isActive && third.isActive && connections.count == 2)
        // One that was answered and goes on with its body does make room.
        try answer(first)
        let fifth = try channel()
        #expect(!first.isActive && fifth.isActive && connections.count == 2)
    }
}
