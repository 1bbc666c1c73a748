import Foundation
import HubTestServer
import NetworkAddresses
import Testing

@testable import OutboundHTTP

@Suite struct TrustedAuthoritiesTests {
    @Test(
        arguments: [
            ([:], nil, nil), (["SSL_CERT_FILE": "/f"], "/f", nil), (["SSL_CERT_DIR": "/d"], nil, "/d"),
            (["SSL_CERT_FILE": "/f", "SSL_CERT_DIR": "/d"], "/f", "/d"), (["SSL_CERT_FILE": ""], nil, nil),
        ] as [([String: String], String?, String?)]
    )
    func `the usual variables replace the system's authorities`(
        variables: [String: String],
        file: String?,
        folder: String?
    ) {
        #expect(TrustedAuthorities { variables[$0] } == TrustedAuthorities(file: file, folder: folder))
    }

    @Test func `a request's own authorities count for its own origin, and a file without any is named`() async throws {
        func reply(_ head: String) -> [UInt8] { Array("HTTP/1.1 \(head)\r\nContent-Length: 0\r\n\r\n".utf8) }
        let other = try await FrameServer(protocols: ["none"], http1: reply("200 OK"))
        let server = try await FrameServer(
            protocols: ["none"],
            http1: reply("307 Temporary Redirect\r\nLocation: \(other.url)")
        )
        let folder = try ScratchFolder()
        let both = try [server, other].map { try String(contentsOfFile: $0.authorities, encoding: .utf8) }.joined()
        try both.write(toFile: folder.file("both.pem"), atomically: true, encoding: .utf8)
        let client = OutboundClient(userAgent: "newswire-test/1")
        func outcome(_ url: String, _ authorities: String?) async -> Result<Int, OutboundError> {
            var request = OutboundRequest(
                method: "POST",
                url: url,
                body: Array("{}".utf8),
                addresses: .any,
                redirectAddresses: .any
            )
            request.certificateAuthorities = authorities
            do throws(OutboundError) {
                return .success(try await client.send(request).status)
            } catch {
                return .failure(error)
            }
        }
        #expect(await outcome(other.url, folder.file("both.pem")) == .success(200))
        for (url, authorities, expected) in [
            (server.url, folder.file("both.pem"), DistrustCause.unknownAuthority), (other.url, nil, .unknownAuthority),
            (other.url, folder.file("none.pem"), .unusableAuthorities),
        ] as [(String, String?, DistrustCause)] {
            guard case .failure(.untrusted(_, _, let cause)) = await outcome(url, authorities) else {
                Issue.record("'\(url)' is trusted by \(authorities ?? "nothing")")
                continue
            }
            #expect(cause == expected)
        }
        await client.shutdown()
    }
}
