import Crypto
import Formats
import Foundation
import HubProtocol
import Testing

@testable import PushServices

@Suite struct WebPushVapidTests {
    private let key = P256.Signing.PrivateKey()
    private let clock = WebPushClock()

    private func vapidKey() throws -> VapidKey { try #require(VapidKey(WebPushSender.privateText(key))) }

    private func claims(_ token: String) throws -> JSONNode {
        let parts = token.split(separator: ".")
        let claims = try #require(parts.dropFirst().first)
        return try JSONReader.read(try #require(Base64URL.decode(String(claims))))
    }

    @Test func `a token names the origin, the sender and an end in twelve hours`() throws {
        let tokens = VapidTokens(subject: "mailto:ops@example.org")
        let token = try tokens.token(for: "https://push.example", vapidKey(), now: clock.now)
        let parts = token.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = try #require(Base64URL.decode(parts[0]))
        #expect(String(decoding: header, as: UTF8.self) == "{\"alg\":\"ES256\",\"typ\":\"JWT\"}")
        let text = String(decoding: try #require(Base64URL.decode(parts[1])), as: UTF8.self)
        #expect(text == "{\"aud\":\"https://push.example\",\"exp\":1800043200,\"sub\":\"mailto:ops@example.org\"}")
        let bytes = try #require(Base64URL.decode(parts[2]))
        #expect(bytes.count == 64)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes)
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func `a token is used until one hour of it remains`() throws {
        let tokens = VapidTokens(subject: "mailto:ops@example.org")
        let key = try vapidKey()
        let first = try tokens.token(for: "https://a.example", key, now: clock.now)
        #expect(try tokens.token(for: "https://a.example", key, now: clock.now + .seconds(39_599)) == first)
        #expect(try tokens.token(for: "https://b.example", key, now: clock.now) != first)
        let other = try #require(VapidKey(WebPushSender.privateText(P256.Signing.PrivateKey())))
        #expect(try tokens.token(for: "https://a.example", other, now: clock.now) != first)
        let second = try tokens.token(for: "https://a.example", key, now: clock.now + .seconds(39_600))
        #expect(second != first)
        #expect(try claims(second)["exp"]?.integer == clock.now.seconds + 39_600 + 43_200)
    }

    @Test func `a clock that was set back gets a token that is not too far ahead`() throws {
        let tokens = VapidTokens(subject: "mailto:ops@example.org")
        let key = try vapidKey()
        _ = try tokens.token(for: "https://a.example", key, now: clock.now)
        let earlier = clock.now - .seconds(86_400)
        let token = try tokens.token(for: "https://a.example", key, now: earlier)
        #expect(try claims(token)["exp"]?.integer == earlier.seconds + 43_200)
    }

    @Test func `a refused token is replaced once, and not if it is new`() throws {
        let tokens = VapidTokens(subject: "mailto:ops@example.org")
        let key = try vapidKey()
        let origin = "https://a.example"
        let first = try tokens.token(for: origin, key, now: clock.now)
        #expect(try tokens.token(after: first, for: origin, key, now: clock.now + .seconds(59)) == nil)
        let second = try #require(try tokens.token(after: first, for: origin, key, now: clock.now + .seconds(60)))
        #expect(second != first)
        // Whoever was refused the first one meanwhile gets the second.
        #expect(try tokens.token(after: first, for: origin, key, now: clock.now + .seconds(61)) == second)
        #expect(try tokens.token(after: second, for: origin, key, now: clock.now + .seconds(61)) == nil)
    }

    @Test func `no more tokens are kept than the limit, and the oldest go`() throws {
        let tokens = VapidTokens(subject: "mailto:ops@example.org")
        let key = try vapidKey()
        let first = try tokens.token(for: "https://h0.example", key, now: clock.now)
        let second = try tokens.token(for: "https://h1.example", key, now: clock.now + .seconds(1))
        for index in 2...VapidTokens.maximumCount {
            _ = try tokens.token(for: "https://h\(index).example", key, now: clock.now + .seconds(2))
        }
        #expect(tokens.count == VapidTokens.maximumCount)
        #expect(try tokens.token(for: "https://h1.example", key, now: clock.now + .seconds(2)) == second)
        #expect(try tokens.token(for: "https://h0.example", key, now: clock.now + .seconds(2)) != first)
        #expect(tokens.count == VapidTokens.maximumCount)
    }

    @Test func `a key's id is the beginning of its digest`() {
        let digest = SHA256.hash(data: key.publicKey.x963Representation)
        let id = VapidKeyID.of(publicKey: Array(key.publicKey.x963Representation))
        #expect(id == Base64URL.encode(Array(digest).prefix(8).map(\.self)))
        #expect(id.count == 11)
    }

    @Test func `the named key comes first, then the current one, and three at most`() throws {
        let former = (0..<4).map { _ in P256.Signing.PrivateKey() }
        let keys = try VapidKeys(WebPushSender.credential(key, former: former))
        let ids = ([key] + former).map { WebPushSender.id($0) }
        #expect(keys.candidates(nil).map(\.id) == Array(ids[..<3]))
        #expect(keys.candidates("unknown").map(\.id) == Array(ids[..<3]))
        #expect(keys.candidates(ids[3]).map(\.id) == [ids[3], ids[0], ids[1]])
        #expect(keys.candidates(ids[1]).map(\.id) == [ids[1], ids[0], ids[2]])
    }

    @Test func `a key that is listed twice is tried once`() throws {
        let former = P256.Signing.PrivateKey()
        let keys = try VapidKeys(WebPushSender.credential(key, former: [former, key, former]))
        #expect(keys.candidates(nil).map(\.id) == [key, former].map { WebPushSender.id($0) })
    }

    @Test(arguments: [
        "mailto:ops@example.org", "https://example.org", "https://example.org/contact", "https://example.org:8443/?a=b",
        "mailto:a+b@xn--bcher-kva.example", "mailto:ops@example.org?subject=push", "mailto:ops@localhost.example",
        "mailto:ops@hub.test",
    ])
    func `a contact that services accept is accepted`(_ subject: String) throws {
        _ = try WebPushService(WebPushSender.credential(key, ["Subject": subject]), WebPushSender.surroundings(clock))
    }

    @Test(arguments: [
        "", "ops@example.org", "mailto:", "mailto:ops", "mailto:@example.org", "mailto:ops@", "mailto: ops@example.org",
        "mailto:<ops@example.org>", "<mailto:ops@example.org>", "mailto:ops@localhost", "mailto:ops@hub.local",
        "mailto:ops@a.localhost", "mailto:ops@local", "https://localhost", "https://localhost:8080/x",
        "https://hub.local/", "https://", "http://example.org", "https://example.org/a b", "https://me@example.org",
        "mailto:a@example.org,b@example.org", "mailto:ops@example.org\n", "mailto:öps@example.org", "tel:+123",
        "https://127.0.0.1/", "https://[::1]/", "mailto:ops@127.0.0.1", "MAILTO:ops@example.org",
        "mailto:a@b@c.example", "mailto:ops@hub.invalid", "mailto:ops@intranet", "https://intranet/contact",
    ])
    func `a contact that a service would refuse is refused by its name`(_ subject: String) {
        let error = #expect(throws: BadCredential.self) {
            try WebPushService(WebPushSender.credential(key, ["Subject": subject]), WebPushSender.surroundings(clock))
        }
        #expect(error?.description.hasPrefix("Subject is not ") == true)
    }

    @Test(arguments: [
        ("VapidPublicKey", ""), ("VapidPublicKey", "x"), ("VapidPublicKey", "BAAA"), ("VapidPrivateKey", ""),
        ("VapidPrivateKey", "AAAA"), ("VapidPrivateKey", String(repeating: "_", count: 43)),
        ("FormerVapidPrivateKeys", "AAAA"), ("FormerVapidPrivateKeys", "x y"), ("Declarative", "yes"),
    ])
    func `a credential that cannot be used is refused by its property's name`(_ name: String, _ value: String) {
        let error = #expect(throws: BadCredential.self) {
            try WebPushService(WebPushSender.credential(key, [name: value]), WebPushSender.surroundings(clock))
        }
        #expect(error?.description.contains(name) == true)
        if value.count > 8 { #expect(error?.description.contains(value) == false) }
    }

    @Test func `a public key of another private key is refused`() {
        let other = WebPushSender.publicText(P256.Signing.PrivateKey())
        let error = #expect(throws: BadCredential.self) {
            try WebPushService(
                WebPushSender.credential(key, ["VapidPublicKey": other]),
                WebPushSender.surroundings(clock)
            )
        }
        #expect(error?.description == "VapidPublicKey is not the public key of VapidPrivateKey")
    }

    @Test func `keys are read with padding and in the other alphabet`() throws {
        func standard(_ text: String, _ padding: String) -> String {
            text.replacing("-", with: "+").replacing("_", with: "/") + padding
        }
        _ = try WebPushService(
            WebPushSender.credential(
                key,
                [
                    "VapidPublicKey": standard(WebPushSender.publicText(key), "="),
                    "VapidPrivateKey": standard(WebPushSender.privateText(key), "="),
                ]
            ),
            WebPushSender.surroundings(clock)
        )
    }

    @Test(arguments: [("", true), ("=", true), ("==", true), ("===", false), ("a==", false), ("= ", false)])
    func `padding of more than two characters is refused`(padding: String, isRead: Bool) {
        #expect((Base64URL.decodeAny("-_8x" + padding) != nil) == isRead)
    }

    @Test func `trying the credential signs and verifies`() async throws {
        let service = try WebPushService(WebPushSender.credential(key), WebPushSender.surroundings(clock))
        #expect(await service.tryCredential() == .accepted(id: nil))
        #expect(service.credentialExpiresAt == nil)
        #expect(service.concurrency == 200)
    }
}
