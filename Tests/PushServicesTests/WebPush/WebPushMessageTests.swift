import Crypto
import Foundation
import HubProtocol
import Testing

@testable import PushServices

@Suite struct WebPushMessageTests {
    private let clock = WebPushClock()

    private func prepare(_ message: PushMessage, declarative: Bool = false) throws -> PreparedWebPush {
        let service = try WebPushService(
            WebPushSender.credential(P256.Signing.PrivateKey(), declarative ? ["Declarative": "true"] : [:]),
            WebPushSender.surroundings(clock)
        )
        return try service.prepare(message)
    }

    private func target(expiresAt: Timestamp? = nil) -> PushTarget {
        PushTarget(channel: .browser(WebPushBrowser().channel()), id: WebPushPeer.targetID, expiresAt: expiresAt)
    }

    @Test func `a message of 3993 bytes fits, and one more does not`() throws {
        let text = String(repeating: "x", count: 3_993)
        #expect(try prepare(WebPushSender.message(text)).plaintext.count == 3_993)
        let error = #expect(throws: BadPushMessage.self) { try prepare(WebPushSender.message(text + "x")) }
        #expect(error?.isTooLarge == true)
    }

    @Test func `a message for another platform is refused`() {
        let message = PushMessage(format: .apple, body: [], acceptedAt: clock.now)
        #expect(throws: BadPushMessage.self) { try prepare(message) }
    }

    @Test(arguments: [
        ("ttl", ""), ("ttl", "-1"), ("ttl", "1.5"), ("ttl", "soon"), ("ttl", "+1"), ("ttl", " 1"), ("ttl", "٣"),
        ("urgency", ""), ("urgency", "loud"), ("urgency", "very low"), ("topic", ""), ("topic", "a b"),
        ("topic", "a/b"),
        ("topic", "a="), ("topic", "é"), ("topic", String(repeating: "t", count: 33)),
    ])
    func `a header that services refuse makes the message bad`(_ name: String, _ value: String) {
        #expect(throws: BadPushMessage.self) { try prepare(WebPushSender.message("x", [name: value])) }
    }

    @Test(arguments: [
        ("very-low", "very-low"), ("low", "low"), ("normal", "normal"), ("high", "high"), ("High", "high"),
    ])
    func `every urgency is passed on`(_ given: String, _ sent: String) throws {
        #expect(try prepare(WebPushSender.message("x", ["urgency": given])).urgency == sent)
    }

    @Test(arguments: [
        (#"{"web_push":8030,"notification":{"title":"x","tag":"abcd234"}}"#, "abcd234"),
        (#"{"web_push":8030,"notification":{"title":"x","tag":"the flood"}}"#, "f8-clhJkaXvGGihieE8j0Ax_R1Z8M7x3"),
        (#"{"web_push":8030,"notification":{"title":"x","tag":""}}"#, nil),
        (#"{"notification":{"title":"x","tag":"t"}}"#, nil), ("x", nil),
    ])
    func `the topic is the tag of the notification, which replaces the one with its tag`(body: String, topic: String?)
        throws
    {
        #expect(try prepare(WebPushSender.message(body)).collapseKey == topic)
        #expect(try prepare(WebPushSender.message(body, ["topic": "own"])).collapseKey == "own")
    }

    @Test func `a topic is the collapse key, and a derived one is not`() throws {
        let topic = String(repeating: "t", count: 30) + "-_"
        let given = try prepare(WebPushSender.message("x", ["topic": topic]))
        #expect(given.collapseKey == topic && given.topic(target()) == topic)
        let derived = try prepare(WebPushSender.message("x"))
        #expect(derived.collapseKey == nil)
        #expect(derived.topic(target()) == "AAECAwQFBgcICQoLDA0O_w")
    }

    @Test(
        arguments: [
            (nil, .unspecified), ("0", .once), ("000", .once), ("60", .until(1_800_000_060_000)),
            ("2419200", .until(1_802_419_200_000)), ("2419201", .until(1_802_419_200_000)),
            ("99999999999999999999", .until(1_802_419_200_000)),
        ] as [(String?, PushLifetime)]
    )
    func `the lifetime is that of TTL`(_ value: String?, _ lifetime: PushLifetime) throws {
        let headers = value.map { ["ttl": $0] } ?? [:]
        #expect(try prepare(WebPushSender.message("x", headers)).lifetime == lifetime)
    }

    /// Of TTL, seconds that the target has left and seconds that have passed; the time to live that remains.
    @Test(
        arguments: [
            (nil, nil, 0, 2_419_200), (nil, 100, 0, 100), (nil, 100, 40, 60), (nil, 9_000_000, 0, 2_419_200),
            ("60", nil, 0, 60), ("60", nil, 45, 15), ("60", nil, 61, 0), ("60", 100, 0, 60), ("600", 100, 0, 100),
            ("600", 100, 101, 0), ("0", 100, 0, 0), ("0", nil, 50, 0), (nil, -5, 0, 0),
        ] as [(String?, Int64?, Int64, Int64)]
    )
    func `the remaining time is sent`(_ own: String?, _ left: Int64?, _ passed: Int64, _ expected: Int64) throws {
        let push = try prepare(WebPushSender.message("x", own.map { ["ttl": $0] } ?? [:]))
        let target = target(expiresAt: left.map { clock.now + .seconds($0) })
        #expect(push.timeToLive(target, now: clock.now + .seconds(passed)) == expected)
    }

    @Test func `a target that ended before all time or never ends is within the bounds`() throws {
        let push = try prepare(WebPushSender.message("x"))
        #expect(push.timeToLive(target(expiresAt: .distantPast), now: clock.now) == 0)
        #expect(push.timeToLive(target(expiresAt: .distantFuture), now: clock.now) == 2_419_200)
    }

    @Test(
        arguments: [
            (
                "{\"title\":\"T\",\"navigate\":\"https://a.example/\",\"body\":\"B\",\"n\":1.50}",
                """
                {"web_push":8030,"notification":{"title":"T","navigate":"https://a.example/","body":"B","n":1.50}}
                """
            ),
            (
                "{\"title\":\"T\",\"navigate\":\"https://a.example/\",\"app_badge\":3,\"mutable\":true}",
                """
                {"web_push":8030,"notification":{"title":"T","navigate":"https://a.example/"},"app_badge":3,"mutable":true}
                """
            ),
            (
                "{\"notification\":{\"title\":\"T\",\"navigate\":\"/\"},\"mutable\":true}",
                "{\"web_push\":8030,\"notification\":{\"title\":\"T\",\"navigate\":\"/\"},\"mutable\":true}"
            ),
            ("{\"title\":\"T\"}", nil), ("{\"navigate\":\"/\"}", nil), ("{\"title\":\"\",\"navigate\":\"/\"}", nil),
            ("{\"title\":1,\"navigate\":\"/\"}", nil), ("{\"notification\":{\"title\":\"T\"}}", nil),
            ("{\"notification\":1,\"title\":\"T\",\"navigate\":\"/\"}", nil),
            ("{\"web_push\":8030,\"title\":\"T\",\"navigate\":\"/\"}", nil), ("[]", nil), ("text", nil), ("", nil),
            ("{\"title\":\"T\",\"navigate\":\"/\"", nil),
        ] as [(String, String?)]
    )
    func `a notification is wrapped for browsers that show it alone`(_ body: String, _ wrapped: String?) throws {
        let push = try prepare(WebPushSender.message(body), declarative: true)
        #expect(String(decoding: push.plaintext, as: UTF8.self) == wrapped ?? body)
        let plain = try prepare(WebPushSender.message(body))
        #expect(String(decoding: plain.plaintext, as: UTF8.self) == body)
    }

    @Test func `a message that is too long once it is wrapped is refused`() {
        let body = "{\"title\":\"T\",\"navigate\":\"/\",\"body\":\"\(String(repeating: "x", count: 3_950))\"}"
        #expect(body.utf8.count <= 3_993)
        #expect(throws: BadPushMessage.self) { try prepare(WebPushSender.message(body), declarative: true) }
    }
}
