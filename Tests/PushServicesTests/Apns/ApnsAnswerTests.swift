import Foundation
import HubProtocol
import HubTestServer
import PushServices
import Synchronization
import Testing

/// One case for every row of the table of APNs' reasons.
@Suite struct ApnsAnswerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let body: String
        let outcome: String
        var testDescription: String { "\(status) \(body)" }

        init(_ status: Int, _ reason: String?, _ outcome: String) {
            self.status = status
            body = reason.map { #"{"reason":"\#($0)"}"# } ?? ""
            self.outcome = outcome
        }
    }

    static let rows = [
        Row(200, nil, "accepted"),
        Row(400, "BadCollapseId", "badMessage"), Row(400, "BadExpirationDate", "badMessage"),
        Row(400, "BadMessageId", "badMessage"), Row(400, "BadPriority", "badMessage"),
        Row(400, "InvalidPushType", "badMessage"), Row(400, "PayloadEmpty", "badMessage"),
        Row(400, "DuplicateHeaders", "badMessage"), Row(400, "MissingDeviceToken", "badMessage"),
        Row(400, "BadDeviceToken", "doubtful"), Row(400, "DeviceTokenNotForTopic", "badRoute"),
        Row(400, "BadTopic", "refusedCredential"), Row(400, "MissingTopic", "refusedCredential"),
        Row(400, "TopicDisallowed", "refusedCredential"), Row(400, "IdleTimeout", "retry twice"),
        Row(403, "BadCertificate", "refusedCredential"), Row(403, "BadCertificateEnvironment", "refusedCredential"),
        Row(403, "ExpiredProviderToken", "refusedCredential"),
        Row(403, "InvalidProviderToken", "refusedCredential"), Row(403, "MissingProviderToken", "refusedCredential"),
        Row(403, "UnrelatedKeyIdInToken", "refusedCredential twice"),
        Row(403, "BadEnvironmentKeyIdInToken", "refusedCredential"), Row(403, "Forbidden", "refusedCredential"),
        Row(404, "BadPath", "badMessage"), Row(405, "MethodNotAllowed", "badMessage"),
        Row(410, "Unregistered", "dead"), Row(410, "ExpiredToken", "dead"), Row(413, "PayloadTooLarge", "tooLarge"),
        Row(429, "TooManyProviderTokenUpdates", "throttled credential"),
        Row(429, "TooManyRequests", "throttled handle"),
        Row(500, "InternalServerError", "retry"), Row(503, "ServiceUnavailable", "retry"),
        Row(503, "Shutdown", "retry"),
        // What nobody has written down yet goes by its status.
        Row(400, "Unheard", "badMessage"), Row(403, nil, "refusedCredential"), Row(429, nil, "throttled handle"),
        Row(502, nil, "retry"), Row(301, nil, "retry"), Row(421, nil, "retry"),
    ]

    @Test(arguments: rows)
    func `each reason has its outcome`(row: Row) async throws {
        let server = try ScriptedHTTPServer { _ in .status(row.status, body: row.body) }
        let outcome = try await Self.send(to: server)
        let times = row.outcome.hasSuffix("twice") ? 2 : 1
        #expect(ServicePeers.kind(outcome) == row.outcome.replacing(" twice", with: ""))
        #expect(server.requests.count == times)
    }

    @Test func `a dead token says since when`() async throws {
        let server = try ScriptedHTTPServer { _ in
            .status(410, body: #"{"reason":"Unregistered","timestamp":1700000000123}"#)
        }
        guard case .deadHandle(let dead) = try await Self.send(to: server) else {
            Issue.record("not dead")
            return
        }
        #expect(dead.since == Timestamp(milliseconds: 1_700_000_000_123))
    }

    @Test func `what cannot be read goes by its status, and controls do not travel`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(400, body: "{\"reason\":\"a\\u001b[31m\"}") }
        guard case .badMessage(let reason) = try await Self.send(to: server) else {
            Issue.record("not a bad message")
            return
        }
        #expect(reason == "APNs: a [31m")
    }

    @Test func `a service that is not there is tried again`() async throws {
        let server = try ScriptedHTTPServer { _ in .hangUp }
        #expect(try await ServicePeers.kind(Self.send(to: server)) == "retry")
        #expect(server.requests.count == 2)
    }

    static func send(to server: ScriptedHTTPServer, _ body: String = #"{"aps":{"alert":"Hello"}}"#) async throws
        -> PushOutcome
    {
        let service = try directory(server).service(for: ApnsCredentialTests.credential())
        let message = PushMessage(format: .apple, body: Array(body.utf8), acceptedAt: Timestamp(Date()))
        let outcome = await (try ReadyPush(message, by: service)).send(
            to: PushTarget(
                channel: .handle("00AA"),
                id: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
            )
        )
        await service.shutdown()
        return outcome
    }

    static func directory(_ server: ScriptedHTTPServer) -> PushServiceDirectory {
        PushServiceDirectory(emulation: .init(origin: server.baseURL, certificateAuthorities: "", credentials: []))
    }
}
