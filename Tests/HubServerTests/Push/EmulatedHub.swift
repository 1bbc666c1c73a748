import Crypto
import CryptoExtras
import Foundation
import HubProtocol
import HubRouting
import PushEmulator
import PushServices
import Testing

@testable import HubServer

/// A hub whose push services are the real adapters, answered by the emulator.
enum EmulatedHub {
    static let bundle = "com.example"
    /// One key for all tests, since making one takes a while.
    static let fcmKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation }
    static let apnsKey = P256.Signing.PrivateKey().pemRepresentation

    /// Runs a hub that has been given credentials over the management API.
    ///
    /// Certificates are checked by this machine's clock, so that a test's clock begins there. `services` is the clock of
    /// the push services, `nil` for the hub's.
    static func run(
        clock: TestClock = TestClock(Date()),
        services: (@Sendable () -> Timestamp)? = nil,
        configure: (Scratch, inout HubConfiguration) -> Void = { _, _ in },
        _ body: (TestHub, PushEmulator) async throws -> Void
    ) async throws {
        let scratch = try Scratch()
        let emulator = try await PushEmulator.start(now: services ?? { Timestamp(clock.now) })
        do {
            let authority = scratch.folder + "/authority.pem"
            try emulator.certificateAuthority.write(toFile: authority, atomically: true, encoding: .utf8)
            let credentials = try credentials
            try await TestHub.run(scratch, clock: clock) {
                $0.pushServices = PushServiceDirectory(
                    emulation: .init(origin: emulator.origin, certificateAuthorities: authority, credentials: []),
                    now: { Timestamp(clock.now) }
                )
                $0.pushContact = "mailto:push@example.org"
                $0.sendsGcmThroughFcm = true
                configure(scratch, &$0)
            } _: { hub in
                // Descriptions have no properties of ours, but requests may.
                let description = NotificationHubDescription(credentials: credentials).xml
                    .replacing("<ApnsCredential><Properties>", with: "<ApnsCredential><Properties>\(topics)")
                let match = ["If-Match": "*"]
                let reply = try await hub.manage("PUT", "/news", headers: match, entry(description))
                try #require(reply.status == 200, "\(reply.body)")
                try await body(hub, emulator)
            }
        } catch {
            await emulator.stop()
            throw error
        }
        await emulator.stop()
    }

    private static let topics =
        "<Property><Name>Topics</Name><Value>com.microsoft.Example,com.microsoft.ExampleApp</Value></Property>"

    private static var credentials: [PlatformCredential] {
        get throws {
            [
                credential(
                    .apns,
                    [("Token", apnsKey), ("KeyId", "ABCDEF1234"), ("AppId", "TEAM123456"), ("AppName", bundle)]
                ),
                credential(.wns, [("PackageSid", "ms-app://s-1-15-2-1"), ("SecretKey", "secret")]),
                credential(
                    .fcmV1,
                    [
                        ("ProjectId", "example-project"), ("PrivateKey", try fcmKey.get()),
                        ("ClientEmail", "hub@example-project.iam.gserviceaccount.com"),
                    ]
                ),
                credential(.mpns, [("MpnsCertificate", "MIIK"), ("CertificateKey", "p")]),
                credential(.adm, [("ClientId", "c"), ("ClientSecret", "s")]),
                credential(.baidu, [("BaiduApiKey", "k"), ("BaiduSecretKey", "s")]),
            ]
        }
    }

    private static func credential(
        _ kind: PlatformCredential.Kind,
        _ properties: [(String, String)]
    ) -> PlatformCredential {
        PlatformCredential(kind, properties.map { .init(name: $0.0, value: $0.1) })
    }

    static func entry(_ content: String) -> String {
        #"<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\#(content)</content></entry>"#
    }
}

extension TestHub {
    /// Registers a handle as clients do.
    func register(
        _ id: String,
        _ platform: Platform,
        _ channel: PushChannel,
        tags: [String] = ["World"],
        template: RegistrationTemplate? = nil
    ) async throws {
        let registration = Registration(
            id: try RegistrationID(id),
            tags: try tags.map { try Tag($0) },
            platform: platform,
            pushChannel: channel,
            template: template
        )
        let body = EmulatedHub.entry(String(decoding: registration.exportLine, as: UTF8.self))
        let reply = try await send("PUT", "registrations/\(id)", as: full, body)
        try #require(reply.status == 200, "\(reply.body)")
    }

    /// Delivers all that can be delivered now.
    func settlePushes() async {
        service.push.wakeAll()
        await service.push.settle()
        // What an answer has given back is on its way again.
        await service.push.settle()
    }

    /// Outcomes of a message, by the protocol's telemetry.
    func outcomes(_ id: MessageID) async throws -> [Platform: [OutcomeName: Int]] { try await details(id).outcomes }

    /// Why targets were not sent a message.
    func failures(_ id: MessageID) async throws -> [FailedTargets.Target] {
        let reply = try await send("GET", "deliveries/\(id)/failures", as: full)
        try #require(reply.status == 200, "\(reply.body)")
        return try JSONDecoder().decode(FailedTargets.self, from: Data(reply.body.utf8)).targets
    }

    /// Makes a test send.
    func test(_ format: String, _ body: String, tags: String = "World") async throws -> NotificationOutcome {
        let headers = [HeaderName.format: format, HeaderName.tags: tags]
        let reply = try await send("POST", "messages/?test", as: full, headers: headers, body)
        return try #require(NotificationOutcome(xml: reply.body), "\(reply.status) \(reply.body)")
    }
}
