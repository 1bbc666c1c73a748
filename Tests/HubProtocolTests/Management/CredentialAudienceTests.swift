import HubProtocol
import Testing

/// Whose handles a credential for a push service reaches.
struct CredentialAudienceTests {
    private func audience(_ kind: PlatformCredential.Kind, _ properties: [(String, String)]) -> String? {
        PlatformCredential(kind, properties.map { .init(name: $0.0, value: $0.1) }).audience
    }

    private static let apns = [("AppId", "TEAM123456"), ("AppName", "org.Example.news")]

    @Test(
        arguments: [
            ("", "team123456 org.example.news "), ("https://api.push.apple.com", "team123456 org.example.news "),
            ("https://api.sandbox.push.apple.com:443/3/device", "team123456 org.example.news sandbox"),
            ("gateway.SANDBOX.push.apple.com", "team123456 org.example.news sandbox"),
            ("https://api.development.push.apple.com", "team123456 org.example.news sandbox"),
        ]
    )
    func `a key for APNs is for a team, an app and an environment`(endpoint: String, expected: String) {
        #expect(audience(.apns, Self.apns + [("Endpoint", endpoint)]) == expected, "the database has this form")
    }

    @Test func `other credentials are for a project or an app, and some do not say`() {
        #expect(audience(.fcmV1, [("ProjectId", "Example")]) == "example")
        #expect(audience(.wns, [("PackageSid", "ms-app://S-1"), ("ClientId", "c")]) == "ms-app://s-1")
        #expect(audience(.wns, [("ClientId", "C"), ("TenantId", "T")]) == "c t")
        #expect(audience(.browser, [("Subject", "mailto:ops@example.org")]) == nil)
        #expect(audience(.apns, [("ApnsCertificate", "MIIK")]) == nil)
    }

    @Test(
        arguments: [
            ("team app ", "team app ", true), ("team app ", " app ", true), (" app ", "team app ", true),
            ("team app ", "other app ", false), ("team app ", " other ", false), ("team app ", " app sandbox", false),
            ("team app ", "team app sandbox", false), ("project", "project", true), ("project", "other", false),
            ("client tenant", "client other", false), ("client tenant", "other tenant", false),
        ]
    )
    func `a team that a certificate does not name may be any`(one: String, other: String, isSame: Bool) {
        #expect(PlatformCredential.isSameAudience(one, other) == isSame)
        #expect(PlatformCredential.isSameAudience(other, one) == isSame)
    }
}
