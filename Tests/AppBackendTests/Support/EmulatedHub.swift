import AppBackend
import Crypto
import CryptoExtras
import Formats
import Foundation
import HubProtocol
import HubServer
import HubTestServer
import PushEmulator
import PushServices

/// A hub whose push services are the real adapters, answered by the emulator, and a backend in front of it.
struct EmulatedHub: Sendable {
    static let allKinds: [PlatformCredential.Kind] = [.apns, .fcmV1, .wns, .browser]
    /// Keys for all tests, since making one takes a while.
    private static let fcmKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation }
    private static let apnsKey = P256.Signing.PrivateKey().pemRepresentation
    private static let vapidKey = P256.Signing.PrivateKey()

    let hub: TestHub
    let backend: TestBackend
    let emulator: PushEmulator
    /// Where the hub and the backend keep their files.
    let folder: String

    static func run(
        credentials kinds: [PlatformCredential.Kind] = allKinds,
        configure: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (EmulatedHub) async throws -> Void
    ) async throws {
        let emulator = try await PushEmulator.start(now: { Timestamp(Date()) })
        let scratch = try ScratchFolder()
        let authority = scratch.file("authority.pem")
        try emulator.certificateAuthority.write(toFile: authority, atomically: true, encoding: .utf8)
        let credentials = try kinds.map { PlatformCredential($0, try properties(of: $0)) }
        let result: Result<Void, any Error>
        do {
            try await TestHub.run(in: scratch) { configuration in
                configuration.pushServices = PushServiceDirectory(
                    emulation: .init(
                        origin: emulator.origin,
                        certificateAuthorities: authority,
                        credentials: credentials
                    )
                )
                configuration.sendsGcmThroughFcm = kinds.contains(.fcmV1)
                configuration.pushContact = kinds.contains(.browser) ? "mailto:push@example.org" : nil
            } _: { hub in
                try await TestBackend.run(hub.client, store: scratch.file("backend.sqlite"), configure: configure) {
                    try await body(EmulatedHub(hub: hub, backend: $0, emulator: emulator, folder: scratch.path))
                }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await emulator.stop()
        try result.get()
    }

    private static func properties(of kind: PlatformCredential.Kind) throws -> [PlatformCredential.Property] {
        let values: [(String, String)] =
            switch kind {
            case .apns:
                [("Token", apnsKey), ("KeyId", "ABCDEF1234"), ("AppId", "TEAM123456"), ("AppName", "com.example")]
            case .fcmV1:
                [
                    ("ProjectId", "example-project"), ("PrivateKey", try fcmKey.get()),
                    ("ClientEmail", "hub@example-project.iam.gserviceaccount.com"),
                ]
            case .wns: [("PackageSid", "ms-app://s-1-15-2-1"), ("SecretKey", "secret")]
            default:
                [
                    ("Subject", "mailto:push@example.org"),
                    ("VapidPublicKey", Base64URL.encode([UInt8](vapidKey.publicKey.x963Representation))),
                    ("VapidPrivateKey", Base64URL.encode([UInt8](vapidKey.rawRepresentation))),
                ]
            }
        return values.map { .init(name: $0.0, value: $0.1) }
    }

    /// Registers a device of a user's on a platform, and gives its handle.
    func register(_ user: String, _ platform: String) async throws -> String {
        let channel: PushChannel =
            switch platform {
            case "apns": .handle(user.utf8.map { String(format: "%02x", $0) }.joined())
            case "wns": .handle(emulator.channelURI(user))
            case "browser": .browser(emulator.makeBrowserSubscription(prefix: user + "-"))
            default: .handle("\(platform)-\(user)")
            }
        let id = try await backend.send("POST", "/api/register", as: user).body.dropFirst().dropLast()
        var handle = JSONText(channel.handle).text
        if case .browser(let browser) = channel {
            handle =
                JSONText(sorted: ["endpoint": browser.endpoint, "p256dh": browser.p256dh, "auth": browser.auth]).text
        }
        let body = #"{"Platform":"\#(platform)","Handle":\#(handle)}"#
        let reply = try await backend.send("PUT", "/api/register/\(id)", as: user, body)
        guard reply.status == 200 else { throw RegisterClient.Failed(status: reply.status, body: reply.body) }
        return channel.handle
    }

    /// What a device has shown, once all is delivered.
    func inbox(of handle: String) async -> [String] {
        await hub.settlePushes()
        return emulator.inbox(of: handle).map(\.message)
    }

    /// The newest delivery to a device, with its headers by name in lower case.
    func delivery(to handle: String) async -> EmulatedDelivery? {
        await hub.settlePushes()
        return emulator.inbox(of: handle).last
    }
}

extension EmulatedDelivery {
    /// What the device gets to read.
    var message: String {
        if case .text(let bytes)? = plaintext { return String(decoding: bytes, as: UTF8.self) }
        return String(decoding: body, as: UTF8.self)
    }

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
