import Crypto
import Formats
import Foundation
import HTTPTypes
import HubProtocol
import HubTestServer
import Logging
import Testing

@testable import AppBackend
import WebTokens

/// Which tokens are those of a user of the provider.
@Suite struct OpenIDProviderTests {
    private let scratch: ScratchFolder
    private let clock = TestClock()
    private var now: Timestamp { clock.backend.now() }

    init() throws {
        scratch = try ScratchFolder()
        try TestProvider.keySet().write(toFile: scratch.file("jwks.json"), atomically: true, encoding: .utf8)
    }

    private func provider(
        _ change: (inout OpenIDConfiguration) -> Void = { _ in }
    ) throws -> OpenIDProvider {
        var configuration = try TestProvider.configuration(keys: scratch.file("jwks.json"))
        change(&configuration)
        return OpenIDProvider(configuration, clock: clock.backend, logger: .quiet)
    }

    private func problem(_ token: String) async throws -> TokenProblem? {
        do {
            _ = try await provider().user(token)
            return nil
        } catch let problem as TokenProblem {
            return problem
        }
    }

    static let valid: [(header: String, signer: TestProvider.Signer)] = [
        (#"{"alg":"RS256","kid":"r","typ":"JWT"}"#, .rsa(bits: 256, pss: false)),
        (#"{"alg":"RS384","kid":"r"}"#, .rsa(bits: 384, pss: false)),
        (#"{"alg":"RS512","kid":"r"}"#, .rsa(bits: 512, pss: false)),
        (#"{"alg":"PS256","kid":"r"}"#, .rsa(bits: 256, pss: true)),
        (#"{"alg":"PS384","kid":"r"}"#, .rsa(bits: 384, pss: true)),
        (#"{"alg":"PS512","kid":"r"}"#, .rsa(bits: 512, pss: true)),
        (#"{"alg":"RS256","kid":"r256"}"#, .rsa(bits: 256, pss: false)),
        (#"{"alg":"ES256","kid":"e","typ":"at+jwt"}"#, .p256), (#"{"alg":"ES384","kid":"e3"}"#, .p384),
        (#"{"alg":"EdDSA","kid":"d","typ":"application/AT+JWT"}"#, .ed25519),
        // The only key of its algorithm needs no id.
        (#"{"alg":"ES256","jku":"https://elsewhere.example","x5c":["AA"]}"#, .p256),
    ]

    @Test(arguments: valid)
    func `a token of the provider names its user`(header: String, signer: TestProvider.Signer) async throws {
        let token = try TestProvider.token(header: header, TestProvider.claims(at: now), signer)
        let user = try await provider().user(token)
        #expect(user.identity == ForeignIdentity(issuer: TestProvider.issuer, subject: "1001"))
        #expect(user.roles.isEmpty)
    }

    static let headers: [(header: String, signer: TestProvider.Signer, problem: TokenProblem)] = [
        (#"{"alg":"none","kid":"e"}"#, .nothing, .algorithm), (#"{"alg":"None","kid":"e"}"#, .nothing, .algorithm),
        (#"{"kid":"e"}"#, .p256, .algorithm), (#"{"alg":7,"kid":"e"}"#, .p256, .algorithm),
        (#"{"alg":"HS256","kid":"shared"}"#, .secret(Array("secret".utf8)), .algorithm),
        (#"{"alg":"ES512","kid":"e"}"#, .p256, .algorithm), (#"{"alg":"es256","kid":"e"}"#, .p256, .algorithm),
        (#"{"alg":"ES256","kid":"unknown"}"#, .p256, .unknownKey),
        (#"{"alg":"ES256","kid":"r"}"#, .p256, .unknownKey),
        (#"{"alg":"RS256","kid":"e"}"#, .rsa(bits: 256, pss: false), .unknownKey),
        (#"{"alg":"ES384","kid":"e"}"#, .p256, .unknownKey), (#"{"alg":"EdDSA","kid":"e"}"#, .ed25519, .unknownKey),
        // A key is for its own algorithm, and for signatures.
        (#"{"alg":"PS256","kid":"r256"}"#, .rsa(bits: 256, pss: true), .unknownKey),
        (#"{"alg":"RS256","kid":"enc"}"#, .rsa(bits: 256, pss: false), .unknownKey),
        (#"{"alg":"RS256","kid":"wrap"}"#, .rsa(bits: 256, pss: false), .unknownKey),
        // Two keys could be meant.
        (#"{"alg":"RS256"}"#, .rsa(bits: 256, pss: false), .unknownKey),
        (#"{"alg":"ES256","kid":"e"}"#, .otherP256, .signature), (#"{"alg":"ES256","kid":"e"}"#, .p384, .signature),
        (#"{"alg":"RS256","kid":"r"}"#, .rsa(bits: 256, pss: true), .signature),
        (#"{"alg":"RS256","kid":"r"}"#, .rsa(bits: 512, pss: false), .signature),
        (#"{"alg":"ES256","kid":"e"}"#, .nothing, .malformed("no signature")),
        (#"{"alg":"ES256","kid":7}"#, .p256, .malformed("its 'kid'")),
        (#"{"alg":"ES256","kid":"e","crit":["exp"],"exp":1}"#, .p256, .malformed("it has 'crit'")),
        (#"{"alg":"ES256","kid":"e","crit":[]}"#, .p256, .malformed("it has 'crit'")),
        (#"{"alg":"ES256","kid":"e","typ":"logout+jwt"}"#, .p256, .malformed("its 'typ'")),
        (#"{"alg":"ES256","kid":"e","alg":"ES256"}"#, .p256, .malformed("its header is not an object")),
        (#"["ES256"]"#, .p256, .malformed("its header is not an object")),
        (#"{"alg":"ES256","kid":"e"} x"#, .p256, .malformed("its header is not an object")),
    ]

    @Test(arguments: headers)
    func `a token with another header or signature is refused`(
        header: String,
        signer: TestProvider.Signer,
        expected: TokenProblem
    ) async throws {
        let token = try TestProvider.token(header: header, TestProvider.claims(at: now), signer)
        #expect(try await problem(token) == expected)
    }

    @Test func `a public key is not a secret`() async throws {
        for key in [try TestProvider.rsaKey("r"), TestProvider.p256Key("e")] {
            let signer = TestProvider.Signer.secret(Array(key.utf8))
            let token = try TestProvider.token(
                header: #"{"alg":"HS256","kid":"r"}"#,
                TestProvider.claims(at: now),
                signer
            )
            #expect(try await problem(token) == .algorithm)
        }
    }

    static let claims: [(name: String, value: String?)] = [
        ("iss", nil), ("iss", #""https://login.example.org/realms/news/""#), ("iss", #""https://elsewhere.example""#),
        ("iss", #"["https://login.example.org/realms/news"]"#), ("iss", "7"),
        ("aud", nil), ("aud", #""other-app""#), ("aud", #""news-app ""#), ("aud", "[]"), ("aud", #"["other-app",7]"#),
        ("aud", #"{"news-app":1}"#),
        ("exp", nil), ("exp", #""2000000000""#), ("exp", "null"), ("exp", "1e400"), ("exp", "-1"),
        ("nbf", "1e400"), ("nbf", #""0""#), ("iat", "true"),
        ("sub", nil), ("sub", #""""#), ("sub", "1001"), ("sub", #""\#(String(repeating: "x", count: 256))""#),
    ]

    @Test(arguments: claims)
    func `a token with a wrong claim is refused`(name: String, value: String?) async throws {
        let token = try TestProvider.token(TestProvider.claims(at: now, [name: value]))
        #expect(try await problem(token) == .claim(name))
    }

    @Test func `a token is valid between its times, with a minute for clocks that differ`() async throws {
        let seconds = now.milliseconds / 1_000
        for (name, offset, isValid) in [
            ("exp", -59, true), ("exp", -60, false), ("exp", -3_600, false), ("nbf", 60, true), ("nbf", 61, false),
            ("iat", 60, true), ("iat", 61, false), ("iat", -86_400, true),
        ] {
            let claims = TestProvider.claims(at: now, [name: "\(seconds + Int64(offset)).0"])
            let found = try await problem(try TestProvider.token(claims))
            #expect(found == (isValid ? nil : .claim(name)), "\(name) \(offset)")
        }
    }

    @Test func `an audience may be one of several`() async throws {
        let claims = TestProvider.claims(at: now, ["aud": #"["other-app","news-app"]"#])
        #expect(try await problem(try TestProvider.token(claims)) == nil)
    }

    @Test func `text that is not a token is refused`() async throws {
        let token = try TestProvider.token(TestProvider.claims(at: now))
        let parts = token.split(separator: ".").map(String.init)
        let long = try TestProvider.token(
            TestProvider.claims(at: now, ["x": JSONText(String(repeating: "x", count: 6_000)).text])
        )
        #expect(long.utf8.count > SignedToken.maximumBytes)
        for text in [
            "", ".", "..", "...", "a.b", parts[0], "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).",
            ".\(parts[1]).\(parts[2])", "\(token).", "\(token).\(parts[2])", "\(token)=", " \(token)", long,
            "\(parts[0]).\(parts[1])+.\(parts[2])",
        ] {
            let found = try await problem(text)
            guard case .malformed = found else {
                Issue.record("\(text.prefix(20)): \(String(describing: found))")
                continue
            }
        }
        // Another user's claims under a signature of the provider's.
        let other = Base64URL.encode(Array(TestProvider.claims(at: now, ["sub": #""1002""#]).utf8))
        #expect(try await problem("\(parts[0]).\(other).\(parts[2])") == .signature)
    }

    @Test(arguments: [
        (#"["editors","Domain Users",7,"a,b"]"#, ["Domain Users", "editors"]),
        (#""read editors""#, ["editors", "read"]),
        (#"{}"#, []), ("null", []), (#""""#, []),
    ])
    func `roles are a list, or words`(value: String, roles: [String]) async throws {
        let token = try TestProvider.token(TestProvider.claims(at: now, ["roles": value]))
        let user = try await provider { $0.roleClaim = "roles" }.user(token)
        #expect(user.roles.sorted().map(\.text) == roles)
        let unasked = try await provider().user(token)
        #expect(unasked.roles.isEmpty)
    }

    @Test func `a claim of roles may be within objects, or have full stops in its name`() async throws {
        let claims = TestProvider.claims(
            at: now,
            ["realm_access": #"{"roles":["editors"]}"#, "https://example.org/roles": #"["desk"]"#]
        )
        for (path, roles) in [
            ("realm_access.roles", ["editors"]), ("https://example.org/roles", ["desk"]), ("realm_access", []),
            ("realm_access.roles.x", []), ("missing.roles", []),
        ] {
            let user = try await provider { $0.roleClaim = path }.user(try TestProvider.token(claims))
            #expect(user.roles.map(\.text) == roles, "\(path)")
        }
    }

    @Test func `a new account is named after a claim, and an address only if it was verified`() async throws {
        let claims: [String: String?] = ["preferred_username": #""Ann""#, "email": #""ann@example.org""#]
        for (name, verified, expected) in [
            ("preferred_username", nil, "Ann@corp"), ("email", "true", "ann@example.org@corp"),
            ("email", #""true""#, "ann@example.org@corp"), ("email", "false", nil), ("email", nil, nil),
            ("missing", nil, nil),
        ] as [(String, String?, String?)] {
            var claims = claims
            if let verified { claims["email_verified"] = verified }
            let token = try TestProvider.token(TestProvider.claims(at: now, claims))
            let user = try await provider { $0.nameClaim = name }.user(token)
            #expect(user.names.count == (expected == nil ? 1 : 2))
            #expect(user.names.last?.text.hasPrefix("u-") == true)
            if let expected { #expect(user.names.first?.text == expected) }
        }
    }
}
