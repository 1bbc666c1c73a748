import Foundation
import HubProtocol
import HubRouting
import Testing

@testable import HubServer

/// What an operator is told of a hub, and of its messages page by page.
struct OverviewTests {
    @Test func `the overview holds what the hub keeps count of`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register(Agent("a", tags: ["World"]))
            _ = try await hub.accept("x", tags: "World")
            let reply = try await hub.send("GET", "overview", as: hub.full)
            #expect(reply.status == 200, "\(reply.body)")
            let overview = try JSONDecoder().decode(HubOverview.self, from: Data(reply.body.utf8))
            #expect(overview.hub == "news" && overview.accepted == 1 && overview.installations == ["stream": 1])
            #expect(overview.failure == nil && overview.pushBacklog.isEmpty && overview.scheduled == 0)
            #expect(overview.log.bytes > 0 && overview.log.limitBytes == hub.hub.configuration.maximumLogBytes)
            let refused = try await hub.send("GET", "overview", as: hub.listen)
            #expect(refused.status == 401)
        }
    }

    @Test func `messages before a place are listed without those that wait`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var ids: [MessageID] = []
            for title in ["1", "2", "3"] { ids.append(try await hub.accept(title)) }
            let all = try await hub.newest()
            #expect(all.map(\.id) == ids.reversed())
            let place = try #require(all.first?.position)
            let earlier = try await hub.newest("?before=\(place)")
            #expect(earlier.map(\.id) == ids.dropLast().reversed())
            let one = try await hub.newest("?before=\(place)&last=1")
            #expect(one.map(\.id) == [ids[1]])
            let newest = try await hub.newest("?before=\(Int64.max)")
            #expect(newest.map(\.id) == ids.reversed())
            let first = try await hub.newest("?before=1")
            #expect(first.isEmpty)
            let waiting = try await hub.newest("?state=scheduled")
            #expect(waiting.isEmpty)
            for wrong in ["before=0", "before=-1", "before=x", "before=", "state=Completed"] {
                let reply = try await hub.send("GET", "deliveries?\(wrong)", as: hub.full)
                #expect(reply.status == 400, "\(wrong)")
            }
        }
    }
}
