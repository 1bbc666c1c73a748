import Crypto
import Foundation
import Testing
import WebEdge

@testable import FeedPublisher

@Suite struct WebSubSubscriptionTests {
    private let now = Date(timeIntervalSince1970: 1_780_000_000)

    private func subscription(_ change: (inout WebSubSubscription) -> Void = { _ in }) -> WebSubSubscription {
        var subscription = WebSubSubscription(
            id: 1,
            feed: 1,
            hub: "https://hub.example/",
            topic: "https://news.example/a+b?c=d&e",
            callback: "https://us.example/websub/x",
            secret: "s",
            created: now,
            due: now
        )
        change(&subscription)
        return subscription
    }

    private func question(_ mode: String, topic: String? = nil, lease: String? = nil) -> FormFields {
        var pairs = [(name: "hub.mode", value: mode)]
        pairs.append((name: "hub.topic", value: topic ?? subscription().topic))
        if let lease { pairs.append((name: "hub.lease_seconds", value: lease)) }
        return FormFields(FormFields(pairs).text)
    }

    @Test func `a question is confirmed only when it was asked for, in mode and topic`() {
        var unasked = subscription()
        var isConfirmed = unasked.confirms(question("subscribe"), now: now, random: 0)
        #expect(!isConfirmed)
        var asked = subscription { $0.ask(now: now, random: 0) }
        isConfirmed = asked.confirms(question("subscribe", topic: "https://news.example/b"), now: now, random: 0)
        #expect(!isConfirmed)
        isConfirmed = asked.confirms(question("unsubscribe"), now: now, random: 0)
        #expect(!isConfirmed)
        isConfirmed = asked.confirms(question("publish"), now: now, random: 0)
        #expect(!isConfirmed)
        #expect(asked.state == .pending)
        isConfirmed = asked.confirms(question("subscribe", lease: "1000"), now: now, random: 0)
        #expect(isConfirmed)
        #expect(asked.state == .active && asked.failures == 0)
        #expect(asked.leaseEnd == now + 1_000)
        isConfirmed = asked.confirms(question("subscribe", lease: "2000"), now: now, random: 0)
        #expect(isConfirmed, "a hub may ask again")
        #expect(asked.leaseEnd == now + 2_000)
    }

    @Test func `a hub that does not escape a plus in the topic is understood`() {
        var asked = subscription { $0.ask(now: now, random: 0) }
        let query = "hub.mode=subscribe&hub.topic=https://news.example/a+b?c=d%26e&hub.challenge=x"
        let isConfirmed = asked.confirms(FormFields(query), now: now, random: 0)
        #expect(isConfirmed)
    }

    @Test(
        arguments: [
            ("100000", 100_000.0, 50_000.0...90_000.0), ("864000000", 30 * 86_400, 15 * 86_400...27 * 86_400),
            ("10", 10, 300...300), ("-5", 0, 300...300), ("soon", 86_400, 43_200...77_760),
        ] as [(String, Double, ClosedRange<Double>)]
    )
    func `a lease is renewed between half and nine tenths of it, within bounds`(
        granted: String,
        lease: Double,
        renewal: ClosedRange<Double>
    ) throws {
        for random in [UInt64.min, .max / 2, .max] {
            var asked = subscription { $0.ask(now: now, random: 0) }
            let isConfirmed = asked.confirms(question("subscribe", lease: granted), now: now, random: random)
            #expect(isConfirmed)
            #expect(try #require(asked.leaseEnd).timeIntervalSince(now) == lease)
            #expect(renewal.contains(asked.due.timeIntervalSince(now)))
        }
    }

    @Test func `a hub that does not confirm is asked ever more rarely`() {
        var asked = subscription()
        var pauses: [Double] = []
        for _ in 1...12 {
            asked.ask(now: now, random: .max / 2)
            pauses.append((asked.due.timeIntervalSince(now) / 60).rounded())
        }
        #expect(Array(pauses.prefix(4)) == [5, 10, 20, 40])
        #expect(pauses.last == 1_440)
    }

    @Test func `a hub can be relied on from its first delivery until it misses something or the lease ends`() {
        var known = subscription { $0.ask(now: now, random: 0) }
        _ = known.confirms(question("subscribe", lease: "1000"), now: now, random: 0)
        #expect(!known.isReliable(at: now))
        known.delivered(now: now)
        #expect(known.isReliable(at: now + 999))
        #expect(!known.isReliable(at: now + 1_000))
        known.missedSince = now
        #expect(!known.isReliable(at: now))
        known.delivered(now: now)
        #expect(known.isReliable(at: now))
        known.lapse(now: now + 1_000)
        #expect(known.state == .pending && known.reason != nil)
    }

    @Test func `a denial waits a day, and an end is asked for three times at most`() {
        var denied = subscription { $0.ask(now: now, random: 0) }
        denied.deny(nil, now: now)
        #expect(denied.state == .denied && denied.due == now + 86_400 && denied.reason != nil)
        #expect(!denied.takesDeliveries)
        var active = subscription { $0.ask(now: now, random: 0) }
        _ = active.confirms(question("subscribe"), now: now, random: 0)
        active.leave(now: now)
        var isConfirmed = active.confirms(question("unsubscribe"), now: now, random: 0)
        #expect(!isConfirmed, "not asked for yet")
        for _ in 1...3 {
            #expect(!active.hasEnded(at: active.due))
            active.ask(now: active.due, random: 0)
        }
        #expect(active.hasEnded(at: active.due))
        isConfirmed = active.confirms(question("unsubscribe"), now: now, random: 0)
        #expect(isConfirmed)
    }

    @Test func `a request names the wanted mode and the secret`() {
        let form = subscription().request
        #expect(
            form.text
                == "hub.mode=subscribe&hub.topic=https%3A%2F%2Fnews.example%2Fa%2Bb%3Fc%3Dd%26e"
                + "&hub.callback=https%3A%2F%2Fus.example%2Fwebsub%2Fx&hub.lease_seconds=864000&hub.secret=s"
        )
        #expect(FormFields(form.text) == form)
    }

    @Test func `a signature that OpenSSL made is valid`() {
        // printf 'body' | openssl dgst -sha256 -hmac secret
        let signature = "sha256=dc46983557fea127b43af721467eb9b3fde2338fe3e14f51952aa8478c13d355"
        #expect(WebSubSignature.isValid(signature, of: Array("body".utf8), secret: "secret"))
    }

    @Test(arguments: [
        "sha1=bf6a9c3ab87d8a37a3c9f5d4b1f0d9e1b4c6a1f1", "sha256", "sha256=", "sha256=zz", "sha256=abc", "md5=00", nil,
    ])
    func `a malformed signature, or that of another secret, is refused`(value: String?) {
        #expect(!WebSubSignature.isValid(value, of: Array("body".utf8), secret: "secret"))
    }

    @Test func `the four methods are taken, in any case of letters`() {
        let body = Array("body".utf8)
        let key = SymmetricKey(data: Array("secret".utf8))
        func hex(_ code: some Sequence<UInt8>) -> String { code.map { String(format: "%02x", $0) }.joined() }
        let signatures = [
            "sha1=" + hex(HMAC<Insecure.SHA1>.authenticationCode(for: body, using: key)),
            "sha256=" + hex(HMAC<SHA256>.authenticationCode(for: body, using: key)),
            "SHA384=" + hex(HMAC<SHA384>.authenticationCode(for: body, using: key)).uppercased(),
            "sha512=" + hex(HMAC<SHA512>.authenticationCode(for: body, using: key)),
        ]
        for signature in signatures {
            #expect(WebSubSignature.isValid(signature, of: body, secret: "secret"), "\(signature)")
            #expect(!WebSubSignature.isValid(signature, of: body + [0], secret: "secret"))
            #expect(!WebSubSignature.isValid(String(signature.dropLast(2)), of: body, secret: "secret"))
        }
    }
}
