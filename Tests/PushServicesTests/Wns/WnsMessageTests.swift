import Foundation
import HubProtocol
import Testing

@testable import PushServices

@Suite struct WnsMessageTests {
    private static let time = Timestamp(milliseconds: 1_790_000_000_000)

    private func prepare(
        _ body: String,
        _ headers: [String: String] = [:],
        format: MessageFormat = .windows
    ) throws -> ReadyPush {
        let service = try PushServiceDirectory().service(for: ServicePeers.wnsCredential())
        return try ReadyPush(
            PushMessage(
                format: format,
                body: Array(body.utf8),
                headers: ForwardedHeaders(values: headers),
                acceptedAt: Self.time
            ),
            by: service
        )
    }

    @Test(
        arguments: [
            ("", [:], "empty"), ("", ["x-wns-type": "wns/raw"], "empty"), ("text", [:], "X-WNS-Type is missing"),
            ("<alert/>", [:], "X-WNS-Type is missing"), ("{}", ["x-wns-type": "wns/toast"], "not XML"),
            ("<toast/>", ["x-wns-type": "wns/shout"], "X-WNS-Type is not one of"),
            ("<toast/>", ["x-wns-ttl": "1m"], "X-WNS-TTL"), ("<toast/>", ["x-wns-ttl": "-1"], "X-WNS-TTL"),
            ("<toast/>", ["x-wns-ttl": "99999999999999999999"], "X-WNS-TTL"),
            ("<toast/>", ["x-wns-ttl": "9223372036854775807"], "X-WNS-TTL"),
            ("<toast/>", ["x-wns-tag": "a-b"], "X-WNS-Tag"),
            ("<toast/>", ["x-wns-tag": "12345678901234567"], "X-WNS-Tag"),
            ("<toast/>", ["x-wns-group": "a b"], "X-WNS-Group"),
            ("<toast/>", ["x-wns-cache-policy": "always"], "X-WNS-Cache-Policy"),
            ("<toast/>", ["x-wns-suppresspopup": "1"], "X-WNS-SuppressPopup"),
            ("<toast/>", ["x-wns-requestforstatus": "1"], "X-WNS-RequestForStatus"),
            ("<toast/>", ["x-wns-match": "type:wns/toast;all"], "X-WNS-Match"),
            ("<toast/>", ["x-wns-other": "a\r\nb: c"], "ASCII"), ("<toast/>", ["x-wns-tag": "ü"], "ASCII"),
        ] as [(String, [String: String], String)]
    )
    func `a notification that WNS would refuse is refused`(
        body: String,
        headers: [String: String],
        reason: String
    ) throws {
        let error = try #require(throws: BadPushMessage.self) { try prepare(body, headers) }
        #expect(error.description.contains(reason))
        #expect(!error.isTooLarge)
    }

    @Test(
        arguments: [
            (#"<?xml version="1.0" encoding="utf-16"?><toast/>"#, "<toast/>"),
            ("\u{FEFF}<?xml version='1.0' encoding='UTF-16LE'?>\r\n<toast/>", "<toast/>"),
            (#"<?xml version="1.0" encoding="utf-8"?><toast/>"#, #"<?xml version="1.0" encoding="utf-8"?><toast/>"#),
            (#"<?xml version="1.0"?><toast/>"#, #"<?xml version="1.0"?><toast/>"#),
        ]
    )
    func `a declaration of another encoding than the body's is left out, as of .NET's documents`(
        body: String,
        sent: String
    ) throws {
        let message = PushMessage(
            format: .windows,
            body: Array(body.utf8),
            headers: ForwardedHeaders(values: [:]),
            acceptedAt: Self.time
        )
        #expect(String(decoding: try WnsMessage(message).body, as: UTF8.self) == sent)
    }

    @Test func `five thousand bytes are the most`() throws {
        let raw = ["x-wns-type": "wns/raw"]
        _ = try prepare(String(repeating: "x", count: 5_000), raw)
        let error = try #require(throws: BadPushMessage.self) {
            try prepare(String(repeating: "x", count: 5_001), raw)
        }
        #expect(error.isTooLarge)
        #expect(throws: BadPushMessage.self) { try prepare("<toast/>", format: .apple) }
    }

    @Test func `a message tells its lifetime and its collapse key`() throws {
        #expect(try prepare("<toast/>").lifetime == .unspecified)
        #expect(try prepare("<toast/>", ["x-wns-ttl": "0"]).lifetime == .once)
        #expect(try prepare("<toast/>", ["x-wns-ttl": "60"]).lifetime == .until(Self.time + .seconds(60)))
        #expect(try prepare("<toast/>", ["x-wns-ttl": ""]).lifetime == .unspecified)
        #expect(try prepare("<toast/>", ["x-wns-group": "g"]).collapseKey == nil)
        #expect(try prepare("<toast/>", ["x-wns-tag": "t"]).collapseKey == "wns/toast  t")
        #expect(try prepare("<tile/>", ["x-wns-tag": "t", "x-wns-group": "g"]).collapseKey == "wns/tile g t")
    }

    @Test(
        arguments: [
            "https://db5.notify.windows.com/?token=AwYAAACl%2b%3d", "https://notify.windows.com/w/?token=x",
            "HTTPS://WNS2-BY3P.Notify.Windows.COM/w/?token=x", "https://a.notify.windows.com:443/?token=x",
        ]
    )
    func `a channel of WNS is sent to as it is`(uri: String) {
        #expect(WnsChannelAddress(emulation: nil).address(of: uri) == uri)
    }

    @Test(
        arguments: [
            "", "notify.windows.com", "http://db5.notify.windows.com/", "https://example.org/",
            "https://notify.windows.com.example.org/", "https://evilnotify.windows.com/", "https://windows.com/",
            "https://db5.notify.windows.com:8443/", "https://db5.notify.windows.com:/", "https://notify.windows.com./",
            "https://.notify.windows.com/", "https://a..notify.windows.com/", "https://u@db5.notify.windows.com/",
            "https://u:p@db5.notify.windows.com/", "https://example.org@notify.windows.com/",
            "https://notify.windows.com@example.org/", "https://example.org#.notify.windows.com/",
            "https://example.org?.notify.windows.com/", "https://example.org\\.notify.windows.com/",
            "https://example.org/.notify.windows.com/", "https:\\\\notify.windows.com/", "https:/notify.windows.com/",
            "https:///notify.windows.com/", "//notify.windows.com/", "https://notify%2Ewindows.com/",
            "https://notify.windows.com%00.example.org/", "https://notify.windows.com\t/",
            " https://notify.windows.com/",
            "https://notify.windows.com/ x", "https://notify.windows.com/\r\nX: y", "https://notify.windows.com/#x",
            "https://ｎotify.windows.com/", "https://127.0.0.1/wns/x", "https://[::1]/", "https://10.0.0.1/",
            "file:///etc/passwd", "https://notify.windows.com/" + String(repeating: "x", count: 2_048),
        ]
    )
    func `what is not a channel of WNS is not sent to`(uri: String) {
        #expect(WnsChannelAddress(emulation: nil).address(of: uri) == nil)
    }

    @Test func `with an emulator only its channels are sent to, at its address of now`() {
        let address = WnsChannelAddress(emulation: "https://127.0.0.1:9")
        #expect(address.address(of: "https://127.0.0.1:1/wns/a%20b?c=d") == "https://127.0.0.1:9/wns/a%20b?c=d")
        for uri in [
            "https://db5.notify.windows.com/?token=x", "https://127.0.0.1", "https://u@127.0.0.1/wns/x", "wns/x",
        ] {
            #expect(address.address(of: uri) == nil)
        }
    }

    @Test(
        arguments: [
            (["PackageSid": nil], "PackageSid"), (["PackageSid": "s-1-15-2-1"], "ms-app://"),
            (["PackageSid": "ms-app://a b"], "ms-app://"), (["SecretKey": nil], "SecretKey"),
            (["SecretKey": ""], "SecretKey"), (["TenantId": "a/b", "PackageSid": "x"], "TenantId"),
            (["TenantId": "..", "PackageSid": "x"], "TenantId"), (["TenantId": "t"], "application's id"),
            (["TenantId": "t", "PackageSid": nil], "application's id"),
            (["WindowsLiveEndpoint": "https://example.org/"], "WindowsLiveEndpoint"),
        ] as [([String: String?], String)]
    )
    func `a credential that cannot be used says why`(changes: [String: String?], reason: String) throws {
        let error = try #require(throws: BadCredential.self) {
            try PushServiceDirectory().service(for: ServicePeers.wnsCredential(changes))
        }
        #expect(error.description.contains(reason))
    }

    @Test func `Azure's spelling of the token address is taken`() throws {
        let changes = ["WindowsLiveEndpoint": "https://login.live.com/accesstoken.srf"]
        _ = try PushServiceDirectory().service(for: ServicePeers.wnsCredential(changes))
    }

    @Test(arguments: [(PlatformCredential.Kind.mpns, "MPNS"), (.adm, "ADM"), (.baidu, "Baidu")])
    func `platforms that nothing is delivered to say so`(kind: PlatformCredential.Kind, name: String) async throws {
        let service = RetiredService(PlatformCredential(kind, []))
        let message = PushMessage(format: .template, body: [], acceptedAt: Self.time)
        let error = try #require(throws: BadPushMessage.self) { try ReadyPush(message, by: service) }
        #expect(error.description.contains("does not deliver to \(name)"))
        #expect(await service.tryCredential() == .badRoute(error.description))
        #expect(service.concurrency == 1)
        await service.shutdown()
    }
}
