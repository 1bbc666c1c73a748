import Crypto
import Foundation
import HubProtocol

/// Ids of VAPID keys, by which the hub notes the key that a subscription was made with.
package enum VapidKeyID {
    /// Bytes of the digest.
    private static let length = 8

    /// Returns the id of a public key, an uncompressed P-256 point of 65 bytes.
    package static func of(publicKey: [UInt8]) -> String {
        Base64URL.encode(Array(SHA256.hash(data: publicKey).prefix(length)))
    }

    /// Reads a public key in either alphabet of base64; `nil` if it is not 65 bytes.
    package static func publicKey(_ text: String) -> [UInt8]? {
        Base64URL.decodeAny(text).flatMap { $0.count == BrowserReceiver.keyBytes ? $0 : nil }
    }
}

/// A key pair that identifies a sender to browsers.
struct VapidKey: Sendable {
    let privateKey: P256.Signing.PrivateKey
    /// The uncompressed public key in base64url: `k`, and a browser's `applicationServerKey`.
    let publicText: String
    let id: String

    /// - Returns: `nil` if the text is not a P-256 private key, 32 bytes in base64url.
    init?(_ text: String) {
        guard let bytes = Base64URL.decodeAny(text), let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else {
            return nil
        }
        privateKey = key
        publicText = Base64URL.encode(Array(key.publicKey.x963Representation))
        id = VapidKeyID.of(publicKey: Array(key.publicKey.x963Representation))
    }
}

/// The key pairs of one sender; a browser is bound to the one that it subscribed with.
struct VapidKeys: Sendable {
    /// Maximum number of keys to try for one message: each costs a request.
    private static let maximumTries = 3

    /// The current key, then older ones, newest first.
    private let all: [VapidKey]

    var current: VapidKey { all[0] }

    init(_ credential: PlatformCredential) throws(BadCredential) {
        guard let publicKey = credential["VapidPublicKey"].flatMap({ VapidKeyID.publicKey($0) }),
            (try? P256.Signing.PublicKey(x963Representation: publicKey)) != nil
        else { throw BadCredential("VapidPublicKey is not an uncompressed P-256 key in base64url") }
        guard let current = credential["VapidPrivateKey"].flatMap({ VapidKey($0) }) else {
            throw BadCredential("VapidPrivateKey is not a P-256 private key, 32 bytes in base64url")
        }
        guard current.publicText == Base64URL.encode(publicKey) else {
            throw BadCredential("VapidPublicKey is not the public key of VapidPrivateKey")
        }
        var all = [current]
        for text in (credential["FormerVapidPrivateKeys"] ?? "").split(whereSeparator: \.isWhitespace) {
            guard let key = VapidKey(String(text)) else {
                throw BadCredential("FormerVapidPrivateKeys are not P-256 private keys, 32 bytes each in base64url")
            }
            if !all.contains(where: { $0.id == key.id }) { all.append(key) }
        }
        self.all = all
    }

    /// Returns the keys to try, best first: the key with this id, or the current one if there is none, then the others.
    func candidates(_ id: String?) -> [VapidKey] {
        let named = all.filter { $0.id == id }
        return Array((named + all.filter { $0.id != id }).prefix(Self.maximumTries))
    }
}
