import Crypto
import CryptoExtras
import Formats
import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import PushServices

@Suite struct FcmCredentialTests {
    private func directory() -> PushServiceDirectory { PushServiceDirectory() }

    @Test(
        arguments: [
            ("ProjectId", nil, "ProjectId"), ("ProjectId", "", "ProjectId"), ("ProjectId", "abc", "ProjectId"),
            ("ProjectId", "a/../b", "ProjectId"), ("ProjectId", "Upper-case", "ProjectId"),
            ("ProjectId", String(repeating: "a", count: 65), "ProjectId"), ("ClientEmail", nil, "ClientEmail"),
            ("ClientEmail", "nobody", "ClientEmail"), ("ClientEmail", "a b@example.org", "ClientEmail"),
            ("PrivateKey", nil, "missing"), ("PrivateKey", "not a key", "cannot be read"),
            ("PrivateKey", "AAAA", "cannot be read"), ("token_uri", "https://example.org/token", "token_uri"),
            ("token_uri", "http://oauth2.googleapis.com/token", "token_uri"),
        ] as [(String, String?, String)]
    )
    func `a credential that cannot be used says why`(name: String, value: String?, reason: String) throws {
        let credential = try ServicePeers.credential([name: value])
        let error = try #require(throws: BadCredential.self) { try directory().service(for: credential) }
        #expect(error.description.contains(reason))
        if let value, value.count > 4, name != "token_uri" { #expect(!error.description.contains(value)) }
    }

    @Test func `another kind of key is named`() throws {
        let elliptic = try ServicePeers.credential(["PrivateKey": P256.Signing.PrivateKey().pemRepresentation])
        let ec = try #require(throws: BadCredential.self) { try directory().service(for: elliptic) }
        #expect(ec.description.contains("elliptic curve"))
        let small = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1_024)).pkcs8PEMRepresentation
        let short = try ServicePeers.credential(["PrivateKey": small])
        let error = try #require(throws: BadCredential.self) { try directory().service(for: short) }
        #expect(error.description.contains("2048 bits"))
    }

    @Test(
        arguments: [
            "https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token",
            "https://www.googleapis.com/oauth2/v4/token", "",
        ]
    )
    func `addresses of earlier years are Google's too`(address: String) throws {
        _ = try directory().service(for: try ServicePeers.credential(["token_uri": address]))
    }

    @Test func `a key is read in PEM, with line breaks out of JSON, and as base64`() throws {
        let pem = try ServicePeers.key.get().pkcs8PEMRepresentation
        let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        for text in [pem, pem.replacing("\n", with: "\\n"), base64] {
            _ = try directory().service(for: try ServicePeers.credential(["PrivateKey": text]))
        }
    }

    @Test func `the assertion is signed and has the claims that Google wants`() async throws {
        let server = try ServicePeers.server { _ in .status(200, body: "{}") }
        let clock = ServicePeers.Clock(Timestamp(milliseconds: 1_790_000_000_900))
        let credential = try ServicePeers.credential([
            "PrivateKeyId": "key-7", "token_uri": "https://accounts.google.com/o/oauth2/token",
        ])
        let service = try ServicePeers.service(credential, server, clock: clock)
        _ = try await ServicePeers.send(#"{"message":{}}"#, service, to: "d")
        await service.shutdown()
        let request = try #require(server.requests.first)
        #expect(request.path == "/token")
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
        let fields = request.text.split(separator: "&")
        #expect(fields.first == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer")
        let assertion = try #require(fields.last?.split(separator: "=").last)
        let parts = assertion.split(separator: ".").map { String($0) }
        try #require(parts.count == 3)
        let header = try JSONReader.read(try #require(Base64URL.decode(parts[0])))
        #expect(header.text == #"{"alg":"RS256","typ":"JWT","kid":"key-7"}"#)
        let claims = try JSONReader.read(try #require(Base64URL.decode(parts[1])))
        #expect(claims["iss"]?.string == "push@example-project.iam.gserviceaccount.com")
        #expect(claims["scope"]?.string == "https://www.googleapis.com/auth/firebase.messaging")
        #expect(claims["aud"]?.string == "https://oauth2.googleapis.com/token")
        #expect(claims["iat"]?.integer == 1_790_000_000 && claims["exp"]?.integer == 1_790_003_600)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
        let signed = Data("\(parts[0]).\(parts[1])".utf8)
        let key = try ServicePeers.key.get().publicKey
        #expect(key.isValidSignature(signature, for: signed, padding: .insecurePKCS1v1_5))
    }
}
