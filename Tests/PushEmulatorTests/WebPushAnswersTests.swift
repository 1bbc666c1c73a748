import Crypto
import Formats
import HubProtocol
import OutboundHTTP
import Testing

@testable import PushEmulator

@Suite struct WebPushAnswersTests {
    @Test func anAcceptedMessageIsDecryptedForASubscriptionOfTheEmulator() async throws {
        try await Emulation.run { emulation in
            let channel = emulation.emulator.makeBrowserSubscription()
            let body = try SenderEncryption.body("Grüße", to: channel)
            let answer = try await emulation.sendWebPush(channel.endpoint, replacing: [("ttl", "9999999")], body)
            #expect(answer.status == 201)
            #expect(answer.headers["location"]?.hasPrefix(emulation.emulator.origin + "/message/") == true)
            #expect(answer.headers["ttl"] == "2419200")
            let inbox = emulation.emulator.inbox(of: channel.endpoint)
            #expect(inbox.map(\.plaintext) == [.text(Array("Grüße".utf8))])
            #expect(inbox.first?.body == body)
        }
    }

    @Test func aMessageForOtherKeysIsAcceptedAndShownAsUndecipherable() async throws {
        try await Emulation.run { emulation in
            let channel = emulation.emulator.makeBrowserSubscription()
            let other = emulation.emulator.makeBrowserSubscription()
            let body = try SenderEncryption.body("x", to: other)
            #expect(try await emulation.sendWebPush(channel.endpoint, body).status == 201)
            #expect(emulation.emulator.inbox(of: channel.endpoint).map(\.plaintext) == [.undecipherable])
            // An endpoint of a real browser's keys.
            let own = emulation.emulator.origin + "/push/mine"
            #expect(try await emulation.sendWebPush(own, body).status == 201)
            #expect(emulation.emulator.inbox(of: own).map(\.plaintext) == [nil])
        }
    }

    @Test func aPushWithoutABodyIsAccepted() async throws {
        try await Emulation.run { emulation in
            let endpoint = emulation.emulator.origin + "/push/x"
            #expect(try await emulation.sendWebPush(endpoint).status == 201)
            let coded = try await emulation.sendWebPush(endpoint, replacing: [("content-encoding", "aes128gcm")])
            #expect(coded.status == 400)
        }
    }

    @Test(arguments: [
        ("ttl", "", 400), ("ttl", "1.5", 400), ("ttl", "-1", 400), ("ttl", "99999999999999999999", 400),
        ("ttl", "0", 201),
        ("urgency", "loud", 400), ("urgency", "very-low", 201), ("topic", "not/url", 400),
        ("topic", "012345678901234567890123456789012", 400), ("topic", "0-_9", 201), ("authorization", "", 401),
        ("authorization", "Bearer x", 401), ("authorization", "vapid t=x, k=y", 401), ("authorization", "vapid", 401),
    ]) func headersAreChecked(name: String, value: String, status: Int) async throws {
        try await Emulation.run { emulation in
            let endpoint = emulation.emulator.origin + "/push/x"
            let answer = try await emulation.sendWebPush(endpoint, replacing: [(name, value)])
            #expect(answer.status == status)
            if status != 201 { #expect(answer.json?["errno"]?.integer != nil) }
        }
    }

    @Test(arguments: [
        "missing coding", "aesgcm", "short", "key id", "record size", "two records", "off the curve", "too large",
    ])
    func aBodyThatIsNotOneRecordIsRefused(fault: String) async throws {
        try await Emulation.run { emulation in
            let channel = emulation.emulator.makeBrowserSubscription()
            var body = try SenderEncryption.body("x", to: channel)
            var headers: [(name: String, value: String)] = []
            var status = 400
            switch fault {
            case "missing coding": headers = [("content-encoding", "")]
            case "aesgcm": headers = [("content-encoding", "aesgcm")]
            case "short": body = Array(body.prefix(86 + 16))
            case "key id": body[20] = 64
            case "record size": body.replaceSubrange(16..<20, with: [0, 0, 0, 17])
            case "two records": body.replaceSubrange(16..<20, with: [0, 0, 0, 18])
            case "off the curve": body[40] ^= 1
            default:
                body += [UInt8](repeating: 0, count: 4_097 - body.count)
                status = 413
            }
            let answer = try await emulation.sendWebPush(channel.endpoint, replacing: headers, body)
            #expect(answer.status == status)
            #expect(emulation.emulator.inbox(of: channel.endpoint).isEmpty)
        }
    }

    @Test(arguments: [
        ("origin", 403), ("expired", 401), ("25 hours", 401), ("no subject", 403), ("subject", 403), ("other key", 401),
        ("none", 201),
    ]) func aVapidTokenIsVerified(fault: String, status: Int) async throws {
        try await Emulation.run { emulation in
            let key = P256.Signing.PrivateKey()
            let now = emulation.clock.now.seconds
            let origin = fault == "origin" ? "https://push.example.org" : emulation.emulator.origin
            let expires = ["expired": now, "25 hours": now + 86_401][fault] ?? now + 86_400
            let subject =
                fault == "no subject" ? nil : fault == "subject" ? "ops@example.org" : "mailto:ops@example.org"
            var header = try Tokens.vapid(key, origin: origin, expires: expires, subject: subject)
            if fault == "other key" {
                let other = Base64URL.encode(Array(P256.Signing.PrivateKey().publicKey.x963Representation))
                header = header.prefix { $0 != "," } + ", k=\(other)"
            }
            let endpoint = emulation.emulator.origin + "/push/x"
            let answer = try await emulation.sendWebPush(endpoint, replacing: [("authorization", header)])
            #expect(answer.status == status)
        }
    }

    @Test func aSubscriptionIsBoundToTheKeyThatItWasMadeFor() async throws {
        try await Emulation.run { emulation async throws in
            let (own, other) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
            let channel = emulation.emulator.makeBrowserSubscription(
                prefix: "on-kitchen-",
                senderKey: Array(own.publicKey.x963Representation)
            )
            #expect(try await emulation.sendWebPush(channel.endpoint, by: own).status == 201)
            #expect(try await emulation.sendWebPush(channel.endpoint, by: other).status == 403)
            let free = emulation.emulator.makeBrowserSubscription(prefix: "on-kitchen-")
            #expect(try await emulation.sendWebPush(free.endpoint, by: other).status == 201)
        }
    }

    @Test func aSubscriptionOfBeforeARestartStaysReadableWithTheSameSeed() async throws {
        let seed = [UInt8](repeating: 9, count: 32)
        let keys = EmulatedBrowserKeys(seed: seed)
        let channel = keys.subscription("browser-1").channel(endpoint: "https://127.0.0.1:1/push/browser-1")
        let body = try SenderEncryption.body("still here", to: channel)
        try await Emulation.run(seed: seed) { emulation in
            let answer = try await emulation.sendWebPush(emulation.emulator.origin + "/push/browser-1", body)
            #expect(answer.status == 201)
            #expect(
                emulation.emulator.inbox(of: channel.endpoint).map(\.plaintext) == [.text(Array("still here".utf8))]
            )
        }
    }
}
