import HubProtocol
import NetworkAddresses
import OutboundHTTP
import Testing

@testable import PushServices

@Suite struct WebPushEndpointTests {
    private func refusal(_ endpoint: String, _ surroundings: ServiceSurroundings) -> PushOutcome? {
        do throws(PushEndpointRules.Refusal) {
            _ = try PushEndpointRules(surroundings).destination(endpoint)
            return nil
        } catch {
            return error.outcome
        }
    }

    private func allows(_ policy: AddressPolicy, _ address: String) throws -> Bool {
        policy.allows(try #require(NetworkAddress(address)))
    }

    @Test(arguments: [
        ("https://fcm.googleapis.com/fcm/send/abc:def", "https://fcm.googleapis.com"),
        ("https://jmt17.google.com/fcm/send/abc", "https://jmt17.google.com"),
        ("https://updates.push.services.mozilla.com/wpush/v2/gA", "https://updates.push.services.mozilla.com"),
        ("https://eu.push.services.mozilla.com/x", "https://eu.push.services.mozilla.com"),
        ("https://wns2-par02p.notify.windows.com/w/?token=BQ%3d%3d", "https://wns2-par02p.notify.windows.com"),
        ("https://web.push.apple.com/QA", "https://web.push.apple.com"),
        ("https://api-m.push.apple.com/x", "https://api-m.push.apple.com"),
        ("HTTPS://FCM.GoogleAPIs.com:443/fcm/send/abc", "https://fcm.googleapis.com"),
        ("https://fcm.googleapis.com?x=y", "https://fcm.googleapis.com"),
        ("https://fcm.googleapis.com", "https://fcm.googleapis.com"),
    ])
    func `an endpoint of a known service is asked at public addresses`(_ text: String, _ origin: String) throws {
        let destination = try PushEndpointRules(WebPushSender.surroundings()).destination(text)
        #expect(destination.endpoint.origin == origin)
        #expect(destination.endpoint.url.hasPrefix(origin + "/"))
        #expect(destination.isApple == origin.hasSuffix(".push.apple.com"))
        #expect(try !allows(destination.addresses, "10.0.0.1"))
        #expect(try allows(destination.addresses, "8.8.8.8"))
    }

    /// Each is refused with the known hosts, and in open mode as well.
    static let bad =
        [
            "", " ", "https://", "https:///x", "https:fcm.googleapis.com/x", "https:/fcm.googleapis.com/x",
            "//fcm.googleapis.com/x", "fcm.googleapis.com/x", "http://fcm.googleapis.com/x",
            "ftp://fcm.googleapis.com/x",
            "file:///etc/passwd", "javascript:alert(1)", "wss://fcm.googleapis.com/x", "https//fcm.googleapis.com/x",
            "https://user@fcm.googleapis.com/x", "https://user:pass@fcm.googleapis.com/x",
            "https://@fcm.googleapis.com/x",
            "https://fcm.googleapis.com@evil.example/x", "https://evil.example\\@fcm.googleapis.com/x",
            "https://fcm.googleapis.com/x#y", "https://fcm.googleapis.com#", "https://evil.example#.push.apple.com/",
            "https://fcm.googleapis.com\\.evil.example/x", "https:\\\\fcm.googleapis.com\\x",
            "https://fcm.googleapis.com:80/x", "https://fcm.googleapis.com:8443/x", "https://fcm.googleapis.com:22/",
            "https://fcm.googleapis.com:0/x", "https://fcm.googleapis.com:/x", "https://fcm.googleapis.com:65536/x",
            "https://fcm.googleapis.com:0443/x", "https://fcm.googleapis.com:-443/x",
            "https://fcm.googleapis.com:443x/",
            "https://fcm.googleapis.com:443:443/x", "https://fcm.googleapis.com:٤٤٣/x",
            " https://fcm.googleapis.com/x", "https://fcm.googleapis.com/x ", "https://fcm.googleapis.com/a b",
            "https://fcm.googleapis.com/x\r\nHost: evil.example", "https://fcm.googleapis.com/\t",
            "https://fcm.googleapis.com/\u{0}", "https://fcm.googleapis.com/\u{7F}", "https://fcm.googleapis.com/ü",
            "https://fcm.googleapis.com./x", "https://.fcm.googleapis.com/x", "https://fcm..googleapis.com/x",
            "https://fcm.googleapis.com%2eevil.example/x", "https://fcm%2egoogleapis.com/x",
            "https://fcm。googleapis.com/x",
            "https://ｆcm.googleapis.com/x", "https://fcm.goo\u{00AD}gleapis.com/x", "https://bücher.push.apple.com/x",
            "https://*.push.apple.com/x", "https://-a.push.apple.com/x", "https://a_.push.apple.com,b/x",
            "https://127.0.0.1/x", "https://127.1/x", "https://2130706433/x", "https://0x7f.1/x",
            "https://0x7f000001/x",
            "https://0177.0.0.1/x", "https://a.0x/x", "https://a.0x7F/x", "https://10.0.0.1/x", "https://8.8.8.8/x",
            "https://169.254.169.254/latest/meta-data/", "https://[::1]/x", "https://[::ffff:127.0.0.1]/x",
            "https://[2606:4700::1111]/x", "https://[fe80::1%25lo]/x", "https://[::1/x", "https://::1/x",
            "https://[fcm.googleapis.com]/x", "https://1.2.3/x", "https://localhost/x", "https://metadata/x",
            "https://fcm.googleapis.com/" + String(repeating: "x", count: 2_048),
        ]

    /// Each is refused with the known hosts only.
    static let unknown = [
        "https://evil.example/x", "https://fcm.googleapis.com.evil.example/x", "https://evilfcm.googleapis.com/x",
        "https://x.fcm.googleapis.com/x", "https://googleapis.com/x", "https://evilpush.apple.com/x",
        "https://push.apple.com/x", "https://apple.com/x", "https://notify.windows.com/x",
        "https://evil-notify.windows.com/x", "https://push.services.mozilla.com/x", "https://ntfy.sh/x",
        "https://xn--fcm-googleapis.example/x", "https://fcm.googleapis.com-evil.example/x",
        "https://evil.example/?x.push.apple.com",
        "https://evil.example/.push.apple.com", "https://metadata.google.internal/x", "https://printer.local/x",
    ]

    @Test func `more than sixty spellings are tried`() { #expect(Self.bad.count + Self.unknown.count >= 90) }

    @Test(arguments: bad)
    func `an address that is not an endpoint is never contacted`(_ text: String) {
        for hosts in [[], ["push.home.example"]] {
            let outcome = refusal(text, WebPushSender.surroundings(hosts: hosts))
            #expect(outcome?.kind == "unsendable", "\(hosts)")
            #expect(outcome?.words.contains { $0.isNewline } == false)
        }
    }

    @Test(arguments: unknown)
    func `an unknown host is refused by its name and the setting's`(_ text: String) throws {
        let outcome = try #require(refusal(text, WebPushSender.surroundings()))
        let host = text.dropFirst(8).prefix { $0 != "/" }
        #expect(outcome.kind == "unsendable")
        #expect(outcome.words.contains("'\(host)'") && outcome.words.contains("'push-hosts'"))
        // Named, it is asked at public addresses.
        let named = WebPushSender.surroundings(hosts: [host.prefix { $0 != ":" }.lowercased()])
        let destination = try PushEndpointRules(named).destination(text)
        #expect(try !allows(destination.addresses, "10.0.0.1"))
    }

    @Test(arguments: [
        "https://permanently-removed.invalid/fcm/send/abc", "https://PERMANENTLY-removed.invalid",
        "https://permanently-removed.invalid:8443/",
    ])
    func `a subscription that the browser has removed is dead`(_ text: String) {
        for hosts in [[], ["push.home.example"]] {
            #expect(refusal(text, WebPushSender.surroundings(hosts: hosts))?.kind == "dead")
        }
        #expect(refusal(text, WebPushSender.surroundings(emulated: "https://127.0.0.1:1"))?.kind == "dead")
    }

    @Test func `a host of the operator's own may be at other ports and at the addresses named for it`() throws {
        let addresses = [try #require(AddressBlock("10.1.0.0/16"))]
        let own = WebPushSender.surroundings(hosts: ["push.home.example", "push"], addresses: addresses)
        for text in ["https://push.home.example:8443/up?x", "https://Push.Home.Example/up", "https://push/x"] {
            let destination = try PushEndpointRules(own).destination(text)
            #expect(try allows(destination.addresses, "10.1.2.3") && allows(destination.addresses, "8.8.8.8"))
            #expect(try !allows(destination.addresses, "10.2.0.1") && !allows(destination.addresses, "127.0.0.1"))
        }
        #expect(try PushEndpointRules(own).destination("https://push:8443/x").endpoint.origin == "https://push:8443")
        for text in [
            "https://sub.push.home.example/", "https://home.example/", "https://push.home.example.evil.example/",
        ] {
            #expect(refusal(text, own)?.kind == "unsendable")
        }
        // Of no other host, known or not.
        let known = try PushEndpointRules(own).destination("https://fcm.googleapis.com/x")
        #expect(try !allows(known.addresses, "10.1.2.3"))
        let publicOnly = WebPushSender.surroundings(hosts: ["push.home.example"])
        #expect(
            try !allows(PushEndpointRules(publicOnly).destination("https://push.home.example/x").addresses, "10.1.2.3")
        )
    }

    @Test func `with emulated services only the emulator is asked, at its present port`() throws {
        let rules = PushEndpointRules(
            WebPushSender.surroundings(emulated: "https://127.0.0.1:4433", hosts: ["fcm.googleapis.com"])
        )
        for text in ["https://127.0.0.1:1/push/a?b", "https://127.0.0.1/push/a?b", "https://localhost:9/push/a?b"] {
            #expect(try rules.destination(text).endpoint.url == "https://127.0.0.1:4433/push/a?b")
        }
        let plain = PushEndpointRules(WebPushSender.surroundings(emulated: "http://127.0.0.1:80"))
        #expect(try plain.destination("https://127.0.0.1:1/push/a").endpoint.url == "http://127.0.0.1/push/a")
        for text in [
            "https://fcm.googleapis.com/x", "https://evil.example/x", "https://127.0.0.2/x", "https://[::1]/x",
        ] {
            #expect(throws: PushEndpointRules.Refusal.self) { try rules.destination(text) }
        }
    }

    @Test(arguments: [
        ("https://a.example/", "https://a.example"), ("https://a.example:443/x", "https://a.example"),
        ("https://a.example:8443/x", "https://a.example:8443"), ("https://A.Example", "https://a.example"),
    ])
    func `an origin has the port only if it is not the usual one`(_ text: String, _ origin: String) throws {
        #expect(try PushEndpoint(text).origin == origin)
    }
}
