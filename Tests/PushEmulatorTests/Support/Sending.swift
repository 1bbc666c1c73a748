import Crypto
import Formats
import Foundation
import HubProtocol

@testable import PushEmulator

/// Tokens as senders make them.
enum Tokens {
    static func signed(
        _ header: String,
        _ claims: String,
        by key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()
    ) throws -> String {
        let text = [header, claims].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        let signature = try key.signature(for: Data(text.utf8)).rawRepresentation
        return text + "." + Base64URL.encode(Array(signature))
    }

    static func provider(
        _ now: Timestamp,
        team: String = "TEAM000001",
        key: String = "KEY0000001",
        age: Int64 = 0
    ) throws -> String {
        try signed(
            "{\"alg\":\"ES256\",\"kid\":\"\(key)\"}",
            "{\"iss\":\"\(team)\",\"iat\":\(now.seconds - age)}"
        )
    }

    /// A service account's assertion; the emulator cannot know its RSA key, so its signature is none.
    static func assertion(_ claims: String, header: String = "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"k\"}")
        -> String
    {
        [header, claims].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".") + "."
            + Base64URL.encode([UInt8](repeating: 7, count: 256))
    }

    static func vapid(
        _ key: P256.Signing.PrivateKey,
        origin: String,
        expires: Int64,
        subject: String? = "mailto:ops@example.org"
    ) throws -> String {
        let contact = subject.map { ",\"sub\":\"\($0)\"" } ?? ""
        let token = try signed(
            "{\"typ\":\"JWT\",\"alg\":\"ES256\"}",
            "{\"aud\":\"\(origin)\",\"exp\":\(expires)\(contact)}",
            by: key
        )
        return "vapid t=\(token), k=\(Base64URL.encode(Array(key.publicKey.x963Representation)))"
    }
}

/// Requests that each service accepts.
extension Emulation {
    typealias Header = (name: String, value: String)

    func apnsHeaders() throws -> [Header] {
        [
            ("authorization", "bearer \(try Tokens.provider(clock.now))"), ("apns-topic", "org.example.app"),
            ("apns-push-type", "alert"), ("apns-priority", "10"),
        ]
    }

    static let alert = Array("{\"aps\":{\"alert\":\"Hello\"}}".utf8)

    func sendApns(_ token: String, _ more: [Header] = [], _ body: [UInt8] = alert) async throws -> Answer {
        try await send("POST", "/3/device/\(token)", try apnsHeaders() + more, body)
    }

    func googleToken() async throws -> String {
        let now = clock.now.seconds
        let claims = """
            {"iss":"push@example.iam.gserviceaccount.com","scope":"https://www.googleapis.com/auth/firebase.messaging",\
            "aud":"https://oauth2.googleapis.com/token","iat":\(now),"exp":\(now + 3600)}
            """
        let answer = try await sendForm(
            "/token",
            [
                ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", Tokens.assertion(claims)),
            ]
        )
        guard let token = answer.json?["access_token"]?.string else { throw Missing(text: answer.text) }
        return token
    }

    func microsoftToken() async throws -> String {
        let answer = try await sendForm(
            "/accesstoken.srf",
            [
                ("grant_type", "client_credentials"), ("client_id", "ms-app://s-1-15-2-1"), ("client_secret", "s"),
                ("scope", "notify.windows.com"),
            ]
        )
        guard let token = answer.json?["access_token"]?.string else { throw Missing(text: answer.text) }
        return token
    }

    struct Missing: Error { let text: String }

    func sendForm(_ path: String, _ fields: [(String, String)]) async throws -> Answer {
        let body = fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        return try await send("POST", path, [("content-type", "application/x-www-form-urlencoded")], Array(body.utf8))
    }

    /// Sends with an access token, which is a new one unless given.
    func sendFcm(_ body: String, token: String? = nil) async throws -> Answer {
        var bearer = token ?? ""
        if token == nil { bearer = try await googleToken() }
        return try await send(
            "POST",
            "/v1/projects/p/messages:send",
            [("authorization", "Bearer \(bearer)"), ("content-type", "application/json")],
            Array(body.utf8)
        )
    }

    func sendWns(
        _ id: String,
        _ more: [Header] = [("x-wns-type", "wns/toast"), ("content-type", "text/xml")],
        _ body: [UInt8] = Array("<toast/>".utf8)
    ) async throws -> Answer {
        let headers = [("authorization", "Bearer \(try await microsoftToken())")] + more
        return try await send("POST", emulator.channelURI(id), headers, body)
    }

    /// Sends with some headers replaced; an empty value leaves one out.
    func sendWebPush(
        _ endpoint: String,
        replacing: [Header] = [],
        _ body: [UInt8] = [],
        by key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()
    ) async throws -> Answer {
        let expires = clock.now.seconds + 43_200
        var headers: [Header] = [
            ("ttl", "60"), ("authorization", try Tokens.vapid(key, origin: emulator.origin, expires: expires)),
        ]
        if !body.isEmpty { headers.append(("content-encoding", "aes128gcm")) }
        headers.removeAll { header in replacing.contains { $0.name == header.name } }
        headers += replacing.filter { !$0.value.isEmpty }
        return try await send("POST", endpoint, headers, body)
    }
}

/// The sender's side of an encrypted message (RFC 8291 §3).
enum SenderEncryption {
    static func body(_ text: String, to channel: BrowserPushChannel) throws -> [UInt8] {
        guard let p256dh = Base64URL.decode(channel.p256dh), let secret = Base64URL.decode(channel.auth) else {
            throw Emulation.Missing(text: "keys")
        }
        let sender = P256.KeyAgreement.PrivateKey()
        let receiver = try P256.KeyAgreement.PublicKey(x963Representation: p256dh)
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let own = Array(sender.publicKey.x963Representation)
        let input = try sender.sharedSecretFromKeyAgreement(with: receiver).hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: secret,
            sharedInfo: Array("WebPush: info\0".utf8) + p256dh + own,
            outputByteCount: 32
        )
        func derive(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(inputKeyMaterial: input, salt: salt, info: Data(info.utf8), outputByteCount: count)
        }
        let nonce = derive("Content-Encoding: nonce\0", 12).withUnsafeBytes { Data($0) }
        let sealed = try AES.GCM.seal(
            Array(text.utf8) + [2, 0, 0],
            using: derive("Content-Encoding: aes128gcm\0", 16),
            nonce: try AES.GCM.Nonce(data: nonce)
        )
        return salt + [0, 0, 16, 0, 65] + own + Array(sealed.ciphertext) + Array(sealed.tag)
    }
}
