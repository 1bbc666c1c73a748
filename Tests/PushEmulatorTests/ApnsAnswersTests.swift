import HubProtocol
import OutboundHTTP
import Testing

@testable import PushEmulator

@Suite struct ApnsAnswersTests {
    private static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"

    @Test func anAcceptedNotificationIsAnsweredWithItsIdentifiers() async throws {
        try await Emulation.run { emulation in
            let id = "123e4567-e89b-12d3-a456-42665544000a"
            let answer = try await emulation.sendApns(Self.token, [("apns-id", id)])
            #expect(answer.status == 200)
            #expect(answer.body.isEmpty)
            #expect(answer.headers["apns-id"] == id)
            #expect(answer.headers["apns-unique-id"]?.count == 36)
            let generated = try await emulation.sendApns(Self.token)
            #expect(generated.headers["apns-id"]?.count == 36)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let reason: String
        let status: Int
        var path = "/3/device/" + token
        var method = "POST"
        /// Replaces headers of the same name; an empty value removes one.
        var header: (name: String, value: String)?
        var body = "{\"aps\":{\"alert\":\"x\"}}"

        var testDescription: String { "\(status) \(reason) \(header?.name ?? path.suffix(12).description)" }
    }

    private static let rows = [
        Row(reason: "BadMessageId", status: 400, header: ("apns-id", "123E4567-E89B-12D3-A456-42665544000A")),
        Row(reason: "BadMessageId", status: 400, header: ("apns-id", "7")),
        Row(reason: "BadExpirationDate", status: 400, header: ("apns-expiration", "-1")),
        Row(reason: "BadExpirationDate", status: 400, header: ("apns-expiration", "99999999999999999999")),
        Row(reason: "BadPriority", status: 400, header: ("apns-priority", "7")),
        Row(reason: "BadCollapseId", status: 400, header: ("apns-collapse-id", String(repeating: "c", count: 65))),
        Row(reason: "InvalidPushType", status: 400, header: ("apns-push-type", "shout")),
        Row(reason: "BadPriority", status: 400, header: ("apns-push-type", "background")),
        Row(reason: "BadTopic", status: 400, header: ("apns-push-type", "voip")),
        Row(reason: "MissingTopic", status: 400, header: ("apns-topic", "")),
        Row(reason: "PayloadEmpty", status: 400, body: ""),
        Row(reason: "PayloadEmpty", status: 400, body: "{\"aps\":"),
        Row(reason: "PayloadEmpty", status: 400, body: "[1]"),
        Row(reason: "PayloadTooLarge", status: 413, body: "{\"a\":\"" + String(repeating: "x", count: 4_089) + "\"}"),
        Row(reason: "BadDeviceToken", status: 400, path: "/3/device/0g"),
        Row(reason: "BadDeviceToken", status: 400, path: "/3/device/abc"),
        Row(reason: "BadDeviceToken", status: 400, path: "/3/device/" + String(repeating: "ab", count: 101)),
        Row(reason: "MissingDeviceToken", status: 400, path: "/3/device/"),
        Row(reason: "BadPath", status: 404, path: "/3/devices/00"),
        Row(reason: "BadPath", status: 404, path: "/3/device/00/11"),
        Row(reason: "MethodNotAllowed", status: 405, method: "PUT"),
        Row(reason: "MissingProviderToken", status: 403, header: ("authorization", "")),
        Row(reason: "InvalidProviderToken", status: 403, header: ("authorization", "bearer x")),
        Row(reason: "InvalidProviderToken", status: 403, header: ("authorization", "Basic eDp5")),
    ]

    @Test(arguments: rows) func aBadRequestIsRefusedWithApplesReason(row: Row) async throws {
        try await Emulation.run { emulation in
            var headers = try emulation.apnsHeaders()
            if let header = row.header {
                headers.removeAll { $0.name == header.name }
                if !header.value.isEmpty { headers.append(header) }
            }
            let answer = try await emulation.send(row.method, row.path, headers, Array(row.body.utf8))
            #expect(answer.status == row.status)
            #expect(answer.reason == row.reason)
            #expect(answer.headers["apns-id"] != nil)
            #expect(emulation.emulator.inbox(of: Self.token).isEmpty)
        }
    }

    @Test func aRepeatedHeaderIsRefused() async throws {
        try await Emulation.run { emulation in
            let answer = try await emulation.sendApns(Self.token, [("apns-priority", "5")])
            #expect(answer.status == 400)
            #expect(answer.reason == "DuplicateHeaders")
        }
    }

    @Test(arguments: [
        ("{\"alg\":\"ES256\",\"kid\":\"K\"}", "{\"iss\":\"T\",\"iat\":NOW}", nil),
        ("{\"alg\":\"none\",\"kid\":\"K\"}", "{\"iss\":\"T\",\"iat\":NOW}", "InvalidProviderToken"),
        ("{\"alg\":\"ES256\"}", "{\"iss\":\"T\",\"iat\":NOW}", "InvalidProviderToken"),
        ("{\"alg\":\"ES256\",\"kid\":\"K\"}", "{\"iat\":NOW}", "InvalidProviderToken"),
        ("{\"alg\":\"ES256\",\"kid\":\"K\"}", "{\"iss\":\"T\"}", "InvalidProviderToken"),
        ("{\"alg\":\"ES256\",\"kid\":\"K\"}", "{\"iss\":\"T\",\"iat\":NOW.5}", "InvalidProviderToken"),
        ("{\"alg\":\"ES256\",\"kid\":\"K\"}", "{\"iss\":\"T\",\"iat\":-9223372036854775808}", "InvalidProviderToken"),
        ("{\"alg\":\"ES256\",\"kid\":\"K\"}", "{\"iss\":\"T\",\"iat\":9223372036854775807}", "InvalidProviderToken"),
        ("{\"alg\":\"ES256\",\"kid\":\"K\"}", "{\"iss\":\"T\",\"iat\":1000000000}", "ExpiredProviderToken"),
        ("{\"alg\":\"ES256\",\"kid\":\"K\"}", "{\"iss\":\"REFUSED1\",\"iat\":NOW}", "InvalidProviderToken"),
        ("[]", "{\"iss\":\"T\",\"iat\":NOW}", "InvalidProviderToken"),
    ]) func aProviderTokenIsJudgedByItsClaims(header: String, claims: String, reason: String?) async throws {
        try await Emulation.run { emulation in
            let now = emulation.clock.now.seconds
            let text = claims.split(separator: "NOW", omittingEmptySubsequences: false).joined(separator: "\(now)")
            var headers = try emulation.apnsHeaders()
            headers[0].value = "bearer \(try Tokens.signed(header, text))"
            let answer = try await emulation.send("POST", "/3/device/00", headers, Emulation.alert)
            #expect(answer.reason == reason)
            #expect(answer.status == (reason == nil ? 200 : 403))
        }
    }

    @Test func aTokenOfAnHourAgoHasExpiredAndOneOfAMinuteAheadHasNotBegun() async throws {
        try await Emulation.run { emulation in
            for (age, reason) in [(3_600, nil), (3_601, "ExpiredProviderToken"), (-61, "InvalidProviderToken")] {
                var headers = try emulation.apnsHeaders()
                headers[0].value = "bearer \(try Tokens.provider(emulation.clock.now, age: Int64(age)))"
                let answer = try await emulation.send("POST", "/3/device/00", headers, Emulation.alert)
                #expect(answer.reason == reason, "\(age)")
            }
        }
    }

    @Test func aDERSignatureIsRefused() async throws {
        try await Emulation.run { emulation in
            let token = try Tokens.provider(emulation.clock.now)
            let cut = token.lastIndex(of: ".").map { String(token[...$0]) } ?? ""
            var headers = try emulation.apnsHeaders()
            headers[0].value = "bearer " + cut + Base64URL.encode([UInt8](repeating: 48, count: 70))
            let answer = try await emulation.send("POST", "/3/device/00", headers, Emulation.alert)
            #expect(answer.reason == "InvalidProviderToken")
        }
    }

    @Test func oneConnectionServesOneTeamAndOneKey() async throws {
        try await Emulation.run(connectionsPerHost: 1) { emulation in
            let now = emulation.clock.now
            for (team, key, reason) in [
                ("A", "1", nil), ("B", "1", "InvalidProviderToken"), ("A", "2", "UnrelatedKeyIdInToken"),
                ("A", "1", nil),
            ] {
                var headers = try emulation.apnsHeaders()
                headers[0].value = "bearer \(try Tokens.provider(now, team: team, key: key))"
                let answer = try await emulation.send("POST", "/3/device/00", headers, Emulation.alert)
                #expect(answer.reason == reason, "\(team) \(key)")
            }
        }
    }

    @Test(arguments: [
        ("{\"aps\":{\"content-available\":1}}", 200), ("{\"aps\":{\"content-available\":1,\"badge\":1}}", 400),
        ("{\"aps\":{}}", 400), ("{}", 400),
    ]) func aBackgroundPushMustLookLikeOne(payload: String, status: Int) async throws {
        try await Emulation.run { emulation in
            var headers = try emulation.apnsHeaders()
            headers[2].value = "background"
            headers[3].value = "5"
            let answer = try await emulation.send("POST", "/3/device/00", headers, Array(payload.utf8))
            #expect(answer.status == status)
        }
    }

    @Test func aVoIPPayloadMayBeLarger() async throws {
        try await Emulation.run { emulation in
            var headers = try emulation.apnsHeaders()
            headers[1].value = "org.example.app.voip"
            headers[2].value = "voip"
            for (size, status) in [(5_120, 200), (5_121, 413)] {
                let body = "{\"a\":\"" + String(repeating: "x", count: size - 8) + "\"}"
                let answer = try await emulation.send("POST", "/3/device/00", headers, Array(body.utf8))
                #expect(answer.status == status)
            }
        }
    }
}
