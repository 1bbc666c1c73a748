import Formats
import HubProtocol
import OutboundHTTP
import Testing

@testable import PushEmulator

@Suite struct TokenAnswersTests {
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    private static let audience = "https://oauth2.googleapis.com/token"
    private static let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    @Test func googleIssuesATokenOfAnHour() async throws {
        try await Emulation.run { emulation in
            let now = emulation.clock.now.seconds
            let claims =
                "{\"iss\":\"a\",\"scope\":\"\(Self.scope)\",\"aud\":\"\(Self.audience)\",\"iat\":\(now),\"exp\":\(now + 3600)}"
            let answer = try await emulation.sendForm(
                "/token",
                [("grant_type", Self.grant), ("assertion", Tokens.assertion(claims))]
            )
            #expect(answer.status == 200)
            #expect(answer.json?["expires_in"]?.integer == 3_599)
            #expect(answer.json?["token_type"]?.string == "Bearer")
            #expect(answer.json?["access_token"]?.string?.isEmpty == false)
        }
    }

    @Test(arguments: [
        ("{\"scope\":\"SCOPE\",\"aud\":\"AUD\",\"iat\":NOW,\"exp\":LATER}", "invalid_grant"),
        ("{\"iss\":\"refused@x\",\"scope\":\"SCOPE\",\"aud\":\"AUD\",\"iat\":NOW,\"exp\":LATER}", "invalid_grant"),
        ("{\"iss\":\"a\",\"scope\":\"x\",\"aud\":\"AUD\",\"iat\":NOW,\"exp\":LATER}", "invalid_scope"),
        ("{\"iss\":\"a\",\"scope\":\"SCOPE\",\"aud\":\"https://x\",\"iat\":NOW,\"exp\":LATER}", "invalid_grant"),
        ("{\"iss\":\"a\",\"scope\":\"SCOPE\",\"aud\":\"AUD\",\"iat\":NOW}", "invalid_grant"),
        ("{\"iss\":\"a\",\"scope\":\"SCOPE\",\"aud\":\"AUD\",\"iat\":0,\"exp\":LATER}", "invalid_grant"),
        ("{\"iss\":\"a\",\"scope\":\"SCOPE\",\"aud\":\"AUD\",\"iat\":LATER,\"exp\":LATER}", "invalid_grant"),
        ("{\"iss\":\"a\",\"scope\":\"SCOPE\",\"aud\":\"AUD\",\"iat\":1,\"exp\":2}", "invalid_grant"),
        ("{\"iss\":\"a\",\"scope\":\"SCOPE\",\"aud\":\"AUD\",\"iat\":\"NOW\",\"exp\":LATER}", "invalid_grant"),
        (
            "{\"iss\":\"a\",\"scope\":\"SCOPE\",\"aud\":\"AUD\",\"iat\":9223372036854775807,\"exp\":-9223372036854775808}",
            "invalid_grant"
        ),
    ]) func aBadAssertionIsRefused(claims: String, error: String) async throws {
        try await Emulation.run { emulation in
            let now = emulation.clock.now.seconds
            var text = claims
            for (name, value) in [
                ("SCOPE", Self.scope), ("AUD", Self.audience), ("NOW", "\(now)"), ("LATER", "\(now + 3_600)"),
            ] {
                text = text.split(separator: name, omittingEmptySubsequences: false).joined(separator: value)
            }
            let answer = try await emulation.sendForm(
                "/token",
                [("grant_type", Self.grant), ("assertion", Tokens.assertion(text))]
            )
            #expect(answer.status == 400)
            #expect(answer.json?["error"]?.string == error)
        }
    }

    @Test(
        arguments: [
            ([("grant_type", "password")], "unsupported_grant_type"), ([("grant_type", grant)], "invalid_grant"),
            ([("grant_type", grant), ("assertion", "a.b.c")], "invalid_grant"),
            ([("grant_type", grant), ("grant_type", grant)], "invalid_request"),
        ] as [([(String, String)], String)]
    ) func aBadFormIsRefused(fields: [(String, String)], error: String) async throws {
        try await Emulation.run { emulation in
            let answer = try await emulation.sendForm("/token", fields)
            #expect(answer.status == 400)
            #expect(answer.json?["error"]?.string == error)
        }
    }

    @Test func anotherMethodOrMediaTypeIsRefused() async throws {
        try await Emulation.run { emulation in
            #expect(try await emulation.send("GET", "/token").status == 405)
            let answer = try await emulation.send("POST", "/token", [("content-type", "application/json")], [1])
            #expect(answer.json?["error"]?.string == "invalid_request")
        }
    }

    @Test func bothOfMicrosoftsAddressesIssueTokens() async throws {
        try await Emulation.run { emulation in
            for (path, client, scope) in [
                ("/accesstoken.srf", "ms-app://S-1-15-2-1", "notify.windows.com"),
                ("/tenant/oauth2/v2.0/token", "7b3a", "https://wns.windows.com/.default"),
            ] {
                let answer = try await emulation.sendForm(
                    path,
                    [
                        ("grant_type", "client_credentials"), ("client_id", client), ("client_secret", "s+ &=ä"),
                        ("scope", scope),
                    ]
                )
                #expect(answer.status == 200)
                #expect(answer.json?["token_type"]?.string == "bearer")
                let lifetime = answer.json?["expires_in"]
                #expect(lifetime?.integer == 86_400 || lifetime?.string == "86400")
            }
        }
    }

    @Test(
        arguments: [
            ("/accesstoken.srf", [("client_id", "ms-app://S"), ("client_secret", "s")], "unsupported_grant_type"),
            (
                "/accesstoken.srf", [("grant_type", "client_credentials"), ("client_id", "ms-app://S")],
                "invalid_request"
            ),
            (
                "/accesstoken.srf",
                [
                    ("grant_type", "client_credentials"), ("client_id", "ms-app://S"), ("client_secret", "s"),
                    ("scope", "x"),
                ],
                "invalid_scope"
            ),
            (
                "/accesstoken.srf",
                [
                    ("grant_type", "client_credentials"), ("client_id", "7b3a"), ("client_secret", "s"),
                    ("scope", "notify.windows.com"),
                ], "invalid_client"
            ),
            (
                "/t/oauth2/v2.0/token",
                [
                    ("grant_type", "client_credentials"), ("client_id", "7b3a"), ("client_secret", "refused"),
                    ("scope", "https://wns.windows.com/.default"),
                ], "invalid_client"
            ),
        ] as [(String, [(String, String)], String)]
    )
    func aBadClientIsRefused(path: String, fields: [(String, String)], error: String) async throws {
        try await Emulation.run { emulation in
            let answer = try await emulation.sendForm(path, fields)
            #expect(answer.status == 400)
            #expect(answer.json?["error"]?.string == error)
        }
    }

    @Test func tokenEndpointsHaveFaultsOfTheirOwn() async throws {
        try await Emulation.run { emulation in
            emulation.emulator.setTokenFault(PushFault(.unavailable(retryAfter: .seconds(7)), times: 1), for: .fcm)
            let answer = try await emulation.sendForm("/token", [])
            #expect(answer.status == 503)
            #expect(answer.headers["retry-after"] == "7")
            #expect(try await emulation.googleToken().isEmpty == false)
            emulation.emulator.setTokenFault(PushFault(.badCredential), for: .wns)
            #expect(try await emulation.sendForm("/accesstoken.srf", []).status == 401)
            #expect(try await emulation.googleToken().isEmpty == false)
        }
    }
}
