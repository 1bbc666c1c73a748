import Foundation
import HubProtocol
import Testing

@testable import PushServices

@Suite struct FcmMessageTests {
    private static let time = Timestamp(milliseconds: 1_790_000_000_000)

    private func prepare(_ body: String, format: MessageFormat = .fcmv1) throws -> FcmPush {
        let service = try PushServiceDirectory().service(for: try ServicePeers.credential())
        let push = try service.prepare(PushMessage(format: format, body: Array(body.utf8), acceptedAt: Self.time))
        return try #require(push as? FcmPush)
    }

    private func text(_ push: FcmPush, after seconds: Double = 0, expires: Int64? = nil) -> String {
        let now = Self.time + .seconds(seconds)
        let expiry = expires.map { Self.time + .seconds($0) }
        return String(decoding: push.body("T\"k", expiresAt: expiry, now: now), as: UTF8.self)
    }

    @Test(
        arguments: [
            (#"{"message":{}}"#, #"{"message":{"token":"T\"k"}}"#),
            (
                #"{ "message": { "data": { "b": "1", "a": "ü" }, "notification": { "title": "t" } } }"#,
                #"{"message":{"token":"T\"k","data":{"b":"1","a":"ü"},"notification":{"title":"t"}}}"#
            ),
            (
                #"{"message":{"android":{"priority":"HIGH"},"fcm_options":{"analytics_label":"l"}}}"#,
                #"{"message":{"token":"T\"k","fcm_options":{"analytics_label":"l"},"android":{"priority":"HIGH"}}}"#
            ),
            (
                #"{"validate_only":true,"message":{"data":null}}"#,
                #"{"validate_only":true,"message":{"token":"T\"k"}}"#
            ),
            (#"{"validateOnly":false,"message":{"token":null}}"#, #"{"message":{"token":"T\"k"}}"#),
        ]
    )
    func `the token is put into the message`(body: String, expected: String) throws {
        #expect(text(try prepare(body)) == expected)
    }

    @Test func `what is sent says how long is left`() throws {
        let own = try prepare(#"{"message":{"android":{"ttl":"60s","collapse_key":"k"}}}"#)
        func expected(_ seconds: Int) -> String {
            #"{"message":{"token":"T\"k","android":{"collapse_key":"k","ttl":"\#(seconds)s"}}}"#
        }
        #expect(text(own) == expected(60))
        #expect(text(own, after: 0.5) == expected(60))
        #expect(text(own, after: 20) == expected(40))
        #expect(text(own, after: 20, expires: 30) == expected(10))
        #expect(text(own, after: 20, expires: 300) == expected(40))
        #expect(text(own, after: 61) == expected(0))
        let none = try prepare(#"{"message":{}}"#)
        #expect(text(none, expires: 90) == #"{"message":{"token":"T\"k","android":{"ttl":"90s"}}}"#)
        #expect(text(none, expires: 40 * 86_400) == #"{"message":{"token":"T\"k","android":{"ttl":"2419200s"}}}"#)
        let second = try prepare(#"{"message":{"android_v2":{"ttl":"5s"}}}"#)
        #expect(text(second, after: 1) == #"{"message":{"token":"T\"k","android_v2":{"ttl":"4s"}}}"#)
    }

    @Test func `a message tells its lifetime and its collapse key`() throws {
        #expect(try prepare(#"{"message":{}}"#).lifetime == .unspecified)
        #expect(try prepare(#"{"message":{"android":{"ttl":"0s"}}}"#).lifetime == .once)
        #expect(try prepare(#"{"message":{"android":{"ttl":"0.9s"}}}"#).lifetime == .once)
        #expect(
            try prepare(#"{"message":{"android":{"ttl":"3.5s"}}}"#).lifetime == .until(Self.time + .seconds(3))
        )
        #expect(
            try prepare(#"{"message":{"android":{"ttl":"2419200s"}}}"#).lifetime
                == .until(Self.time + .seconds(2_419_200))
        )
        #expect(try prepare(#"{"message":{"android":{"collapseKey":"k"}}}"#).collapseKey == "k")
        #expect(try prepare(#"{"message":{}}"#).collapseKey == nil)
    }

    @Test(
        arguments: [
            ("", "not JSON"), ("not JSON", "not JSON"), ("[]", "not a JSON object"), ("{}", "no 'message'"),
            (#"{"message":null}"#, "no 'message'"), (#"{"message":[]}"#, "not a JSON object"),
            (#"{"message":{},"message":{}}"#, "twice"), (#"{"message":{},"to":"x"}"#, "'to'"),
            (#"{"message":{},"validate_only":"yes"}"#, "validate_only"),
            (#"{"message":{"token":"x"}}"#, "the hub adds the target"),
            (#"{"message":{"fid":"x"}}"#, "the hub adds the target"),
            (#"{"message":{"topic":"x"}}"#, "the hub adds the target"),
            (#"{"message":{"condition":"x"}}"#, "the hub adds the target"),
            (#"{"message":{"data":[]}}"#, "'data'"), (#"{"message":{"data":{"n":1}}}"#, "'data.n' is not a string"),
            (#"{"message":{"data":{"n":null}}}"#, "not a string"),
            (#"{"message":{"data":{"n":{}}}}"#, "not a string"),
            (#"{"message":{"data":{"from":"x"}}}"#, "reserves"),
            (#"{"message":{"data":{"message_type":"x"}}}"#, "reserves"),
            (#"{"message":{"data":{"gcm":"x"}}}"#, "reserves"),
            (#"{"message":{"data":{"google.x":"x"}}}"#, "reserves"),
            (#"{"message":{"android":{"data":{"gcm.notification.x":"x"}}}}"#, "reserves"),
            (#"{"message":{"android":{"data":{"n":1}}}}"#, "'android.data.n'"),
            (#"{"message":{"android":1}}"#, "'android'"), (#"{"message":{"android":{},"androidV2":{}}}"#, "together"),
            (#"{"message":{"notification":"x"}}"#, "'notification'"),
            (#"{"message":{"android":{"notification":"x"}}}"#, "'android.notification'"),
            (#"{"message":{"android":{"collapse_key":1}}}"#, "collapse_key"),
        ]
    )
    func `a body that FCM would refuse is refused`(body: String, reason: String) throws {
        let error = try #require(throws: BadPushMessage.self) { try prepare(body) }
        #expect(error.description.contains(reason))
        #expect(!error.isTooLarge)
    }

    @Test(
        arguments: [
            "3600", "\"3600\"", "\"-1s\"", "\"s\"", "\"1.s\"", "\".5s\"", "\"+1s\"", "\"1e3s\"", "\"nans\"", "\"1 s\"",
            "\"2419201s\"", "\"2419200.1s\"", "\"0.1234567890s\"", "\"٣s\"", "{}", "true",
        ]
    )
    func `a time to live that FCM would refuse is refused`(time: String) throws {
        let error = try #require(throws: BadPushMessage.self) {
            try prepare(#"{"message":{"android":{"ttl":\#(time)}}}"#)
        }
        #expect(error.description.contains("ttl"))
    }

    @Test func `keys and values count against the limit`() throws {
        func body(_ size: Int) -> String {
            #"{"message":{"data":{"key":"\#(String(repeating: "ü", count: (size - 3 - 12) / 2))x"},"#
                + #""notification":{"title":"abc"},"android":{"notification":{"a":"bc"}}}}"#
        }
        // 3 bytes of the key, 1 of x, 5 + 3 of the notification, 1 + 2 of Android's.
        _ = try prepare(body(4_096))
        let error = try #require(throws: BadPushMessage.self) { try prepare(body(4_100)) }
        #expect(error.isTooLarge)
    }

    @Test(
        arguments: [
            (#"{"data":{"message":"Hello"}}"#, #""data":{"message":"Hello"}"#),
            (
                #"{"data":{"n":1.50,"b":true,"o":{"x": [1]},"z":null}}"#,
                #""data":{"n":"1.50","b":"true","o":"{\"x\":[1]}"}"#
            ),
            (
                #"{"notification":{"title":"t","body":"b","image":"i"}}"#,
                #""notification":{"title":"t","body":"b","image":"i"}"#
            ),
            (
                #"{"notification":{"sound":"s","icon":"i","tag":"t","color":"c","click_action":"a","subtitle":"x"}}"#,
                #""android":{"notification":{"icon":"i","color":"c","sound":"s","tag":"t","click_action":"a"}}"#
            ),
            (
                #"{"notification":{"android_channel_id":"c","title_loc_key":"k","title_loc_args":["a",1],"#
                    + #""body_loc_key":"l","body_loc_args":"[\"b\"]"}}"#,
                #""android":{"notification":{"title_loc_key":"k","body_loc_key":"l","channel_id":"c","#
                    + #""title_loc_args":["a","1"],"body_loc_args":["b"]}}"#
            ),
            (#"{"notification":{"badge":"3"}}"#, #""apns":{"payload":{"aps":{"badge":3}}}"#),
            (#"{"priority":"high"}"#, #""android":{"priority":"HIGH"}"#),
            (#"{"priority":"normal"}"#, #""android":{"priority":"NORMAL"}"#),
            (#"{"priority":10}"#, #""android":{"priority":"HIGH"}"#),
            (#"{"time_to_live":3600}"#, #""android":{"ttl":"3600s"}"#),
            (#"{"time_to_live":"0"}"#, #""android":{"ttl":"0s"}"#),
            (
                #"{"collapse_key":"k","restricted_package_name":"p"}"#,
                #""android":{"collapse_key":"k","restricted_package_name":"p"}"#
            ),
            (
                #"{"content_available":true,"mutable_content":true,"priority":"normal"}"#,
                #""apns":{"headers":{"apns-priority":"5"},"#
                    + #""payload":{"aps":{"content-available":1,"mutable-content":1}}},"android":{"priority":"NORMAL"}"#
            ),
            (#"{"delay_while_idle":true,"content_available":false,"unheard":1}"#, ""),
            (#"{"fcm_options":{"analytics_label":"l"}}"#, #""fcm_options":{"analytics_label":"l"}"#),
        ]
    )
    func `a legacy body is written anew`(body: String, expected: String) throws {
        let message = #"{"message":{"token":"T\"k"\#(expected.isEmpty ? "" : ",")\#(expected)}}"#
        #expect(text(try prepare(body, format: .gcm)) == message)
    }

    @Test func `a dry run is only validated`() throws {
        let body = #"{"dry_run":true,"data":{}}"#
        #expect(
            text(try prepare(body, format: .gcm)) == #"{"validate_only":true,"message":{"token":"T\"k","data":{}}}"#
        )
    }

    @Test(
        arguments: [
            (#"{"to":"x"}"#, "the hub adds the target"), (#"{"registration_ids":[]}"#, "the hub adds the target"),
            (#"{"condition":"x"}"#, "the hub adds the target"), (#"{"message":{}}"#, "fcmv1"),
            (#"{"data":1}"#, "'data'"),
            (#"{"data":{"from":"x"}}"#, "reserves"), (#"{"notification":"x"}"#, "'notification'"),
            (#"{"notification":{"title_loc_args":"x"}}"#, "title_loc_args"),
            (#"{"notification":{"badge":"many"}}"#, "badge"), (#"{"priority":"urgent"}"#, "'priority'"),
            (#"{"time_to_live":-1}"#, "time_to_live"), (#"{"time_to_live":2419201}"#, "time_to_live"),
            (#"{"time_to_live":"1s"}"#, "time_to_live"), (#"{"collapse_key":1}"#, "collapse_key"),
            (#"{"dry_run":"perhaps"}"#, "dry_run"), ("[]", "not a JSON object"),
        ]
    )
    func `a legacy body that means nothing is refused`(body: String, reason: String) throws {
        let error = try #require(throws: BadPushMessage.self) { try prepare(body, format: .gcm) }
        #expect(error.description.contains(reason))
    }

    @Test func `a message of another format is refused`() throws {
        #expect(throws: BadPushMessage.self) { try prepare(#"{"message":{}}"#, format: .apple) }
    }
}
