import Crypto
import Foundation
import HubProtocol
import PushServices
import SwiftASN1
import Testing
import X509

/// Whose devices a certificate for APNs reaches.
@Suite struct ApnsAudienceTests {
    /// A certificate and its key in PEM, for an app of a team.
    private func pem(_ app: String, team: String?) throws -> String {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName(
            [
                RelativeDistinguishedName.Attribute(type: [0, 9, 2342, 19_200_300, 100, 1, 1], utf8String: app),
                RelativeDistinguishedName.Attribute(type: [2, 5, 4, 3], utf8String: "Apple Push Services: \(app)"),
            ] + (team.map { [RelativeDistinguishedName.Attribute(type: [2, 5, 4, 11], utf8String: $0)] } ?? [])
        )
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date() - 60,
            notValidAfter: Date() + 3_600,
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions(),
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        return try certificate.serializeAsPEM().pemString + "\n" + key.pemRepresentation
    }

    private func audience(_ changes: [String: String?]) -> String? {
        PushServiceDirectory().audience(of: ApnsCredentialTests.credential(changes))
    }

    @Test func `a certificate is for the app and the team of its subject`() throws {
        let pem = try pem("org.example.App", team: "ABCDE12345")
        let changes: [String: String?] = [
            "Token": nil, "KeyId": nil, "AppId": nil, "AppName": nil, "ApnsCertificate": pem,
        ]
        #expect(audience(changes) == "abcde12345 org.example.app ")
        let sandbox = changes.merging(["Endpoint": "https://api.sandbox.push.apple.com"]) { $1 }
        #expect(audience(sandbox) == "abcde12345 org.example.app sandbox")
    }

    @Test func `a renewed certificate is for the same app, and so is a key of the team`() throws {
        let changes: [String: String?] = ["Token": nil, "KeyId": nil, "AppId": nil, "AppName": nil]
        let certificates = try (0..<2).map { _ in try pem("org.example.app", team: "TEAM123456") }
        let audiences = certificates.map { audience(changes.merging(["ApnsCertificate": $0]) { $1 }) }
        #expect(audiences == Array(repeating: audience([:]), count: 2) && audiences[0] != nil)
        let other = try pem("org.example.other", team: "TEAM123456")
        #expect(audience(changes.merging(["ApnsCertificate": other]) { $1 }) == "team123456 org.example.other ")
    }

    @Test func `a certificate without a team is for the app that the credential names, else for its own`() {
        let certificate: [String: String?] = [
            "Token": nil, "KeyId": nil, "AppId": nil, "ApnsCertificate": ApnsCredentialTests.certificate,
            "CertificateKey": "secret",
        ]
        #expect(audience(certificate.merging(["AppName": nil]) { $1 }) == " org.example.app ")
        let voip = certificate.merging(["AppName": "org.example.app.voip"]) { $1 }
        #expect(audience(voip) == " org.example.app.voip ")
        #expect(audience(certificate.merging(["CertificateKey": "wrong"]) { $1 }) == nil, "nothing is known of it")
    }
}
