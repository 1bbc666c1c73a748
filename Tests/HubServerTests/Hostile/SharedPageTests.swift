import NIOCore
import Testing

import class HubTestServer.Gate

@testable import HubServer

struct SharedPageTests {
    private let clock = TestClock()
    private let computed = Counter()

    private struct Failed: Error {}

    @Test func `a page is computed at most once a second`() async throws {
        let page = SharedPage(interval: .seconds(1), clock: { [clock] in clock.monotonic }) { [computed] in
            computed.add()
            return ByteBuffer(string: "\(computed.count)")
        }
        for _ in 0..<100 { #expect(try await page.bytes() == ByteBuffer(string: "1")) }
        clock.advance(by: 0.999)
        #expect(try await page.bytes() == ByteBuffer(string: "1"))
        clock.advance(by: 0.001)
        for _ in 0..<100 { #expect(try await page.bytes() == ByteBuffer(string: "2")) }
    }

    @Test func `those who ask while a page is computed wait for that one`() async throws {
        let (isBegun, gate) = (Gate(), Gate())
        let page = SharedPage(interval: .seconds(1), clock: { [clock] in clock.monotonic }) { [computed] in
            computed.add()
            isBegun.open()
            await gate.opened()
            return ByteBuffer(string: "x")
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 { group.addTask { try await page.bytes() } }
            await isBegun.opened()
            gate.open()
            for try await bytes in group { #expect(bytes == ByteBuffer(string: "x")) }
        }
        #expect(computed.count == 1)
    }

    @Test func `a page that could not be computed is tried again`() async throws {
        let page = SharedPage(interval: .seconds(1), clock: { [clock] in clock.monotonic }) { [computed] in
            computed.add()
            if computed.count == 1 { throw Failed() }
            return ByteBuffer(string: "x")
        }
        await #expect(throws: Failed.self) { try await page.bytes() }
        #expect(try await page.bytes() == ByteBuffer(string: "x"))
    }

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
