import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import Synchronization
import Testing

@testable import AppBackend

@Suite struct HubPlatformsTests {
    /// Asks a hub whose first answer comes at once; the others come when a gate opens, or never.
    private func run(
        then later: ScriptedReply,
        _ body: (HubPlatforms, TestClock, ScriptedHTTPServer, Gate) async throws -> Void
    ) async throws {
        let (clock, gate) = (TestClock(), Gate())
        let calls = Mutex(0)
        let known = ScriptedReply.status(200, body: #"{"credentials":[{"platform":"apns","isUsable":true}]}"#)
        let server = try ScriptedHTTPServer { _ in
            let isFirst = calls.withLock { calls in
                calls += 1
                return calls == 1
            }
            if isFirst { return known }
            gate.blockUntilOpen()
            return later
        }
        defer { gate.open() }
        let string = try ConnectionString(endpoint: server.baseURL, keyName: "Full", key: "k")
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = try HubClient(connection: string, hub: HubName("news"), http: http)
        try await body(HubPlatforms(hub: client, clock: { clock.monotonic }), clock, server, gate)
        await http.shutdown()
    }

    @Test func `a hub that answers slowly holds up one notification, and not those that come meanwhile`() async throws {
        try await run(then: .status(404)) { platforms, clock, server, gate in
            let first = try await platforms.current()
            clock.advance(by: HubPlatforms.lifetime)
            let slow = Task { try await platforms.current() }
            _ = await server.requests(atLeast: 2)
            let meanwhile = try await platforms.current()
            #expect(first == .known([.apns]) && meanwhile == first)
            gate.open()
            let late = try await slow.value
            #expect(late == .unknown)
            let fresh = try await platforms.current()
            #expect(fresh == .unknown && server.requests.count == 2)
        }
    }

    @Test func `an old answer is used for less than a minute`() async throws {
        try await run(then: .status(500)) { platforms, clock, server, gate in
            _ = try await platforms.current()
            clock.advance(by: HubPlatforms.lifetime)
            let slow = Task { try await platforms.current() }
            _ = await server.requests(atLeast: 2)
            clock.advance(by: HubPlatforms.staleLifetime)
            let other = Task { try await platforms.current() }
            gate.open()
            for task in [slow, other] {
                await #expect(throws: HubError.self) { try await task.value }
            }
        }
    }
}
