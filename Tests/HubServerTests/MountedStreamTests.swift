import HubProtocol
import HubRouting
import Hummingbird
import Testing
import WebEdge

@testable import HubServer

/// Streams that an application of the hub's port opens for its clients.
struct MountedStreamTests {
    @Test func `a stream that the hub refuses is answered with its status, and counted`() async throws {
        try await TestHub.run(
            try Scratch(),
            mounting: { service in
                let router = Router(context: WebContext<Never>.self)
                router.get("/-/stream") { request, context in
                    let id = try InstallationID("gone")
                    let channel = try #require(context.client.channel)
                    let opening = try await service.primaryLocalHub.stream(of: id, channel: .random(), after: nil)
                    return await service.response(to: request, opening: opening, on: channel)
                }
                return [MountedApplication("test", below: "-", responder: router.buildResponder())]
            }
        ) { hub in
            let reply = try await hub.send("GET", "/-/stream", as: nil)
            #expect(reply.status == 404 && reply.error != nil, "\(reply)")
            let name = "newswire_http_responses_total{operation=\"\(ResponseCounts.stream)\",status=\"404\"}"
            #expect(try await hub.metrics()[name] == 1)
        }
    }
}
