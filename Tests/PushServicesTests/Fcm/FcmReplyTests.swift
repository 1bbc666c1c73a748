import Foundation
import HubProtocol
import HubTestServer
import PushServices
import Synchronization
import Testing

/// One case for every row of the table of FCM's answers.
@Suite struct FcmReplyTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let body: String
        let retryAfter: String?
        let outcome: String
        var testDescription: String { "\(status) \(body) → \(outcome)" }

        /// - Parameters:
        ///   - status: Of HTTP.
        ///   - rpc: Google's common code; `nil` for a reply without a body.
        ///   - code: FCM's own.
        ///   - message: For people.
        ///   - details: In JSON, beside FCM's.
        ///   - retryAfter: The header.
        ///   - outcome: As summarized.
        init(
            _ status: Int,
            _ rpc: String?,
            code: String? = nil,
            says message: String = "It failed.",
            details: [String] = [],
            retryAfter: String? = nil,
            _ outcome: String
        ) {
            let prefix = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
            let own = code.map { #"{"@type":"\#(prefix)","errorCode":"\#($0)"}"# }
            let all = ([own].compactMap { $0 } + details).joined(separator: ",")
            self.status = status
            self.retryAfter = retryAfter
            self.outcome = outcome
            body =
                rpc.map {
                    #"{"error":{"code":\#(status),"message":"\#(message)","status":"\#($0)","details":[\#(all)]}}"#
                } ?? ""
        }
    }

    private static let tokenMessage = "The registration token is not a valid FCM registration token"

    private static func violation(_ field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    private static func quota(_ subject: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(subject)"}]}"#
    }

    static let rows = [
        Row(400, "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", says: tokenMessage, "doubtful"),
        Row(400, "INVALID_ARGUMENT", says: "Bad value", details: [violation("message.token")], "doubtful"),
        Row(400, "INVALID_ARGUMENT", says: "Bad value", details: [violation("message.android.ttl")], "badMessage"),
        Row(400, "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", says: "Message is too big", "badMessage"),
        Row(400, nil, "badMessage"),
        Row(401, "UNAUTHENTICATED", code: "THIRD_PARTY_AUTH_ERROR", "retry 900"),
        Row(401, "UNAUTHENTICATED", code: "APNS_AUTH_ERROR", retryAfter: "1800", "retry 1800"),
        Row(401, "UNAUTHENTICATED", "refusedCredential"), Row(401, nil, "refusedCredential"),
        Row(401, "UNAUTHENTICATED", code: "UNSPECIFIED_ERROR", "refusedCredential"),
        Row(403, "PERMISSION_DENIED", code: "SENDER_ID_MISMATCH", "badRoute"),
        Row(403, "PERMISSION_DENIED", "refusedCredential"), Row(403, nil, "refusedCredential"),
        Row(404, "NOT_FOUND", code: "UNREGISTERED", "dead"),
        Row(404, "NOT_FOUND", "refusedCredential"), Row(404, nil, "refusedCredential"),
        Row(429, "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", "throttled credential 60"),
        Row(429, "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", retryAfter: "7", "throttled credential 7"),
        Row(
            429,
            "RESOURCE_EXHAUSTED",
            code: "QUOTA_EXCEEDED",
            says: "Rate to the device exceeded",
            "throttled handle 60"
        ),
        Row(429, "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", details: [quota("device")], "throttled handle 60"),
        Row(
            429,
            "RESOURCE_EXHAUSTED",
            code: "QUOTA_EXCEEDED",
            says: "For a device",
            details: [quota("project")],
            "throttled credential 60"
        ),
        // A project whose name has the word.
        Row(429, "RESOURCE_EXHAUSTED", details: [quota("project:my-device-app")], "throttled credential 60"),
        Row(429, "RESOURCE_EXHAUSTED", says: "Quota of projects/device-news exceeded", "throttled credential 60"),
        Row(429, nil, retryAfter: "junk", "throttled credential 60"),
        Row(421, nil, "retry"),
        Row(500, "INTERNAL", code: "INTERNAL", "retry"), Row(500, nil, retryAfter: "3", "retry 3"),
        Row(503, "UNAVAILABLE", code: "UNAVAILABLE", "retry 10"), Row(503, nil, "retry 10"),
        Row(503, "UNAVAILABLE", code: "UNAVAILABLE", retryAfter: "3", "retry 10"),
        Row(503, "UNAVAILABLE", code: "UNAVAILABLE", retryAfter: "120", "retry 120"),
        // What nobody has written down goes by Google's code or by the status.
        Row(400, "INVALID_ARGUMENT", code: "UNSPECIFIED_ERROR", "badMessage"),
        Row(500, "UNHEARD", code: "UNHEARD", "retry"), Row(502, nil, "retry"), Row(504, nil, "retry"),
        Row(408, nil, "retry"), Row(405, nil, "badMessage"), Row(413, nil, "tooLarge"), Row(302, nil, "retry"),
    ]

    @Test(arguments: rows)
    func `each answer has its outcome`(row: Row) async throws {
        let server = try ServicePeers.server { _ in
            .status(row.status, headers: row.retryAfter.map { [("Retry-After", $0)] } ?? [], body: row.body)
        }
        let outcome = try await Self.send(to: server)
        #expect(ServicePeers.summary(outcome) == row.outcome)
        let reason = ServicePeers.reason(outcome)
        #expect(!reason.isEmpty && reason.utf8.count < 400 && !reason.contains("device-handle"))
        // Redirects are not followed, and only a stale token is asked about again.
        let isRepeated = row.status == 401 && row.outcome == "refusedCredential"
        #expect(server.requests.filter { !ServicePeers.isForToken($0) }.count == (isRepeated ? 2 : 1))
    }

    private static func send(to server: ScriptedHTTPServer) async throws -> PushOutcome {
        let service = try ServicePeers.service(try ServicePeers.credential(), server)
        let outcome = try await ServicePeers.send(#"{"message":{}}"#, service, to: "device-handle")
        await service.shutdown()
        return outcome
    }

    @Test func `an accepted message has the name that FCM gave it`() async throws {
        let server = try ServicePeers.server { _ in .status(200, body: #"{"name":"projects/p/messages/7"}"#) }
        #expect(try await Self.send(to: server) == .accepted(id: "projects/p/messages/7"))
        for (status, body) in [(200, "not JSON"), (202, ""), (200, String(repeating: "x", count: 100_000))] {
            let odd = try ServicePeers.server { _ in .status(status, body: body) }
            #expect(try await Self.send(to: odd) == .accepted(id: nil))
        }
    }

    @Test func `a reason names the fields, and holds no line breaks and not much`() async throws {
        let server = try ServicePeers.server { _ in
            let text = #"a\nb"# + String(repeating: "x", count: 1_000)
            let details = #"[{"@type":"x/google.rpc.BadRequest","fieldViolations":[{"field":"message.data"}]}]"#
            return .status(400, body: #"{"error":{"message":"\#(text)","details":\#(details)}}"#)
        }
        let long = ServicePeers.reason(try await Self.send(to: server))
        #expect(long.count == 200 && long.contains("in message.data: a bx"))
        let short = try ServicePeers.server { _ in
            let details = #"[{"@type":"x/google.rpc.BadRequest","fieldViolations":[{"field":"message.data[n]"}]}]"#
            return .status(400, body: #"{"error":{"message":"No.","details":\#(details)}}"#)
        }
        #expect(ServicePeers.reason(try await Self.send(to: short)).contains("message.data[n]"))
    }

    @Test func `a token that has grown stale in a burst is renewed once`() async throws {
        let server = try ServicePeers.server { request in
            request.header("Authorization") == "Bearer token-1"
                ? .status(401, body: #"{"error":{"status":"UNAUTHENTICATED"}}"#) : .status(200, body: "{}")
        }
        let service = try ServicePeers.service(try ServicePeers.credential(), server)
        let outcomes = await withTaskGroup(of: String.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let outcome = try? await ServicePeers.send(#"{"message":{}}"#, service, to: "d\(number)")
                    return outcome.map(ServicePeers.summary) ?? "error"
                }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        await service.shutdown()
        #expect(outcomes == ["accepted": 40])
        #expect(server.requests.filter(ServicePeers.isForToken).count == 2)
    }

    @Test(
        arguments: [
            (400, #"{"error":"invalid_grant","error_description":"Invalid JWT"}"#, "refusedCredential"),
            (401, #"{"error":"invalid_client"}"#, "refusedCredential"), (500, "", "retry"), (503, "", "retry"),
            (429, "", "throttled credential"),
        ]
    )
    func `without an access token nothing is sent`(status: Int, body: String, outcome: String) async throws {
        let server = try ScriptedHTTPServer { _ in .status(status, body: body) }
        #expect(ServicePeers.summary(try await Self.send(to: server)) == outcome)
        #expect(server.requests.allSatisfy(ServicePeers.isForToken))
    }

    @Test func `a connection that ends twice leaves the message to be tried again`() async throws {
        let server = try ServicePeers.server { _ in .hangUp }
        #expect(ServicePeers.summary(try await Self.send(to: server)) == "retry")
    }

    @Test func `a send that is cancelled is to be tried again`() async throws {
        let server = try ServicePeers.server { _ in .never }
        let service = try ServicePeers.service(try ServicePeers.credential(), server)
        let task = Task { try await ServicePeers.send(#"{"message":{}}"#, service, to: "d") }
        // The token's, and the message's.
        _ = await server.requests(atLeast: 2)
        task.cancel()
        #expect(ServicePeers.summary(try await task.value) == "retry")
        await service.shutdown()
    }
}
