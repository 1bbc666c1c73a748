import Crypto
import Foundation
import HubProtocol
import HubTestServer
import OutboundHTTP
import PushServices
import Testing

/// Which requests to push services go through the environment's proxy.
///
/// The proxy is a scripted server on loopback that opens no tunnel, so that nothing leaves this machine.
@Suite struct ProxyUseTests {
    private func directory(_ proxy: ScriptedHTTPServer, browserHosts: [String] = []) -> PushServiceDirectory {
        let address = "http://127.0.0.1:\(proxy.port)"
        return PushServiceDirectory(
            browserHosts: browserHosts,
            proxies: ProxySettings { ["http_proxy", "https_proxy"].contains($0) ? address : nil }
        )
    }

    private static func apnsCredential() -> PlatformCredential {
        let properties = [
            "Token": P256.Signing.PrivateKey().pemRepresentation, "KeyId": "ABCDEF1234", "AppId": "TEAM123456",
            "AppName": "org.example.app",
        ]
        return PlatformCredential(.apns, properties.map { .init(name: $0.key, value: $0.value) })
    }

    @Test func `the services of Apple, Google and Microsoft are reached through the proxy`() async throws {
        let proxy = try ScriptedHTTPServer { _ in .status(403) }
        let credentials = [Self.apnsCredential(), try ServicePeers.credential(), ServicePeers.wnsCredential()]
        for credential in credentials {
            let service = try directory(proxy).service(for: credential)
            let outcome = await service.tryCredential()
            #expect(ServicePeers.kind(outcome) == "retry", "\(outcome)")
            await service.shutdown()
        }
        #expect(
            proxy.requests.map { "\($0.method) \($0.target)" } == [
                "CONNECT api.push.apple.com:443", "CONNECT oauth2.googleapis.com:443", "CONNECT login.live.com:443",
            ]
        )
    }

    @Test func `browsers' endpoints are reached directly, where their addresses can be checked`() async throws {
        let proxy = try ScriptedHTTPServer { _ in .status(403) }
        let service = try directory(proxy, browserHosts: ["push.invalid"])
            .service(for: WebPushSender.credential(P256.Signing.PrivateKey()))
        let push = try ReadyPush(WebPushSender.message(), by: service)
        let channel = WebPushBrowser().channel("https://push.invalid/x")
        let outcome = await push.send(to: PushTarget(channel: .browser(channel), id: UUID()))
        #expect(outcome == .retry(after: nil, "cannot reach 'push.invalid': no such host name"))
        #expect(proxy.requests.isEmpty)
        await service.shutdown()
    }
}
