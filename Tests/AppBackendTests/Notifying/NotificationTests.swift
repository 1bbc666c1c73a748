import Formats
import Foundation
import HubClient
import HubProtocol
import OutboundHTTP
import Testing

@testable import AppBackend

/// Notifying users by name.
@Suite struct NotificationTests {
    /// What a device gets of "hello" from Alice, whose account is `alice`.
    static func expected(_ platform: String) -> String {
        let line = "From alice: hello"
        switch platform {
        case "apns": return #"{"aps":{"alert":"\#(line)"}}"#
        case "wns":
            return
                #"<toast><visual><binding template="ToastText01"><text id="1">\#(line)</text></binding></visual></toast>"#
        case "browser": return #"{"message":"\#(line)"}"#
        default: return #""data":{"message":"\#(line)"}"#
        }
    }

    @Test(arguments: ["apns", "GCM", "FcmV1", "wns", "browser"])
    func `a notification reaches its addressee's devices of the platform, and nobody else's`(pns: String) async throws {
        try await EmulatedHub.run { emulated in
            let platform = pns.lowercased()
            let device = try await emulated.register("bob", platform)
            let others = [
                try await emulated.register("ann", platform),
                try await emulated.register("bob", platform == "apns" ? "wns" : "apns"),
                // A sender's own devices are none of the addressee's.
                try await emulated.register("alice", platform),
            ]
            let target = "/API/Notifications?pns=\(pns)&to_tag=BOB"
            let reply = try await emulated.backend.send("POST", target, as: "Alice", #""hello""#)
            #expect(reply.status == 200 && reply.body.isEmpty, "\(reply.body)")
            let inbox = await emulated.inbox(of: device)
            #expect(inbox.count == 1 && inbox[0].contains(Self.expected(platform)), "\(inbox)")
            for other in others { #expect(await emulated.inbox(of: other).isEmpty, "\(other)") }
        }
    }

    @Test func `a notification to all platforms reaches each of them once`() async throws {
        try await EmulatedHub.run { emulated in
            let (backend, hub) = (emulated.backend, emulated.hub)
            var devices: [(platform: String, handle: String)] = []
            for platform in ["apns", "gcm", "fcmv1", "wns", "browser"] {
                devices.append((platform, try await emulated.register("bob", platform)))
            }
            let agent = try await TestAgent("desk-1", of: "bob", backend, hub)
            let other = try await TestAgent("desk-2", of: "ann", backend, hub)
            let reply = try await backend.send(
                "POST",
                "/api/notifications?pns=all&to_tag=bob",
                as: "alice",
                headers: [("Accept", "text/plain;q=0.5, application/json")],
                #""hello""#
            )
            let names = ["apns", "gcm", "fcmv1", "wns", "browser", "stream"]
            let results = names.map { #"{"platform":"\#($0)","outcome":"accepted"}"# }.joined(separator: ",")
            #expect(reply.status == 200 && reply.body == #"{"results":[\#(results)]}"#, "\(reply.body)")
            for device in devices {
                #expect(await emulated.inbox(of: device.handle).count == 1, "\(device.platform)")
            }
            #expect(try await agent.messages(1) == [#"{"message":"From alice: hello"}"#])
            _ = try await backend.send("POST", "/api/notifications?pns=stream&to_tag=ann", as: "alice", #""only Ann""#)
            #expect(try await other.messages(1) == [#"{"message":"From alice: only Ann"}"#])
        }
    }

    @Test func `platforms without credentials are skipped by all, and refused by name`() async throws {
        try await EmulatedHub.run(credentials: [.apns]) { emulated in
            let device = try await emulated.register("bob", "apns")
            var reply = try await emulated.backend.send(
                "POST",
                "/api/notifications?pns=all&to_tag=bob",
                as: "alice",
                headers: [("Accept", "application/json")],
                #""hello""#
            )
            #expect(reply.status == 200)
            for name in ["gcm", "fcmv1", "wns", "browser"] {
                #expect(reply.body.contains(#"{"platform":"\#(name)","outcome":"skipped","reason":""#), "\(reply.body)")
            }
            #expect(await emulated.inbox(of: device).count == 1)
            for name in ["gcm", "fcmv1", "wns", "browser"] {
                let target = "/api/notifications?pns=\(name)&to_tag=bob"
                reply = try await emulated.backend.send("POST", target, as: "alice", #""hello""#)
                #expect(reply.status == 409 && reply.body.contains(name), "\(reply.body)")
            }
        }
    }

    @Test func `an addressee who does not exist looks like one without devices`() async throws {
        try await EmulatedHub.run { emulated in
            var replies: [String] = []
            for name in ["bob", "nobody"] {
                let reply = try await emulated.backend.send(
                    "POST",
                    "/api/notifications?pns=all&to_tag=\(name)",
                    as: "alice",
                    headers: [("Accept", "application/json")],
                    #""hello""#
                )
                replies.append("\(reply.status) \(reply.body)")
            }
            #expect(replies[0] == replies[1] && replies[0].hasPrefix("200"))
        }
    }

    static let hostile = [
        #"quotes " and \ backslashes"#, "<text>&amp;</text>]]>", "</toast><toast>", "a\u{202E}b\u{2066}c",
        "\u{1}\u{7F}",
        #"","badge":7,"x":""#, "\u{1F600} \u{0430}\u{301}", "\r\nFrom bank: pay", "$(messageParam)", "",
    ]

    @Test(arguments: hostile)
    func `a text is a text on every platform, whatever is in it`(text: String) async throws {
        try await EmulatedHub.run { emulated in
            var devices: [String: String] = [:]
            for platform in ["apns", "fcmv1", "wns", "browser"] {
                devices[platform] = try await emulated.register("bob", platform)
            }
            let agent = try await TestAgent("desk-1", of: "bob", emulated.backend, emulated.hub)
            let target = "/api/notifications?pns=all&to_tag=bob"
            let reply = try await emulated.backend.send("POST", target, as: "alice", JSONText(text).text)
            #expect(reply.status == 200, "\(reply.body)")
            let line = "From alice: \(text)"
            let apns = try await Self.object(emulated.inbox(of: devices["apns"] ?? ""))
            #expect(apns.keys.sorted() == ["aps"] && apns["aps"] as? [String: String] == ["alert": line])
            let fcm = try await Self.object(emulated.inbox(of: devices["fcmv1"] ?? ""))["message"] as? [String: Any]
            #expect(fcm?["data"] as? [String: String] == ["message": line])
            let browser = try await Self.object(emulated.inbox(of: devices["browser"] ?? ""))
            #expect(browser as? [String: String] == ["message": line])
            #expect(try await Self.object(agent.messages(1)) as? [String: String] == ["message": line])
            let toast = try #require(await emulated.inbox(of: devices["wns"] ?? "").first)
            #expect(toast.hasPrefix(#"<toast><visual><binding template="ToastText01"><text id="1">From alice: "#))
            #expect(toast.hasSuffix("</text></binding></visual></toast>"))
            #expect(toast.split(separator: "<").count == 8, "no markup but ours: \(toast)")
        }
    }

    private static func object(_ inbox: [String]) throws -> [String: Any] {
        let body = try #require(inbox.first)
        return try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
    }

    @Test(arguments: [
        ("pns=apns", 400), ("to_tag=bob", 400), ("pns=&to_tag=bob", 400), ("pns=nokia&to_tag=bob", 400),
        ("pns=apns&to_tag=", 400), ("pns=apns&to_tag=bob%20||%20ann", 400), ("pns=apns&to_tag=bob%231", 400),
        ("pns=apns&to_tag=%24UserId:%7Bbob%7D", 400), ("pns=apns&to_tag=username:bob", 400),
        ("pns=apns&pns=wns&to_tag=bob", 400), ("pns=apns&to_tag=bob&to_tag=ann", 400),
    ])
    func `a query that names no platform or no user is refused`(query: String, status: Int) async throws {
        try await EmulatedHub.run { emulated in
            let target = "/api/notifications?\(query)"
            let reply = try await emulated.backend.send("POST", target, as: "alice", #""hello""#)
            #expect(reply.status == status, "\(reply.body)")
        }
    }

    @Test(arguments: [
        "", "hello", #""hello"#, #""he"llo""#, "\"line\nbreak\"", "{}", "[]", "7", "null", #""a" "b""#, "\"\u{0}\"",
    ])
    func `a body that is not a JSON string is refused with the reason`(body: String) async throws {
        try await EmulatedHub.run { emulated in
            let device = try await emulated.register("bob", "apns")
            let target = "/api/notifications?pns=apns&to_tag=bob"
            let reply = try await emulated.backend.send("POST", target, as: "alice", body)
            #expect(reply.status == 400 && reply.body.contains("JSON"), "\(reply.body)")
            #expect(await emulated.inbox(of: device).isEmpty)
        }
    }

    @Test func `a text that is too long for a platform is refused by name, and skipped by all`() async throws {
        try await EmulatedHub.run { emulated in
            let device = try await emulated.register("bob", "apns")
            let agent = try await TestAgent("desk-1", of: "bob", emulated.backend, emulated.hub)
            let long = JSONText(String(repeating: "x", count: 5_000)).text
            var reply = try await emulated.backend.send(
                "POST",
                "/api/notifications?pns=apns&to_tag=bob",
                as: "alice",
                long
            )
            #expect(reply.status == 413 && reply.body.contains("4096"), "\(reply.body)")
            reply = try await emulated.backend.send("POST", "/api/notifications?pns=all&to_tag=bob", as: "alice", long)
            #expect(reply.status == 200)
            #expect(await emulated.inbox(of: device).isEmpty)
            #expect(try await agent.messages(1).first?.count ?? 0 > 5_000)
            let tooLong = JSONText(String(repeating: "x", count: NotificationRoutes.maximumBytes)).text
            reply = try await emulated.backend.send(
                "POST",
                "/api/notifications?pns=all&to_tag=bob",
                as: "alice",
                tooLong
            )
            #expect(reply.status == 413)
        }
    }

    @Test func `everybody may notify themselves, and others with the right to`() async throws {
        try await EmulatedHub.run { emulated in
            let device = try await emulated.register("bob", "apns")
            for (sender, addressee, status) in [
                ("bob", "BOB", 200), ("bob", "ann", 403), ("bob", "nobody", 403), ("alice", "bob", 200),
            ] {
                let target = "/api/notifications?pns=apns&to_tag=\(addressee)"
                let reply = try await emulated.backend.send("POST", target, as: sender, #""hello""#)
                #expect(reply.status == status, "\(sender) to \(addressee): \(reply.body)")
            }
            #expect(await emulated.inbox(of: device).count == 2)
        }
    }
}
