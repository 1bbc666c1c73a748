import Foundation
import HubProtocol
import HubTestServer
import PushEmulator
import PushServices
import Testing

/// WNS as the emulator speaks it.
@Suite struct WnsServiceTests {
    private func run(
        _ changes: [String: String?] = [:],
        _ body: (PushEmulator, any PushService) async throws -> Void
    ) async throws {
        try await ServicePeers.run(ServicePeers.wnsCredential(changes), body)
    }

    private func send(
        _ body: String,
        _ service: any PushService,
        to uri: String,
        _ headers: [String: String] = [:],
        acceptedAt: Timestamp = Timestamp(Date()),
        expiresAt: Timestamp? = nil
    ) async throws -> String {
        ServicePeers.summary(
            try await ServicePeers.send(
                body,
                service,
                to: uri,
                format: .windows,
                headers: ForwardedHeaders(values: headers),
                acceptedAt: acceptedAt,
                expiresAt: expiresAt
            )
        )
    }

    @Test(
        arguments: [
            ("<toast/>", [:], "wns/toast", "text/xml"),
            ("<?xml version=\"1.0\"?>\n<tile/>", [:], "wns/tile", "text/xml"),
            ("<badge value=\"7\"/>", ["x-wns-type": "wns/badge"], "wns/badge", "text/xml"),
            ("any bytes", ["x-wns-type": "wns/raw"], "wns/raw", "application/octet-stream"),
        ] as [(String, [String: String], String, String)]
    )
    func `each kind arrives`(body: String, headers: [String: String], type: String, media: String) async throws {
        try await run { emulator, service in
            #expect(service.concurrency == 32)
            let outcome = try await send(body, service, to: emulator.channelURI("tablet"), headers)
            let delivery = try #require(emulator.inbox(of: emulator.channelURI("tablet")).first)
            #expect(outcome == "accepted \(delivery.messageID)")
            #expect(delivery.body == Array(body.utf8))
            func header(_ name: String) -> String? {
                delivery.headers.first { $0.name.lowercased() == name }?.value
            }
            #expect(header("x-wns-type") == type && header("content-type") == media)
            #expect(header("x-wns-ttl") == nil)
        }
    }

    @Test(
        arguments: [
            ("dead-tablet", "dead"), ("malformed-tablet", "dead"), ("throttled-tablet", "throttled handle"),
            ("unavailable-tablet", "retry 1"), ("broken-tablet", "retry"),
            ("badcredential-tablet", "refusedCredential"),
            ("wrongtopic-tablet", "badRoute"), ("dropped-tablet", "dropped"), ("goaway-1-tablet", "accepted"),
        ]
    )
    func `each fault has its outcome`(id: String, expected: String) async throws {
        try await run { emulator, service in
            let outcome = try await send("<toast/>", service, to: emulator.channelURI(id))
            #expect(outcome == expected || expected == "accepted" && outcome.hasPrefix("accepted"))
        }
    }

    @Test func `the quota of the app pauses the credential, and a revoked token is renewed`() async throws {
        try await run { emulator, service in
            let uri = emulator.channelURI("tablet")
            _ = try await send("<toast/>", service, to: uri)
            emulator.revokeAccessTokens()
            _ = try await send("<toast/>", service, to: uri)
            #expect(emulator.inbox(of: uri).count == 2)
            emulator.setFault(PushFault(.throttled(retryAfter: .seconds(9))), for: .wns)
            #expect(try await send("<toast/>", service, to: uri) == "throttled credential 9")
        }
    }

    @Test(arguments: [
        ["TenantId": "contoso.example", "PackageSid": "0a1b"], ["TenantId": "0a-1b", "ClientId": "0c2d"],
    ])
    func `apps of both kinds get their token`(changes: [String: String]) async throws {
        try await run(changes) { emulator, service in
            #expect(await service.tryCredential() == .accepted(id: nil))
            let outcome = try await send("<toast/>", service, to: emulator.channelURI("tablet"))
            #expect(outcome.hasPrefix("accepted"))
        }
    }

    @Test func `a credential is tried by fetching a token`() async throws {
        try await run { _, service in
            #expect(await service.tryCredential() == .accepted(id: nil))
        }
        try await run(["SecretKey": "refused"]) { _, service in
            #expect(ServicePeers.summary(await service.tryCredential()) == "refusedCredential")
        }
    }

    @Test func `a channel of an emulator that ran on another port is this one's`() async throws {
        try await run { emulator, service in
            let outcome = try await send("<toast/>", service, to: "https://127.0.0.1:1/wns/tablet")
            #expect(outcome.hasPrefix("accepted"))
            #expect(emulator.inbox(of: emulator.channelURI("tablet")).count == 1)
            // The real service is not asked with the emulator's token.
            let real = try await send("<toast/>", service, to: "https://db5.notify.windows.com/?token=x")
            #expect(real == "unsendable")
        }
    }

    @Test func `a browser is not sent to`() async throws {
        let service = try PushServiceDirectory().service(for: ServicePeers.wnsCredential())
        let push = try ReadyPush(
            PushMessage(
                format: .windows,
                body: Array("<toast/>".utf8),
                acceptedAt: Timestamp(Date())
            ),
            by: service
        )
        let channel = PushChannel.browser(BrowserPushChannel(endpoint: "https://example.org/", p256dh: "", auth: ""))
        let outcome = await push.send(to: PushTarget(channel: channel, id: UUID()))
        #expect(ServicePeers.summary(outcome) == "unsendable")
    }

    @Test func `requests look as the service wants them`() async throws {
        let server = try ServicePeers.server { _ in .status(200) }
        let clock = ServicePeers.Clock()
        let service = try ServicePeers.service(ServicePeers.wnsCredential(), server, clock: clock)
        let headers = [
            "x-wns-type": "wns/toast", "x-wns-ttl": "60", "x-wns-tag": "News1", "x-wns-group": "g",
            "x-wns-cache-policy": "no-cache", "x-wns-suppresspopup": "true", "x-wns-requestforstatus": "true",
            "apns-priority": "5",
        ]
        let accepted = clock.now
        clock.now = accepted + .seconds(20)
        let uri = "https://127.0.0.1:1/wns/a?token=b%20c"
        _ = try await send("<toast/>", service, to: uri, headers, acceptedAt: accepted)
        _ = try await send(
            "<toast/>",
            service,
            to: uri,
            headers,
            acceptedAt: accepted,
            expiresAt: accepted + .seconds(30)
        )
        _ = try await send("<toast/>", service, to: uri, acceptedAt: accepted, expiresAt: accepted + .seconds(90))
        await service.shutdown()
        #expect(
            server.requests.first?.text
                == "grant_type=client_credentials&client_id=ms-app%3A%2F%2Fs-1-15-2-1-2-3&client_secret=secret%2F%2B%3D"
                + "&scope=notify.windows.com"
        )
        let sent = server.requests.filter { !ServicePeers.isForToken($0) }
        #expect(sent.map { $0.header("X-WNS-TTL") } == ["40", "10", "70"])
        let first = try #require(sent.first)
        #expect(first.method == "POST" && first.target == "/wns/a?token=b%20c" && first.text == "<toast/>")
        #expect(first.header("Authorization") == "Bearer token-1" && first.header("Content-Type") == "text/xml")
        #expect(first.header("Content-Length") == "8" && first.header("Expect") == nil)
        #expect(first.header("Transfer-Encoding") == nil && first.header("apns-priority") == nil)
        #expect(first.header("X-WNS-Tag") == "News1" && first.header("X-WNS-Group") == "g")
        #expect(first.header("X-WNS-Cache-Policy") == "no-cache" && first.header("X-WNS-SuppressPopup") == "true")
        #expect(first.header("X-WNS-RequestForStatus") == "true")
    }
}
