import Formats
import HubProtocol
import OutboundHTTP
import Testing

@testable import PushEmulator

@Suite struct FcmAnswersTests {
    @Test func anAcceptedMessageIsAnsweredWithItsName() async throws {
        try await Emulation.run { emulation in
            let answer = try await emulation.sendFcm(
                """
                {"message":{"token":"device","data":{"k":"v"},"notification":{"title":"t","body":"b"},
                "android":{"priority":"HIGH","ttl":"3600s","collapse_key":"c"},
                "apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"badge":1}}},
                "webpush":{"headers":{"TTL":"60"},"data":{"a":"b"},"notification":{"silent":true}}}}
                """
            )
            #expect(answer.status == 200)
            #expect(answer.json?["name"]?.string?.hasPrefix("projects/p/messages/0:") == true)
            let inbox = emulation.emulator.inbox(of: "device")
            #expect(inbox.map(\.messageID) == [answer.json?["name"]?.string])
            #expect(inbox.first?.collapseKey == "c")
        }
    }

    @Test func aMessageThatIsOnlyValidatedReachesNobody() async throws {
        try await Emulation.run { emulation in
            for name in ["validate_only", "validateOnly"] {
                let answer = try await emulation.sendFcm("{\"\(name)\":true,\"message\":{\"token\":\"device\"}}")
                #expect(answer.status == 200)
            }
            #expect(emulation.emulator.inbox(of: "device").isEmpty)
        }
    }

    @Test(
        arguments: [
            ("not JSON", nil), ("[]", nil), ("{}", nil), ("{\"message\":1}", nil),
            ("{\"message\":{\"token\":\"d\"},\"to\":\"x\"}", nil),
            ("{\"message\":{\"token\":\"d\",\"shout\":true}}", nil),
            ("{\"message\":{\"token\":\"d\",\"data\":{\"n\":1}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"data\":[]}}", nil),
            ("{\"message\":{\"token\":\"d\",\"notification\":{\"title\":1}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"notification\":{\"badge\":\"1\"}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"android\":{\"priority\":\"urgent\"}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"android\":{\"ttl\":3600}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"android\":{\"ttl\":\"2419201s\"}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"android\":{\"ttl\":\"-1s\"}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"android\":{\"ttl\":\"nans\"}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"android\":{\"time_to_live\":1}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"apns\":{\"headers\":{\"apns-priority\":5}}}}", nil),
            ("{\"message\":{\"token\":\"d\",\"data\":{\"from\":\"x\"}}}", "INVALID_ARGUMENT"),
            ("{\"message\":{\"token\":\"d\",\"data\":{\"google.x\":\"x\"}}}", "INVALID_ARGUMENT"),
            ("{\"message\":{\"token\":\"d\",\"android\":{\"data\":{\"message_type\":\"x\"}}}}", "INVALID_ARGUMENT"),
            ("{\"message\":{\"data\":{\"a\":\"x\"}}}", "INVALID_ARGUMENT"),
            ("{\"message\":{\"token\":\"d\",\"topic\":\"t\"}}", "INVALID_ARGUMENT"),
            ("{\"message\":{\"token\":\"\"}}", "INVALID_ARGUMENT"),
        ] as [(String, String?)]
    ) func aBadMessageIsRefusedWithItsField(body: String, code: String?) async throws {
        try await Emulation.run { emulation in
            let answer = try await emulation.sendFcm(body)
            #expect(answer.status == 400)
            #expect(answer.json?["error"]?["status"]?.string == "INVALID_ARGUMENT")
            #expect(answer.fcmCode == code)
            if code == nil { #expect(answer.text.contains("fieldViolations")) }
            #expect(emulation.emulator.inbox(of: "d").isEmpty)
        }
    }

    @Test func `refusals are written as Google writes them`() {
        func text(_ refusal: EmulatorReply) -> String { String(decoding: refusal.body, as: UTF8.self) }
        let prefix = "type.googleapis.com/google"
        #expect(
            text(FcmRefusal.badRequest("a\"", "b"))
                == #"{"error":{"code":400,"message":"b","status":"INVALID_ARGUMENT","details":[{"@type":"#
                + #""\#(prefix).rpc.BadRequest","fieldViolations":[{"description":"b","field":"a\""}]}]}}"#
        )
        #expect(
            text(FcmRefusal.quotaExceeded(ofProject: true, wait: .seconds(1)))
                == #"{"error":{"code":429,"message":"Quota exceeded for the project.","status":"RESOURCE_EXHAUSTED","#
                + #""details":[{"@type":"\#(prefix).firebase.fcm.v1.FcmError","errorCode":"QUOTA_EXCEEDED"},"#
                + #"{"@type":"\#(prefix).rpc.QuotaFailure","violations":[{"description":"Quota exceeded","#
                + #""subject":"project"}]}]}}"#
        )
        #expect(
            text(FcmRefusal.notFound)
                == #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}"#
        )
    }

    @Test(arguments: [("token", 4_096), ("topic", 2_048)])
    func keysAndValuesCountAgainstTheLimit(target: String, limit: Int) async throws {
        try await Emulation.run { emulation in
            for (size, status) in [(limit, 200), (limit + 1, 400)] {
                let value = String(repeating: "x", count: size - 3)
                let answer = try await emulation.sendFcm(
                    "{\"message\":{\"\(target)\":\"d\",\"data\":{\"key\":\"\(value)\"}}}"
                )
                #expect(answer.status == status)
            }
        }
    }

    @Test func aTokenThatGoogleDidNotIssueIsUnauthenticated() async throws {
        try await Emulation.run { emulation in
            let good = try await emulation.googleToken()
            let foreign = try await emulation.microsoftToken()
            for token in ["", "x", good + "x", foreign, good.replacingLast("A")] {
                let answer = try await emulation.sendFcm("{\"message\":{\"token\":\"d\"}}", token: token)
                #expect(answer.status == 401)
                #expect(answer.json?["error"]?["status"]?.string == "UNAUTHENTICATED")
                #expect(answer.fcmCode == nil)
            }
            #expect(try await emulation.sendFcm("{\"message\":{\"token\":\"d\"}}", token: good).status == 200)
        }
    }

    @Test func anAccessTokenExpiresAndCanBeRevoked() async throws {
        try await Emulation.run { emulation in
            let message = "{\"message\":{\"token\":\"d\"}}"
            let first = try await emulation.googleToken()
            emulation.clock.now = emulation.clock.now + .seconds(3_598)
            #expect(try await emulation.sendFcm(message, token: first).status == 200)
            emulation.clock.now = emulation.clock.now + .seconds(1)
            #expect(try await emulation.sendFcm(message, token: first).status == 401)
            let second = try await emulation.googleToken()
            emulation.emulator.revokeAccessTokens()
            #expect(try await emulation.sendFcm(message, token: second).status == 401)
        }
    }

    @Test func anotherPathIsNotFound() async throws {
        try await Emulation.run { emulation in
            for path in ["/v1/projects//messages:send", "/v1/projects/a/b/messages:send", "/v1/projects/a", "/"] {
                let answer = try await emulation.send("POST", path, [], Emulation.alert)
                #expect(answer.status == 404, "\(path)")
            }
        }
    }
}

extension String {
    /// The same with another last character.
    func replacingLast(_ character: Character) -> String {
        // The last character of base64 may have bits that count for nothing: "Q" differs from "A" in others.
        String(dropLast()) + String("ABCD".contains(last ?? "x") ? "Q" : character)
    }
}
