import Foundation
import HubProtocol
import HubTestServer
import PushServices
import Testing

/// One case for every row of the table of WNS' answers.
@Suite struct WnsReplyTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let headers: [(String, String)]
        let outcome: String
        var testDescription: String { "\(status) \(headers.map { "\($0.0): \($0.1)" }) → \(outcome)" }

        init(_ status: Int, _ headers: [(String, String)], _ outcome: String) {
            self.status = status
            self.headers = headers
            self.outcome = outcome
        }

        init(_ status: Int, _ outcome: String) { self.init(status, [], outcome) }
    }

    private static func description(_ text: String) -> (String, String) { ("X-WNS-Error-Description", text) }

    static let rows = [
        Row(200, [("X-WNS-Status", "received"), ("X-WNS-Msg-ID", "7E")], "accepted 7E"), Row(200, "accepted"),
        Row(200, [("X-WNS-Status", "dropped"), ("X-WNS-DeviceConnectionStatus", "disconnected")], "dropped"),
        Row(200, [("X-WNS-Status", "Dropped")], "dropped"),
        Row(200, [("X-WNS-Status", "channelthrottled")], "throttled handle"),
        Row(400, [description("Conflicting headers")], "badMessage"), Row(401, "refusedCredential"),
        Row(403, "badRoute"), Row(404, "dead"), Row(405, "badMessage"), Row(406, "throttled credential"),
        Row(406, [("Retry-After", "30")], "throttled credential 30"),
        Row(410, [description("The channel expired.")], "dead"), Row(410, "dead"),
        Row(410, [description("The sending domain is blocked.")], "refusedCredential"), Row(413, "tooLarge"),
        Row(500, "retry"), Row(503, "retry"), Row(503, [("Retry-After", "120")], "retry 120"),
        // What nobody has written down.
        Row(429, [("Retry-After", "3")], "throttled credential 3"), Row(408, "retry"), Row(502, "retry"),
        Row(418, "badMessage"), Row(307, "retry"),
    ]

    @Test(arguments: rows)
    func `each answer has its outcome`(row: Row) async throws {
        let server = try ServicePeers.server { _ in .status(row.status, headers: row.headers) }
        let outcome = try await Self.send(to: server)
        #expect(ServicePeers.summary(outcome) == row.outcome)
        let reason = ServicePeers.reason(outcome)
        #expect(reason.isEmpty == row.outcome.hasPrefix("accepted"))
        #expect(!reason.contains("secret-path"))
        let count = server.requests.filter { !ServicePeers.isForToken($0) }.count
        #expect(count == (row.status == 401 ? 2 : 1))
    }

    private static func send(to server: ScriptedHTTPServer) async throws -> PushOutcome {
        let service = try ServicePeers.service(ServicePeers.wnsCredential(), server)
        let outcome = try await ServicePeers.send(
            "<toast/>",
            service,
            to: "https://127.0.0.1:1/wns/secret-path",
            format: .windows
        )
        await service.shutdown()
        return outcome
    }

    @Test func `what the service wrote is one line that is not long`() async throws {
        let server = try ServicePeers.server { _ in
            .status(400, body: "a\nb\u{1B}" + String(repeating: "x", count: 1_000))
        }
        let reason = ServicePeers.reason(try await Self.send(to: server))
        #expect(reason.hasPrefix("WNS answered 400: a b x") && reason.count < 250)
    }

    @Test func `a token that has grown stale in a burst is renewed once`() async throws {
        let server = try ServicePeers.server { request in
            .status(request.header("Authorization") == "Bearer token-1" ? 401 : 200)
        }
        let service = try ServicePeers.service(ServicePeers.wnsCredential(), server)
        let outcomes = await withTaskGroup(of: PushOutcome?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let uri = "https://127.0.0.1:1/wns/\(number)"
                    return try? await ServicePeers.send("<toast/>", service, to: uri, format: .windows)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        await service.shutdown()
        #expect(outcomes == Array(repeating: .accepted(id: nil), count: 40))
        #expect(server.requests.filter(ServicePeers.isForToken).count == 2)
    }

    @Test(arguments: [(400, "refusedCredential"), (401, "refusedCredential"), (503, "retry")])
    func `without an access token nothing is sent`(status: Int, outcome: String) async throws {
        let server = try ScriptedHTTPServer { _ in .status(status, body: #"{"error":"invalid_client"}"#) }
        #expect(ServicePeers.summary(try await Self.send(to: server)) == outcome)
        #expect(server.requests.allSatisfy(ServicePeers.isForToken))
    }
}
