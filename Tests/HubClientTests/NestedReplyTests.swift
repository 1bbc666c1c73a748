import Foundation
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import HubClient

/// Replies with more levels than Foundation's decoder survives (Swift 6.3.1).
@Suite struct NestedReplyTests {
    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static let bodies = [
        repeated("[", 513), repeated("{\"a\":", 512) + "[", repeated("[", 513) + "\r",
        "{\"more\":\(repeated("[", 64))\(repeated("]", 64))}",
    ]

    private static let calls: [(name: String, call: @Sendable (HubClient) async throws -> Void)] = [
        ("alarms", { _ = try await $0.alarms() }), ("categories", { _ = try await $0.categories() }),
        ("overview", { _ = try await $0.overview() }),
        ("publishers", { _ = try await $0.publishers() }),
        ("a publisher", { _ = try await $0.publisher("desk") }),
        ("messages", { _ = try await $0.newestMessages(5) }),
    ]

    @Test(arguments: calls.indices, bodies)
    func `a hub's reply with many levels is an error`(call: Int, body: String) async throws {
        let hub = try ScriptedHub { _ in .status(200, body: body) }
        do {
            try await Self.calls[call].call(hub.client)
            Issue.record("\(Self.calls[call].name): there is no error")
        } catch HubError.malformedReply(let reason) {
            #expect(reason.hasSuffix("cannot be read"), "\(Self.calls[call].name)")
        }
    }

    @Test(arguments: bodies, [200, 400, 502])
    func `an app backend's reply with many levels is an error`(body: String, status: Int) async throws {
        let server = try ScriptedHTTPServer { _ in .status(status, body: body) }
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = BackendClient(try BackendAddress(parsing: server.baseURL), token: "secret-token", http: http)
        await #expect(throws: BackendClientError.self) { try await client.notify("alice", "x", on: "all") }
        await #expect(throws: BackendClientError.self) { try await client.logIn(user: "a", password: "x", device: "") }
    }
}
