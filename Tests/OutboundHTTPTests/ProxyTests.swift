import HubTestServer
import Testing

@testable import OutboundHTTP

@Suite struct ProxySettingsTests {
    private func proxy(_ url: String, _ variables: [String: String]) throws -> String? {
        ProxySettings { variables[$0] }.proxy(for: try WebAddress(parsing: url))
    }

    @Test(
        arguments: [
            ("http://a.example/", ["http_proxy": "http://p:1"], "http://p:1"),
            ("https://a.example/", ["http_proxy": "http://p:1"], nil),
            ("https://a.example/", ["https_proxy": "http://p:2", "HTTPS_PROXY": "http://p:3"], "http://p:2"),
            ("https://a.example/", ["HTTPS_PROXY": "http://p:3"], "http://p:3"),
            ("http://a.example/", ["HTTP_PROXY": "http://p:4"], nil),
            ("http://a.example/", ["all_proxy": "socks5h://p:5"], "socks5h://p:5"),
            ("https://a.example/", ["ALL_PROXY": "http://p:6", "https_proxy": ""], "http://p:6"),
            ("http://127.0.0.1:80/", ["http_proxy": "http://p:1"], nil),
            ("http://localhost/", ["http_proxy": "http://p:1"], nil),
            ("http://[::1]/", ["http_proxy": "http://p:1"], nil),
            ("http://a.example/", [:], nil),
        ] as [(String, [String: String], String?)]
    )
    func `the variables name the proxy of a scheme`(
        _ url: String,
        _ variables: [String: String],
        _ expected: String?
    ) throws {
        #expect(try proxy(url, variables) == expected)
    }

    @Test(arguments: [
        ("http://a.example/", "a.example", true), ("http://b.a.example/", "a.example", true),
        ("http://b.a.example/", ".a.example", true), ("http://b.a.example/", "*.A.example", true),
        ("http://ba.example/", "a.example", false), ("http://a.example./", "a.example", true),
        ("http://a.example/", "*", true), ("http://a.example/", "x.example, a.example", true),
        ("http://10.1.2.3/", "10.0.0.0/8", true), ("http://11.1.2.3/", "10.0.0.0/8", false),
        ("http://10.1.2.3/", "10.1.2.3", true), ("http://[fd00::1]/", "fd00::/8", true),
        ("http://[fd00::1]/", "[fd00::1]", true), ("http://[fe00::1]/", "fd00::/8", false),
        ("http://1.2.3.4/", "10.0.0.0/99", false),
        ("http://bücher.example/", "Bücher.example", true), ("http://a.example/", ".", false),
        ("http://a.example/", "", false),
    ])
    func `no_proxy names what is reached directly`(_ url: String, _ exceptions: String, _ isDirect: Bool) throws {
        let proxy = try proxy(url, ["http_proxy": "http://p:1", "no_proxy": exceptions])
        #expect((proxy == nil) == isDirect)
    }
}

/// The proxy is a scripted server on loopback; the hosts behind it do not exist.
@Suite struct ProxyTests {
    private func client(_ proxy: String) -> OutboundClient {
        OutboundClient(
            userAgent: "newswire-test/1",
            proxies: ProxySettings { ["http_proxy", "https_proxy"].contains($0) ? proxy : nil }
        )
    }

    private func error(_ client: OutboundClient, _ url: String) async -> OutboundError? {
        do throws(OutboundError) {
            _ = try await client.send(OutboundRequest(url: url))
            return nil
        } catch {
            return error
        }
    }

    @Test func `an untrusted host is asked for through the proxy, which may be private, redirects included`()
        async throws
    {
        let proxy = try ScriptedHTTPServer { request in
            switch request.target {
            case "http://feeds.example/old": .redirect(301, to: "http://other.example/new")
            case "http://other.example/new": .status(200, body: "news")
            default: .status(404)
            }
        }
        let client = client("http://user:secret@127.0.0.1:\(proxy.port)")
        let reply = try await client.send(OutboundRequest(url: "http://feeds.example/old"))
        #expect(String(decoding: reply.body, as: UTF8.self) == "news")
        #expect(reply.movedPermanentlyTo == "http://other.example/new")
        #expect(proxy.requests.map { $0.header("Host") } == ["feeds.example", "other.example"])
        #expect(proxy.requests.allSatisfy { $0.header("Proxy-Authorization")?.hasPrefix("Basic ") == true })
    }

    @Test(arguments: [
        "http://10.0.0.1/", "http://169.254.169.254/", "http://[::ffff:127.0.0.2]/", "http://intranet/",
        "http://printer.local/", "http://metadata.google.internal/", "http://0x0a000001/",
        "http://169.254。169.254/", "http://１６９.254.169.254/", "http://169.254%E3%80%82169.254/",
        "http://metadata。google。internal/", "http://ⓛocalhost/",
    ])
    func `what is private by its name is not asked of the proxy`(_ url: String) async throws {
        let proxy = try ScriptedHTTPServer { _ in .status(200, body: "secret") }
        guard case .refusedAddress = await error(client("http://127.0.0.1:\(proxy.port)"), url) else {
            Issue.record("not refused")
            return
        }
        #expect(proxy.requests.isEmpty)
    }

    @Test func `an international host is asked for by its name in ASCII`() async throws {
        let proxy = try ScriptedHTTPServer { request in
            request.target.hasSuffix("/old") ? .redirect(301, to: "http://zürich.example/ü") : .status(200)
        }
        let client = client("http://127.0.0.1:\(proxy.port)")
        let reply = try await client.send(OutboundRequest(url: "http://bücher.example/old"))
        #expect(reply.status == 200 && reply.movedPermanentlyTo?.lowercased() == "http://xn--zrich-kva.example/%c3%bc")
        #expect(
            proxy.requests.map { $0.target.lowercased() } == [
                "http://xn--bcher-kva.example/old", "http://xn--zrich-kva.example/%c3%bc",
            ]
        )
    }

    @Test(arguments: ["http://192.168.1.1/admin", "http://１９２.168。1.1/admin"])
    func `a redirect behind the proxy to a private address is refused`(target: String) async throws {
        let proxy = try ScriptedHTTPServer { _ in .redirect(302, to: target) }
        guard case .refusedAddress = await error(client("http://127.0.0.1:\(proxy.port)"), "http://feeds.example/")
        else {
            Issue.record("not refused")
            return
        }
        #expect(proxy.requests.count == 1)
    }

    @Test func `https goes through a tunnel, and a proxy that opens none is named without its password`() async throws {
        let proxy = try ScriptedHTTPServer { _ in .status(403) }
        let address = "http://user:secret@127.0.0.1:\(proxy.port)"
        guard case .unreachable(_, let reason)? = await error(client(address), "https://feeds.example/") else {
            Issue.record("not unreachable")
            return
        }
        #expect(proxy.requests.map { "\($0.method) \($0.target)" } == ["CONNECT feeds.example:443"])
        #expect(reason.contains("403") && reason.contains("127.0.0.1:\(proxy.port)"), "\(reason)")
        #expect(!reason.contains("secret"))
    }

    @Test func `a proxy that is away is named`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let port = server.port
        server.close()
        guard
            case .unreachable(let host, let reason)? = await error(
                client("http://127.0.0.1:\(port)"),
                "http://a.example/"
            )
        else {
            Issue.record("not unreachable")
            return
        }
        #expect(host == "a.example" && reason.contains("through the proxy"), "\(reason)")
    }

    @Test func `this machine is reached without the proxy`() async throws {
        let proxy = try ScriptedHTTPServer { _ in .status(500) }
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let request = OutboundRequest(url: server.url("/"), addresses: .any)
        #expect(try await client("http://127.0.0.1:\(proxy.port)").send(request).status == 200)
        #expect(proxy.requests.isEmpty)
    }
}
