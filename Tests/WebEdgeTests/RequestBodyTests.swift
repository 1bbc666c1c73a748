import HTTPTypes
import HubProtocol
import Hummingbird
import NIOCore
import Testing
import WebEdge

@Suite struct RequestBodyTests {
    private struct Lost: Error {}

    /// A request whose body is a text, after which its source ends, or fails.
    private func request(_ text: String, announced: Int? = nil, failure: (any Error)? = nil) -> Request {
        let (parts, sender) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream()
        sender.yield(ByteBuffer(string: text))
        sender.finish(throwing: failure)
        var head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/")
        head.headerFields[.contentLength] = announced.map { "\($0)" }
        return Request(head: head, body: RequestBody(asyncSequence: parts))
    }

    @Test(arguments: [nil, 5]) func `a body up to the limit is read`(announced: Int?) async throws {
        #expect(try await request("hello", announced: announced).bytes(limit: 5) == Array("hello".utf8))
        #expect(try await request("").bytes(limit: 5).isEmpty)
    }

    @Test func `a larger body is refused, announced or not`() async {
        for announced in [nil, 6] {
            let error = await #expect(throws: ProtocolError.self) {
                try await request("hello!", announced: announced).bytes(limit: 5)
            }
            #expect(error?.status == 413)
        }
        // What has been announced is not waited for.
        let error = await #expect(throws: ProtocolError.self) {
            try await request("", announced: 6, failure: Lost()).bytes(limit: 5)
        }
        #expect(error?.status == 413)
    }

    @Test func `a body that ends early is cut short, and a fault of the transfer keeps its kind`() async {
        await #expect(throws: RequestFault.cutShort) { try await request("hel", announced: 5).bytes(limit: 5) }
        await #expect(throws: RequestFault.cutShort) { try await request("hel", failure: Lost()).bytes(limit: 5) }
        for fault in [RequestFault.tooSlow, .malformed, .cutShort] {
            await #expect(throws: fault) { try await request("hel", failure: fault).bytes(limit: 5) }
        }
        #expect(RequestFault.tooSlow.refusal.status == 408 && RequestFault.cutShort.refusal.status == 400)
    }

    @Test func `a request that a stop has cancelled is not the client's fault`() async {
        await #expect(throws: CancellationError.self) {
            try await request("hel", failure: CancellationError()).bytes(limit: 5)
        }
    }
}
