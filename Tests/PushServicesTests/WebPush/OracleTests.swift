import Crypto
import CryptoExtras
import Formats
import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import PushServices
import WebTokens

/// Encryption and signatures, judged by libraries that others wrote: `.ci/oracles`.
@Suite(.enabled(if: Oracle.python != nil, "'make oracles' installs the libraries"))
struct OracleTests {
    private static let oracle = Oracle("web_push.py")

    private func judge(_ lines: [[String: String]]) async throws -> Oracle.Verdict {
        try await Self.oracle.judge(lines.map { JSONText(sorted: $0).text + "\n" }.joined())
    }

    private func vapid(_ key: P256.Signing.PrivateKey, _ origin: String) throws -> [String: String] {
        let own = try #require(VapidKey(WebPushSender.privateText(key)))
        let token = try VapidTokens(subject: "mailto:ops@example.org").token(for: origin, own, now: Timestamp(Date()))
        return ["kind": "vapid", "token": token, "key": own.publicText, "audience": origin]
    }

    private func content(_ plaintext: [UInt8]) throws -> [String: String] {
        let browser = WebPushBrowser()
        let body = try WebPushContent.encrypt(plaintext, for: BrowserReceiver(browser.channel()))
        return [
            "kind": "content", "body": Base64URL.encode(body),
            "privateKey": Base64URL.encode(Array(browser.privateKey.rawRepresentation)),
            "auth": Base64URL.encode(browser.secret), "plaintext": Base64URL.encode(plaintext),
        ]
    }

    @Test func `tokens for push services of browsers are verified`() async throws {
        let lines = try ["https://fcm.googleapis.com", "https://push.example:8443", "http://127.0.0.1:1"].map {
            origin in
            try vapid(P256.Signing.PrivateKey(), origin)
        }
        let verdict = try await judge(lines)
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    @Test func `messages are decrypted`() async throws {
        let lines = try [0, 1, 16, 100, 2_000, 3_993].map { count in
            try content((0..<count).map { _ in UInt8.random(in: .min ... .max) })
        }
        let verdict = try await judge(lines)
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    @Test func `provider tokens and assertions are verified`() async throws {
        let now = Timestamp(Date()).seconds
        let apple = P256.Signing.PrivateKey()
        let provider = try SignedToken.es256(
            header: [("kid", "KEY0000001")],
            claims: ["iss": "TEAM000001", "iat": JSONText(now)],
            key: apple
        )
        let google = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let assertion = try SignedToken.rs256(
            header: [("typ", "JWT"), ("kid", "k")],
            claims: [
                "iss": "hub@p.iam.gserviceaccount.com", "scope": "https://www.googleapis.com/auth/firebase.messaging",
                "aud": "https://oauth2.googleapis.com/token", "iat": JSONText(now), "exp": JSONText(now + 3_600),
            ],
            key: google
        )
        let verdict = try await judge([
            ["kind": "apns", "token": provider, "publicKey": apple.publicKey.pemRepresentation],
            ["kind": "google", "assertion": assertion, "publicKey": google.publicKey.pemRepresentation],
        ])
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    @Test(arguments: ["audience", "key", "signature", "plaintext", "body", "auth", "kind"])
    func `what is wrong is noticed`(_ fault: String) async throws {
        var token = try vapid(P256.Signing.PrivateKey(), "https://push.example")
        var body = try content(Array("text".utf8))
        switch fault {
        case "audience": token["audience"] = "https://other.example"
        case "key": token["key"] = WebPushSender.publicText(P256.Signing.PrivateKey())
        case "signature":
            token["token"] = token["token"].map { $0.split(separator: ".").prefix(2).joined(separator: ".") + ".AAAA" }
        case "plaintext": body["plaintext"] = "AAAA"
        case "auth": body["auth"] = Base64URL.encode([UInt8](repeating: 1, count: 16))
        case "kind": body["kind"] = "other"
        default: body["body"] = body["body"].map { $0.dropLast(4) + ($0.hasSuffix("AAAA") ? "BBBB" : "AAAA") }
        }
        let verdict = try await judge([token, body])
        #expect(verdict.status == 1)
        #expect(verdict.output.contains("line "), "\(verdict.output)")
    }
}
