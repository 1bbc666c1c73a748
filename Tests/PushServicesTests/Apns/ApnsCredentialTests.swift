import Crypto
import CryptoExtras
import Foundation
import HubProtocol
import PushServices
import Testing

/// What a hub may prove itself to APNs with, and what it is told otherwise.
@Suite struct ApnsCredentialTests {
    static let key = P256.Signing.PrivateKey().pemRepresentation
    /// For org.example.app and org.example.app.voip until 2126, password "secret", encrypted as Keychain does it.
    static let certificate = """
        MIIEGgIBAzCCA+AGCSqGSIb3DQEHAaCCA9EEggPNMIIDyTCCAr8GCSqGSIb3DQEHBqCCArAwggKsAgEAMIICpQYJKoZIhvcNAQcB\
        MBwGCiqGSIb3DQEMAQYwDgQISusffmY+wL4CAggAgIICeLBPyGx0TsEQHBbAGXT/XAuWdtyvrl802CBoQ4P9Eq3i+Ek3s41CubNY\
        6i1xtBCIGxC8kqLpf7Amlmi6X3vpl+qMCN3C3939NX5FXzm7YAOV7LQu8Cn+dhWZ7Dfs3vpE+ZZc9HCKEG8q1Oa2wyLJCSDGcGQW\
        O6RPADugB4KnMhZ0WDXveDpAsu/0FYnQewUaIbjsNSsMEywInQhB5IXQPhxP5KzX1kS/vlsX6MHeFYWL40zppHGT5Cn89ND78Z+A\
        1OlyFOw5qmhuGh/cPnhBUMiLZSQbCFWuiOcMrD7ZfkcuJB9BhINxDA9eQM6xQ4Q0Ynqe/kTzvVIOqJTfqbjmFGWWGSmtGnBh5jiB\
        7mwC7OmFaT2ArZRIT1v2Sg01bIb6hRtEjsYR2iM7gH7h7BEqR0NlQiwrWmLpQRRf7MC7z9tXvbKR75Lb+VnL04TCeGjThiu7OqFs\
        tsydcsMC4mJF5LyO+Oh0FZN61Jhk5TPH8Wjcx7wu6LpwYwKk0lPlaqKtX8dmc2qa6ZGSMJc0o9QWnb1CaQTyIDey25f7RfqhWiNv\
        XYUU+FB0I9lRjJUCDc+N4WiiUO6lyKSifbxqoTpk4fIbjBYtOyeisk4OpSGQWuJRvdGjF2Yx6Yh2KRts7l9NqA9BJn783aTWn3EO\
        6c4BdIK2AZc6gy+4QGmroFTRmk6BHDmJpsCAhSRJgU1Du+Zhkx7HEvtUUJwEUGQfqppbkIex5/OFApNb+sDEIbRHULFynmR0X6OJ\
        kO1Fsu2qiLZw+DEHSovP5ygkhfYQKDKeEocTPtHfdFbhElx8jsDYDBsoxH++S5Vel/y2raOSZDykabMU6wfDLfykMIIBAgYJKoZI\
        hvcNAQcBoIH0BIHxMIHuMIHrBgsqhkiG9w0BDAoBAqCBtDCBsTAcBgoqhkiG9w0BDAEDMA4ECD5MXrMo9MtfAgIIAASBkJedcx7a\
        Z0Bfn9LojEpknC61IWCoKBoTHHuy8+GBODiZ/BeRd2ZEQv822DRdz2ZvrM8x0emX33GU9ijj39UMjZnyKLSdfocKMiqqezP8r+4E\
        mCqp5mk/VTcytH+cg0bHPSSbBNFQCOQp37D0kuXSCmIIiWytiZjAL+rZZbjSTlT9a7ubhogNWHaxxcrmSR8CrzElMCMGCSqGSIb3\
        DQEJFTEWBBTChlbizGWpnq/yLIpqAg/7xF0uVTAxMCEwCQYFKw4DAhoFAAQUyN8TJ/FyrTTFsYPuAlUo+i1RelUECGvFBMy68F9m\
        AgIIAA==
        """

    static func credential(_ changes: [String: String?] = [:]) -> PlatformCredential {
        var properties: [String: String?] = [
            "Token": key, "KeyId": "ABCDEF1234", "AppId": "TEAM123456", "AppName": "org.example.app",
        ]
        properties.merge(changes) { $1 }
        return PlatformCredential(
            .apns,
            properties.compactMap { name, value in value.map { .init(name: name, value: $0) } }
        )
    }

    static func service(_ credential: PlatformCredential) throws(BadCredential) -> any PushService {
        try PushServiceDirectory().service(for: credential)
    }

    @Test(
        arguments: [
            "https://api.push.apple.com:443/3/device", "https://api.development.push.apple.com:443/3/device",
            "https://api.sandbox.push.apple.com", "gateway.push.apple.com", "gateway.sandbox.push.apple.com", "",
        ]
    )
    func `Apple's hosts are taken in every spelling`(endpoint: String) throws {
        _ = try Self.service(Self.credential(["Endpoint": endpoint]))
    }

    @Test(
        arguments: [
            (["Endpoint": "https://api.push.apple.com.example.org"], "Endpoint"),
            (["Endpoint": "https://169.254.169.254/"], "Endpoint"),
            (["KeyId": "short"], "KeyId"), (["AppId": nil], "AppId"), (["AppName": "a/b"], "AppName"),
            (["AppName": "org.example\r\nx: y"], "AppName"), (["Token": "bm90IGEga2V5"], "Token"),
            (["Token": try! _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation], "P-256"),
            (["Token": nil], "ApnsCertificate"),
            (["Token": nil, "ApnsCertificate": certificate, "CertificateKey": "wrong"], "CertificateKey"),
            (
                ["Token": nil, "ApnsCertificate": certificate, "CertificateKey": "secret", "AppName": "org.other"],
                "AppName"
            ),
        ] as [([String: String?], String)]
    )
    func `what is wrong is named, and no secret with it`(changes: [String: String?], word: String) throws {
        let error = try #require(throws: BadCredential.self) { try Self.service(Self.credential(changes)) }
        #expect(error.description.contains(word))
        #expect(!error.description.contains("BEGIN"))
        #expect(!error.description.contains("secret"))
    }

    @Test func `a certificate that would keep a processor busy for a minute is refused at once`() throws {
        var file = [UInt8](try #require(Data(base64Encoded: Self.certificate)))
        // The last number has the iterations of the MAC, and becomes two bytes longer, as do its two sequences.
        try #require(file.suffix(4) == [0x02, 0x02, 0x08, 0x00])
        file.replaceSubrange((file.count - 4)..., with: [0x02, 0x04, 0x05, 0xF5, 0xE1, 0x00])
        file[3] += 2
        let mac = try #require(file.ranges(of: [0x30, 0x31, 0x30, 0x21]).last)
        file[mac.lowerBound + 1] += 2
        let text = Data(file).base64EncodedString()
        let error = try #require(throws: BadCredential.self) {
            try Self.service(
                Self.credential(["Token": nil, "ApnsCertificate": text, "CertificateKey": "secret"])
            )
        }
        #expect(error.description.contains("iterations"))
    }

    @Test func `a key without its frame is taken, as Azure has it`() throws {
        let bare = Self.key.split(separator: "\n").dropFirst().dropLast().joined()
        _ = try Self.service(Self.credential(["Token": bare]))
    }

    @Test func `a certificate says when it expires`() throws {
        let service = try Self.service(
            Self.credential([
                "Token": nil, "ApnsCertificate": Self.certificate, "CertificateKey": "secret", "AppName": nil,
            ])
        )
        #expect(service.credentialExpiresAt?.wholeSecond.hasPrefix("2126-") == true)
    }

    @Test func `a certificate that has expired is refused`() throws {
        let late = PushServiceDirectory(now: { Timestamp(milliseconds: 5_000_000_000_000) })
        let error = try #require(throws: BadCredential.self) {
            try late.service(
                for: Self.credential(["Token": nil, "ApnsCertificate": Self.certificate, "CertificateKey": "secret"])
            )
        }
        #expect(error.description.contains("expired"))
    }
}
