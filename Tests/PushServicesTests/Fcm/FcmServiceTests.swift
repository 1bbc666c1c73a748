import Foundation
import HubProtocol
import HubTestServer
import PushEmulator
import PushServices
import Testing

/// FCM over TLS and HTTP/2, as the emulator speaks it.
@Suite struct FcmServiceTests {
    private static let body = #"{"message":{"data":{"k":"v"},"android":{"ttl":"3600s","collapse_key":"c"}}}"#

    private func run(
        _ changes: [String: String?] = [:],
        _ body: (PushEmulator, any PushService) async throws -> Void
    ) async throws {
        try await ServicePeers.run(try ServicePeers.credential(changes), body)
    }

    @Test func `a message arrives, and the first answer opens the way for more`() async throws {
        try await run { emulator, service in
            #expect(service.concurrency == 1)
            let outcome = try await ServicePeers.send(Self.body, service, to: "phone")
            #expect(service.concurrency == 400)
            let delivery = try #require(emulator.inbox(of: "phone").first)
            #expect(outcome == .accepted(id: delivery.messageID))
            #expect(delivery.collapseKey == "c")
            #expect(
                String(decoding: delivery.body, as: UTF8.self).replacing(/35[0-9]{2}s/, with: "3600s")
                    == #"{"message":{"token":"phone","data":{"k":"v"},"android":{"collapse_key":"c","ttl":"3600s"}}}"#
            )
        }
    }

    @Test(
        arguments: [
            ("dead-phone", "dead"), ("malformed-phone", "doubtful"),
            ("throttled-phone", "throttled handle 1"), ("unavailable-phone", "retry 10"), ("broken-phone", "retry"),
            ("badcredential-phone", "refusedCredential"), ("wrongtopic-phone", "badRoute"),
            ("slow-1-phone", "accepted"),
            // The connection ends once, and the message goes out on another.
            ("goaway-1-phone", "accepted"),
        ]
    )
    func `each fault has its outcome`(handle: String, expected: String) async throws {
        try await run { _, service in
            let outcome = ServicePeers.summary(try await ServicePeers.send(Self.body, service, to: handle))
            #expect(outcome == expected || expected == "accepted" && outcome.hasPrefix("accepted"))
        }
    }

    @Test func `the quota of the project pauses the credential`() async throws {
        try await run { emulator, service in
            emulator.setFault(PushFault(.throttled(retryAfter: .seconds(5))), for: .fcm)
            let outcome = try await ServicePeers.send(Self.body, service, to: "phone")
            #expect(ServicePeers.summary(outcome) == "throttled credential 5")
        }
    }

    @Test func `a revoked access token is renewed`() async throws {
        try await run { emulator, service in
            _ = try await ServicePeers.send(Self.body, service, to: "phone")
            emulator.revokeAccessTokens()
            _ = try await ServicePeers.send(Self.body, service, to: "phone")
            #expect(emulator.inbox(of: "phone").count == 2)
        }
    }

    @Test(
        arguments: ["", "a\u{7}b", "a\nb", "a\u{85}b", String(repeating: "x", count: 4_097)]
    )
    func `a handle that cannot be one is not sent to`(handle: String) async throws {
        let server = try ServicePeers.server { _ in .status(200, body: "{}") }
        let service = try ServicePeers.service(try ServicePeers.credential(), server)
        let outcome = try await ServicePeers.send(Self.body, service, to: handle)
        #expect(ServicePeers.summary(outcome) == "unsendable")
        #expect(server.requests.isEmpty)
        await service.shutdown()
    }

    @Test func `a browser is not sent to`() async throws {
        let service = try PushServiceDirectory().service(for: try ServicePeers.credential())
        let push = try ReadyPush(
            PushMessage(format: .fcmv1, body: Array(Self.body.utf8), acceptedAt: Timestamp(Date())),
            by: service
        )
        let channel = PushChannel.browser(BrowserPushChannel(endpoint: "https://example.org/", p256dh: "", auth: ""))
        let outcome = await push.send(to: PushTarget(channel: channel, id: UUID()))
        #expect(ServicePeers.summary(outcome) == "unsendable")
    }

    @Test func `a legacy message arrives too`() async throws {
        try await run { emulator, service in
            let body = #"{"data":{"message":"Hello","n":1},"priority":"high","time_to_live":60}"#
            let outcome = try await ServicePeers.send(body, service, to: "phone", format: .gcm)
            #expect(ServicePeers.summary(outcome).hasPrefix("accepted"))
            #expect(emulator.inbox(of: "phone").count == 1)
        }
    }

    @Test func `four hundred at once, with a connection that ends among them, all arrive`() async throws {
        try await run { emulator, service in
            _ = try await ServicePeers.send(Self.body, service, to: "first")
            let handles = (0..<400).map { $0 == 200 ? "goaway-1-phone" : "phone\($0)" }
            let count = await withTaskGroup(of: Bool.self) { group in
                for handle in handles {
                    group.addTask {
                        guard case .accepted? = try? await ServicePeers.send(Self.body, service, to: handle) else {
                            return false
                        }
                        return true
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(count == 400)
            #expect(handles.allSatisfy { !emulator.inbox(of: $0).isEmpty })
        }
    }

    @Test func `a credential is tried without a message to a device`() async throws {
        try await run { _, service in
            #expect(await service.tryCredential() == .accepted(id: nil))
        }
        try await run(["ClientEmail": "refused@example.iam.gserviceaccount.com"]) { _, service in
            #expect(ServicePeers.summary(await service.tryCredential()) == "refusedCredential")
        }
    }

    @Test(
        arguments: [
            (400, "INVALID_ARGUMENT", "accepted"), (404, "UNREGISTERED", "accepted"),
            (403, "SENDER_ID_MISMATCH", "accepted"), (503, "UNAVAILABLE", "retry 10"),
        ]
    )
    func `a trial that FCM refuses for its token has succeeded`(
        status: Int,
        code: String,
        expected: String
    ) async throws {
        let server = try ServicePeers.server { _ in
            let detail = #"{"@type":"x/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
            return .status(status, body: #"{"error":{"message":"No.","details":[\#(detail)]}}"#)
        }
        let service = try ServicePeers.service(try ServicePeers.credential(), server)
        #expect(ServicePeers.summary(await service.tryCredential()) == expected)
        let request = try #require(server.requests.last)
        #expect(request.path == "/v1/projects/example-project/messages:send")
        #expect(request.text.contains(#""validate_only":true"#))
        await service.shutdown()
    }
}
