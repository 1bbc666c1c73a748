import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOPosix
import Testing

@testable import HubServer

/// Requests on the event loops of their connections.
struct EventLoopTests {
    @Test func `work that prefers an event loop runs there, and long work does not`() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let places = try await withTaskExecutorPreference(EventLoopExecutor(eventLoop)) {
            let before = eventLoop.inEventLoop
            await Task.yield()
            let apart = try await LongWork.run { eventLoop.inEventLoop }
            return [before, apart, eventLoop.inEventLoop]
        }
        #expect(places == [true, false, true])
    }

    @Test func `event loops execute small changes by senders and devices, and nothing else`() {
        let brief = RouteTable.routes.filter { !$0.isLong(Self.request($0, bytes: 16 << 10)) }
        #expect(
            Set(brief.map { "\($0.method) \($0.address)" }) == [
                "POST /:hub/messages", "POST /:hub/messages/:id",
                "POST /:hub/schedulednotifications", "DELETE /:hub/schedulednotifications/:id",
                "PUT /:hub/installations/:id", "PATCH /:hub/installations/:id", "DELETE /:hub/installations/:id",
                "POST /:hub/registrations", "PUT /:hub/registrations/:id", "DELETE /:hub/registrations/:id",
                "PUT /:hub/categories/:publisher", "PUT /:hub/publishers/:publisher",
            ]
        )
        #expect(RouteTable.routes.allSatisfy { $0.isLong(Self.request($0, bytes: (16 << 10) + 1)) })
        #expect(RouteTable.routes.allSatisfy { $0.isLong(Self.request($0, bytes: nil)) })
    }

    private static func request(_ route: Route, bytes: Int?) -> Request {
        var head = HTTPRequest(method: route.method, scheme: nil, authority: nil, path: "/")
        if let bytes { head.headerFields[.contentLength] = "\(bytes)" }
        return Request(head: head, body: RequestBody(buffer: ByteBuffer()))
    }
}
