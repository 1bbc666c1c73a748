import Testing

@testable import HubServer

struct MetricsRateTests {
    @Test func `metrics are computed at most once a second for all who ask`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.metricsInterval = .seconds(1)
        } _: { hub in
            func page() async throws -> String { try await hub.send("GET", "/metrics", as: nil).body }
            func accepted(_ page: String) -> Bool {
                page.contains(#"newswire_messages_accepted_total{hub="news"} 1"#)
            }
            #expect(try await !accepted(page()))
            try await hub.accept("x")
            #expect(try await !accepted(page()), "the same page")
            hub.clock.advance(by: 1)
            #expect(try await accepted(page()))
        }
    }
}
