import Crypto
import CryptoExtras
import Formats
import Foundation
import HostSystem
import HubProtocol
import Logging
import PushEmulator
import PushServices

/// Push services on this machine that replace the real ones, for `newswire hub --emulate`.
struct EmulatedPush {
    /// Keys that are kept across restarts, because browser subscriptions are bound to them.
    private struct Keys: Codable {
        /// The seed of the emulator's browsers; 32 bytes.
        let seed: Data
        /// PEM.
        let apns: String
        let fcm: String
        let vapid: Data

        static func make() throws -> Keys {
            Keys(
                seed: SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) },
                apns: P256.Signing.PrivateKey().pemRepresentation,
                fcm: try _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation,
                vapid: P256.Signing.PrivateKey().rawRepresentation
            )
        }
    }

    private static let keysName = "emulator.keys"
    private static let authorityName = "emulator-ca.pem"

    let emulator: PushEmulator
    let services: PushServiceDirectory

    /// Starts the emulator, with keys in the state directory.
    static func start(_ state: StateDirectory, _ logger: Logger) async throws -> EmulatedPush {
        let keys = try keys(state)
        let emulator = try await PushEmulator.start(seed: [UInt8](keys.seed), logger: logger) { Timestamp(Date()) }
        let authority = state.file(authorityName)
        try PrivateFile.write(emulator.certificateAuthority, to: authority)
        let services = PushServiceDirectory(
            emulation: PushServiceDirectory.Emulation(
                origin: emulator.origin,
                certificateAuthorities: authority,
                credentials: try credentials(keys)
            )
        )
        return EmulatedPush(emulator: emulator, services: services)
    }

    private static func keys(_ state: StateDirectory) throws -> Keys {
        let path = state.file(keysName)
        do {
            return try JSONReader.decode(Keys.self, from: try PrivateFile.read(path), limits: .stored)
        } catch let error as HostError where error.isMissing {
            let keys = try Keys.make()
            try PrivateFile.write(try JSONEncoder.sorted.text(keys), to: path)
            return keys
        }
    }

    /// Credentials that work with the emulator only; every hub uses them until it gets its own.
    private static func credentials(_ keys: Keys) throws -> [PlatformCredential] {
        let vapid = try P256.Signing.PrivateKey(rawRepresentation: keys.vapid)
        return [
            credential(
                .apns,
                ["Token": keys.apns, "KeyId": "EMULATOR01", "AppId": "EMULATOR99", "AppName": "org.example.app"]
            ),
            credential(
                .fcmV1,
                [
                    "ProjectId": "emulated-project", "PrivateKey": keys.fcm,
                    "ClientEmail": "hub@emulated-project.iam.gserviceaccount.com",
                ]
            ),
            credential(.wns, ["PackageSid": "ms-app://s-1-15-2-1", "SecretKey": "emulated"]),
            credential(
                .browser,
                [
                    "Subject": "mailto:hub@example.org",
                    "VapidPublicKey": Base64URL.encode([UInt8](vapid.publicKey.x963Representation)),
                    "VapidPrivateKey": Base64URL.encode([UInt8](vapid.rawRepresentation)),
                ]
            ),
        ]
    }

    private static func credential(
        _ kind: PlatformCredential.Kind,
        _ properties: [String: String]
    ) -> PlatformCredential {
        PlatformCredential(kind, properties.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) })
    }
}
