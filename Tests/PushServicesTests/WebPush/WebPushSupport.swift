import Crypto
import Foundation
import HubProtocol
import HubTestServer
import NetworkAddresses
import Synchronization

@testable import PushServices

/// A clock that stands still until it is set.
final class WebPushClock: Sendable {
    private let time: Mutex<Timestamp>

    /// 2027-01-15 08:00:00 GMT, unless given.
    init(_ time: Timestamp = 1_800_000_000_000) { self.time = Mutex(time) }

    var now: Timestamp {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
}

/// The sender's side of a test.
enum WebPushSender {
    static func credential(
        _ key: P256.Signing.PrivateKey,
        former: [P256.Signing.PrivateKey] = [],
        _ more: [String: String] = [:]
    ) -> PlatformCredential {
        var properties = [
            "Subject": "mailto:ops@example.org", "VapidPublicKey": publicText(key), "VapidPrivateKey": privateText(key),
        ]
        if !former.isEmpty {
            properties["FormerVapidPrivateKeys"] = former.map { privateText($0) }.joined(separator: " ")
        }
        properties.merge(more) { $1 }
        return PlatformCredential(
            .browser,
            properties.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
        )
    }

    static func surroundings(
        emulated origin: String? = nil,
        certificateAuthorities: String = "/nonexistent.pem",
        hosts: [String] = [],
        addresses: [AddressBlock] = [],
        _ clock: WebPushClock = WebPushClock()
    ) -> ServiceSurroundings {
        ServiceSurroundings(
            emulation: origin.map {
                PushServiceDirectory.Emulation(
                    origin: $0,
                    certificateAuthorities: certificateAuthorities,
                    credentials: []
                )
            },
            browserHosts: hosts,
            browserAddresses: addresses,
            userAgent: "test/1",
            now: { clock.now }
        )
    }

    static func publicText(_ key: P256.Signing.PrivateKey) -> String {
        Base64URL.encode(Array(key.publicKey.x963Representation))
    }

    static func privateText(_ key: P256.Signing.PrivateKey) -> String { Base64URL.encode(Array(key.rawRepresentation)) }

    static func id(_ key: P256.Signing.PrivateKey) -> String {
        VapidKeyID.of(publicKey: Array(key.publicKey.x963Representation))
    }

    static func message(
        _ text: String = "{\"title\":\"News\"}",
        _ headers: [String: String] = [:],
        at time: Timestamp = WebPushClock().now
    ) -> PushMessage {
        PushMessage(
            format: .browser,
            body: Array(text.utf8),
            headers: ForwardedHeaders(values: headers),
            acceptedAt: time
        )
    }
}

/// A browser that reads what it is sent.
struct WebPushBrowser: Sendable {
    let privateKey: P256.KeyAgreement.PrivateKey
    let secret: [UInt8]

    init(
        _ privateKey: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        secret: [UInt8] = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    ) {
        self.privateKey = privateKey
        self.secret = secret
    }

    func channel(_ endpoint: String = "https://127.0.0.1:1/push/x") -> BrowserPushChannel {
        BrowserPushChannel(
            endpoint: endpoint,
            p256dh: Base64URL.encode(Array(privateKey.publicKey.x963Representation)),
            auth: Base64URL.encode(secret)
        )
    }

    /// Decrypts a body, by steps other than those that made it.
    func read(_ body: [UInt8]) throws -> [UInt8] {
        try WebPushDecoder.decode(body) { keyID in
            let sender = try P256.KeyAgreement.PublicKey(x963Representation: keyID)
            return try privateKey.sharedSecretFromKeyAgreement(with: sender).hkdfDerivedSymmetricKey(
                using: SHA256.self,
                salt: secret,
                sharedInfo: Array("WebPush: info\0".utf8) + Array(privateKey.publicKey.x963Representation) + keyID,
                outputByteCount: 32
            )
        }
    }
}

/// Content in `aes128gcm`, of any number of records (RFC 8188 §2).
enum WebPushDecoder {
    struct Malformed: Error {
        let reason: String
    }

    /// `input` gives the input keying material for the key id of the header.
    static func decode(_ body: [UInt8], input: ([UInt8]) throws -> SymmetricKey) throws -> [UInt8] {
        guard body.count >= 21, body.count > 21 + Int(body[20]) else { throw Malformed(reason: "header") }
        let salt = Array(body[..<16])
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        guard recordSize >= 18 else { throw Malformed(reason: "record size") }
        let input = try input(Array(body[21..<21 + Int(body[20])]))
        let key = derive(input, salt, "Content-Encoding: aes128gcm\0", 16)
        let base = derive(input, salt, "Content-Encoding: nonce\0", 12).withUnsafeBytes { Array($0) }
        var rest = body[(21 + Int(body[20]))...]
        var text: [UInt8] = []
        var sequence: UInt64 = 0
        while !rest.isEmpty {
            let record = rest.prefix(recordSize)
            rest = rest.dropFirst(recordSize)
            let number = [0, 0, 0, 0] + withUnsafeBytes(of: sequence.bigEndian) { Array($0) }
            let box = try AES.GCM.SealedBox(
                nonce: try AES.GCM.Nonce(data: zip(base, number).map { $0 ^ $1 }),
                ciphertext: record.dropLast(16),
                tag: record.suffix(16)
            )
            let padded = Array(try AES.GCM.open(box, using: key))
            guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == (rest.isEmpty ? 2 : 1) else {
                throw Malformed(reason: "delimiter of record \(sequence)")
            }
            text += padded[..<end]
            sequence += 1
        }
        return text
    }

    private static func derive(_ input: SymmetricKey, _ salt: [UInt8], _ info: String, _ count: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: input, salt: salt, info: Data(info.utf8), outputByteCount: count)
    }
}

/// A push service over plain HTTP that answers as it is told, in the place of the emulator.
struct WebPushPeer: Sendable {
    let server: ScriptedHTTPServer
    let clock = WebPushClock()
    let browser = WebPushBrowser()
    let service: WebPushService

    init(
        _ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(),
        former: [P256.Signing.PrivateKey] = [],
        _ answer: @escaping @Sendable (RecordedRequest) -> ScriptedReply
    ) throws {
        server = try ScriptedHTTPServer(answer)
        service = try WebPushService(
            WebPushSender.credential(key, former: former),
            WebPushSender.surroundings(emulated: server.baseURL, clock)
        )
    }

    static let targetID = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255))

    func target(
        _ endpoint: String = "https://127.0.0.1:1/push/secret-path?a=b",
        expiresAt: Timestamp? = nil,
        key: P256.Signing.PrivateKey? = nil
    ) -> PushTarget {
        var channel = browser.channel(endpoint)
        channel.senderKeyID = key.map { WebPushSender.id($0) }
        return PushTarget(channel: .browser(channel), id: Self.targetID, expiresAt: expiresAt)
    }

    func send(_ message: PushMessage = WebPushSender.message(), to target: PushTarget? = nil) async throws
        -> PushOutcome
    {
        try await ReadyPush(message, by: service).send(to: target ?? self.target())
    }
}

extension RecordedRequest {
    /// The parts of `Authorization: vapid t=…, k=…`.
    var vapid: (token: String, key: String) {
        let parts = (header("Authorization") ?? "").dropFirst("vapid t=".count).split(separator: ", k=")
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : ("", "")
    }
}

extension PushOutcome {
    /// An outcome without its words.
    var kind: String {
        switch self {
        case .accepted(let id): "accepted \(id ?? "-")"
        case .dropped: "dropped"
        case .deadHandle(let dead): dead.isCertain ? "dead" : "perhaps dead"
        case .replacedHandle: "replaced"
        case .badMessage: "bad message"
        case .tooLarge: "too large"
        case .badRoute: "bad route"
        case .unsendable: "unsendable"
        case .retry(let wait, _): "retry \(wait.map { "\($0.components.seconds)" } ?? "-")"
        case .throttled(let scope, let wait, _): "throttled \(scope) \(wait.map { "\($0.components.seconds)" } ?? "-")"
        case .refusedSender: "refused sender"
        case .refusedCredential: "refused credential"
        }
    }

    var words: String {
        switch self {
        case .accepted, .replacedHandle: ""
        case .dropped(let words), .badMessage(let words), .tooLarge(let words), .badRoute(let words),
            .unsendable(let words),
            .retry(_, let words),
            .throttled(_, _, let words), .refusedSender(let words), .refusedCredential(let words):
            words
        case .deadHandle(let dead): dead.reason
        }
    }
}
