import Formats
import Foundation
import GRDB
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import PushEmulator
import SQLiteFiles
import Settings
import Testing

@testable import AppBackend

/// A payload from its sender to the addressee's devices.
@Suite struct SecurePushTests {
    private static let secret = "The code is 4711-\u{00E4}"

    private func push(_ emulated: EmulatedHub, as sender: String, _ body: String?) async throws -> BackendReply {
        try await emulated.backend.send("POST", "/api/notifications", as: sender, body)
    }

    @Test(arguments: ["apns", "gcm", "fcmv1", "wns", "browser"])
    func `a push carries an id alone, and the addressee fetches the text`(platform: String) async throws {
        try await EmulatedHub.run { emulated in
            let device = try await emulated.register("bob", platform)
            let other = try await emulated.register("ann", platform)
            let body = #"{"to":"BOB","payload":\#(JSONText(Self.secret).text)}"#
            let reply = try await push(emulated, as: "alice", body)
            #expect(reply.status == 200 && reply.body.isEmpty, "\(reply.body)")
            let delivery = try #require(await emulated.delivery(to: device))
            let id = try #require(SecurePushApp.secureID(in: delivery.message), "\(delivery.message)")
            #expect(PayloadTable.ids.contains(Int64(id)))
            try check(delivery, platform, id, device)
            #expect(await emulated.inbox(of: other).isEmpty)

            let app = SecurePushApp(backend: emulated.backend, user: "bob")
            #expect(try await app.fetch(id) == .init(id: id, payload: Self.secret, isRead: false))
            #expect(try await app.fetch(id) == .init(id: id, payload: Self.secret, isRead: true), "until it expires")
            await #expect(throws: RegisterClient.Failed.self) {
                try await SecurePushApp(backend: emulated.backend, user: "alice").fetch(id)
            }
        }
    }

    private func check(_ push: EmulatedDelivery, _ platform: String, _ id: Int, _ handle: String) throws {
        switch platform {
        case "apns":
            #expect(push.message == #"{"aps":{"content-available":1},"secureId":"\#(id)"}"#)
            #expect(push.header("apns-push-type") == "background" && push.header("apns-priority") == "5")
        case "wns":
            #expect(push.message == "\(id)" && push.header("x-wns-type") == "wns/raw")
            #expect(push.header("content-type") == "application/octet-stream")
        case "browser":
            #expect(push.message == #"{"message":"You have a new secure notification.","secureId":"\#(id)"}"#)
        default:
            #expect(push.message.contains(#""data":{"secureId":"\#(id)"}"#), "\(push.message)")
            if platform == "fcmv1" { #expect(push.message.contains(#""priority":"high""#), "\(push.message)") }
        }
    }

    /// The button of the tutorial on secure push is that of the tutorial on users, whose request names a platform.
    @Test func `every notification can be a secure one`() async throws {
        try await EmulatedHub.run {
            $0.notifications = .secure
        } _: { emulated in
            let (phone, desktop) = (
                try await emulated.register("bob", "fcmv1"), try await emulated.register("bob", "wns")
            )
            let path = "/api/notifications?pns=fcmv1&to_tag=bob"
            let reply = try await emulated.backend.send("POST", path, as: "alice", JSONText(Self.secret).text)
            #expect(reply.status == 200, "\(reply.body)")
            let delivery = try #require(await emulated.delivery(to: phone))
            let id = try #require(SecurePushApp.secureID(in: delivery.message), "\(delivery.message)")
            try check(delivery, "fcmv1", id, phone)
            #expect(await emulated.inbox(of: desktop).isEmpty)
            let app = SecurePushApp(backend: emulated.backend, user: "bob")
            #expect(try await app.fetch(id).payload == Self.secret)
            let byUser = try await emulated.backend.send("POST", path, as: "ann", #""x""#)
            #expect(byUser.status == 403, "\(byUser.body)")
        }
    }

    @Test func `agents get the id on their stream`() async throws {
        try await EmulatedHub.run { emulated in
            let agent = try await TestAgent("desk-1", of: "bob", emulated.backend, emulated.hub)
            #expect(try await push(emulated, as: "alice", #"{"to":"bob","payload":"x"}"#).status == 200)
            let message = try #require(try await agent.messages(1).first)
            let id = try #require(SecurePushApp.secureID(in: message))
            #expect(message == #"{"secureId":"\#(id)"}"#)
            #expect(try await SecurePushApp(backend: emulated.backend, user: "bob").fetch(id).payload == "x")
        }
    }

    @Test func `the caller is the addressee of a plain string, and of a body without anything`() async throws {
        try await EmulatedHub.run {
            $0.secureText = "As configured"
        } _: { emulated in
            let device = try await emulated.register("bob", "apns")
            for (body, text) in [
                (#""mine""#, "mine"), (nil, "As configured"), (" \r\n", "As configured"), (#""""#, ""),
            ] {
                #expect(try await push(emulated, as: "bob", body).status == 200)
                let delivery = try #require(await emulated.delivery(to: device))
                let id = try #require(SecurePushApp.secureID(in: delivery.message))
                #expect(try await SecurePushApp(backend: emulated.backend, user: "bob").fetch(id).payload == text)
            }
        }
    }

    @Test func `an alert can replace the silent push of Apple devices`() async throws {
        try await EmulatedHub.run {
            $0.secureAlert = #"New "message""#
        } _: { emulated in
            let device = try await emulated.register("bob", "apns")
            #expect(try await push(emulated, as: "bob", #""x""#).status == 200)
            let delivery = try #require(await emulated.delivery(to: device))
            let id = try #require(SecurePushApp.secureID(in: delivery.message))
            #expect(
                delivery.message
                    == #"{"aps":{"alert":"New \"message\"","mutable-content":1},"secureId":"\#(id)"}"#
            )
            #expect(delivery.header("apns-push-type") == "alert" && delivery.header("apns-priority") == "10")
        }
    }

    @Test func `the text is in no request to a push service, and in no file of hub or backend`() async throws {
        try await EmulatedHub.run { emulated in
            var devices: [String] = []
            for platform in ["apns", "fcmv1", "wns", "browser"] {
                devices.append(try await emulated.register("bob", platform))
            }
            let text = "needle-\(UUID().uuidString)"
            #expect(try await push(emulated, as: "alice", #"{"to":"bob","payload":"\#(text)"}"#).status == 200)
            for device in devices {
                let delivery = try #require(await emulated.delivery(to: device))
                #expect(!delivery.message.contains(text) && !delivery.headers.contains { $0.value.contains(text) })
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: emulated.folder)
            #expect(files.contains("backend.sqlite-wal"))
            for file in files {
                let path = "\(emulated.folder)/\(file)"
                let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
                guard type == .typeRegular else { continue }
                let bytes = try Data(contentsOf: URL(filePath: path))
                #expect(bytes.range(of: Data(text.utf8)) == nil, "\(file)")
            }
        }
    }

    @Test(arguments: [
        ("{", 400), ("7", 400), ("[]", 400), ("{}", 400), (#"{"to":"bob"}"#, 400), (#"{"payload":"x"}"#, 400),
        (#"{"to":"bob","payload":7}"#, 400), (#"{"to":"bob || ann","payload":"x"}"#, 400),
        (#"{"to":"bob","to":"ann","payload":"x"}"#, 400), (#"{"to":"nobody","payload":"x"}"#, 200),
    ])
    func `a body that is not a secure push is refused with the reason`(body: String, status: Int) async throws {
        try await TestBackend.run { backend, _ in
            let reply = try await backend.send("POST", "/api/notifications", as: "alice", body)
            #expect(reply.status == status, "\(reply.body)")
        }
    }

    @Test func `others need the right to be notified, and the limits are those of all notifications`() async throws {
        let clock = TestClock()
        try await TestBackend.run {
            $0.clock = clock.backend
        } _: { backend, _ in
            var reply = try await backend.send("POST", "/api/notifications", as: "bob", #"{"to":"ann","payload":"x"}"#)
            #expect(reply.status == 403)
            for _ in 0..<UserNotifier.addresseesLimit {
                reply = try await backend.send("POST", "/api/notifications", as: "bob", #""x""#)
                #expect(reply.status == 200)
            }
            reply = try await backend.send("POST", "/api/notifications", as: "bob", #""x""#)
            #expect(reply.status == 429 && reply.headers["Retry-After"] == "60")
            let target = "/api/notifications?pns=stream&to_tag=bob"
            #expect(try await backend.send("POST", target, as: "alice", #""x""#).status == 429)
        }
    }

    @Test(arguments: [(400, 502, false), (401, 502, false), (429, 503, false), (500, 502, true), (0, 503, true)])
    func `a payload is kept unless it is certain that no device has its id`(
        status: Int,
        seen: Int,
        isKept: Bool
    ) async throws {
        // 0: no answer, of which nobody can tell if the hub has the message.
        let hub = try ScriptedHTTPServer { request in
            if request.path == "/news/credentials" { return .status(200, body: #"{"credentials":[]}"#) }
            return status == 0 ? .hangUp : .status(status)
        }
        let string = try ConnectionString(endpoint: hub.baseURL, keyName: "Full", key: "k")
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = try HubClient(connection: string, hub: HubName("news"), http: http)
        let scratch = try ScratchFolder()
        try await TestBackend.run(client, store: scratch.file("b.sqlite")) { backend in
            let reply = try await backend.send("POST", "/api/notifications", as: "bob", #""x""#)
            #expect(reply.status == seen, "\(reply.body)")
            let left = try await backend.store.read {
                try Int.fetchOne($0.database, sql: "SELECT count(*) FROM payload")
            }
            #expect(left == (isKept ? 1 : 0))
            await backend.backend.audit.flush()
            let events = try await Accounts(store: backend.store).audit(limit: 100)
            let sent = events.filter { $0.what == AuditEvent.Kind.payloadSent.rawValue }
            #expect(sent.map(\.outcome) == (isKept ? ["unconfirmed"] : []))
        }
        await http.shutdown()
    }
}
