import Crypto
import Formats
import Foundation
import HubProtocol

/// The browser's side of a subscription.
struct BrowserSubscription: Sendable {
    let privateKey: P256.KeyAgreement.PrivateKey
    /// The shared secret, 16 bytes.
    let secret: [UInt8]

    func channel(endpoint: String) -> BrowserPushChannel {
        BrowserPushChannel(
            endpoint: endpoint,
            p256dh: Base64URL.encode(Array(privateKey.publicKey.x963Representation)),
            auth: Base64URL.encode(secret)
        )
    }
}

/// Key pairs of emulated browsers, derived from the ids of their endpoints.
///
/// Nothing is stored: with the same seed, subscriptions survive a restart.
struct EmulatedBrowserKeys: Sendable {
    private static let marker = "browser-"
    private static let keyMarker = "-k"
    /// Bytes of a sender's key digest in an id.
    private static let digestBytes = 8

    private let seed: SymmetricKey

    /// - Parameter seed: Random bytes; `nil` for new ones.
    init(seed: [UInt8]? = nil) {
        self.seed = seed.map { SymmetricKey(data: $0) } ?? SymmetricKey(size: .bits256)
    }

    /// Returns an id for a new subscription, with a prefix for a fault's marker.
    ///
    /// Only the VAPID key `senderKey`, 65 bytes, may send to it; `nil` allows every key.
    static func makeID(prefix: String, senderKey: [UInt8]?) -> String {
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        return prefix + marker + random + (senderKey.map { keyMarker + digest($0) } ?? "")
    }

    /// True if an id has the form of one that the emulator made.
    static func isOwn(_ id: String) -> Bool { id.contains(marker) }

    /// True if the sender with this key may send to an endpoint.
    static func isBound(_ id: String, to senderKey: [UInt8]) -> Bool {
        guard let start = id.range(of: marker, options: .backwards),
            let mark = id[start.upperBound...].range(of: keyMarker)
        else { return true }
        return id[mark.upperBound...] == digest(senderKey)
    }

    func subscription(_ id: String) -> BrowserSubscription {
        var counter = 0
        while true {
            let bytes = derive("key \(counter) \(id)", bytes: 32)
            // One in 2^32 is not a valid key.
            if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes) {
                return BrowserSubscription(privateKey: key, secret: Array(derive("auth \(id)", bytes: 16)))
            }
            counter += 1
        }
    }

    private func derive(_ info: String, bytes: Int) -> Data {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: seed, info: Data(info.utf8), outputByteCount: bytes)
            .withUnsafeBytes { Data($0) }
    }

    private static func digest(_ key: [UInt8]) -> String {
        Hexadecimal.encode(SHA256.hash(data: key).prefix(digestBytes))
    }
}
