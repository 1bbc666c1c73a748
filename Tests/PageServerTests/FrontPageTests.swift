import Certificates
import Foundation
import HubProtocol
import HubTestServer
import NetworkAddresses
import OutboundHTTP
import Testing
import WebPages

@testable import HubServer
@testable import PageServer

/// The page at `/`, and the pages on the hub's own authority.
struct FrontPageTests {
    private static let browser = [("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")]

    @Test func `a browser at the server's name is led to the pages that it may read`() async throws {
        try await PagesHub.run(.public) { hub in
            let reply = try await hub.send("GET", "/", headers: Self.browser)
            #expect(reply.status == 303 && reply.headers["Location"] == "/-/news/")
        }
        try await PagesHub.run(.invited) { hub in
            let cookie = try await hub.reader(of: "World", in: "town")
            let reply = try await hub.send("GET", "/", cookie: cookie, headers: Self.browser)
            #expect(reply.status == 303 && reply.headers["Location"] == "/-/town/")
        }
    }

    @Test func `a browser without an invitation gets a page that names no hub`() async throws {
        try await PagesHub.run(.invited) { hub in
            let forged = SessionSecret.random().text
            for cookie in [nil, "__Host-newswire-news=\(forged)", "__Host-newswire-nowhere=\(forged)"] {
                let reply = try await hub.send("GET", "/", cookie: cookie, headers: Self.browser)
                #expect(reply.status == 200 && reply.headers["Content-Type"] == "text/html; charset=utf-8")
                #expect(reply.body.contains("<h1>This is a notification hub</h1>"))
                for name in ["/-/news", "town", "closed", "nowhere"] { #expect(!reply.body.contains(name)) }
            }
        }
    }

    @Test(arguments: [
        [("Accept", "application/atom+xml")], [("Accept", "*/*")], [], [("Accept", "text/html;q=0, */*")],
        [("Accept", "text/html"), ("Authorization", "SharedAccessSignature sr=x&sig=x&se=1&skn=x")],
    ])
    func `clients of the API get at the server's name what they always got`(
        headers: [(String, String)]
    ) async throws {
        try await PagesHub.run(.public) { hub in
            let reply = try await hub.send("GET", "/", headers: headers)
            #expect(reply.status == 401 && reply.body.contains("<Error>"), "\(reply.body)")
        }
    }

    @Test func `a reader finds the hub's own authority, and its fingerprint to compare`() async throws {
        let scratch = try ScratchFolder()
        let local = LocalCertificates(directory: scratch.file(""), names: [.name("localhost")])
        try await PagesHub.run(.invited, configure: { $0.certificate = .local(local) }) { hub in
            let stored = try CertificateFacts.read(LocalCertificates.authorityPath(in: local.directory))
            let page = try await hub.send("GET", "/-/news/certificate")
            let whole = page.body.replacing("</span><wbr><span>", with: "")
            #expect(page.status == 200 && whole.contains(stored.facts.fingerprint), "\(page.body)")
            let path = try #require(page.body.firstMatch(of: /href="([^"]+\.crt)"/)?.1)
            let file = try await hub.send("GET", String(path))
            #expect(file.status == 200 && file.body == stored.text)
            #expect(file.headers["Content-Type"] == "application/x-x509-ca-cert")
            // The first page that somebody without an invitation sees.
            let refused = try await hub.send("GET", "/-/news/")
            #expect(refused.status == 401 && refused.body.contains(#"href="/-/news/certificate""#))
            let unknown = try await hub.send("GET", "/-/nowhere/certificate")
            #expect(unknown.status == 404)
        }
    }

    @Test func `behind a proxy, which has another certificate, nothing is said of the hub's own`() async throws {
        let scratch = try ScratchFolder()
        let local = LocalCertificates(directory: scratch.file(""), names: [.name("localhost")])
        let proxy = try #require(AddressBlock("127.0.0.1"))
        try await PagesHub.run(.public, configure: { ($0.certificate, $0.trustedProxies) = (.local(local), [proxy]) }) {
            hub in
            let page = try await hub.send("GET", "/-/news/certificate")
            #expect(page.status == 404)
            let home = try await hub.send("GET", "/-/news/")
            #expect(home.status == 200 && !home.body.contains("/certificate"))
        }
    }
}
