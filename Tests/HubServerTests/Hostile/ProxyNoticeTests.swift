import HTTPTypes
import NetworkAddresses
import Testing

import class HubTestServer.LogLines

@testable import HubServer

struct ProxyNoticeTests {
    private func headers(_ fields: [String: String]) throws -> HTTPFields {
        try HTTPFields(fields.map { HTTPField(name: try #require(HTTPField.Name($0)), value: $1) })
    }

    @Test func `a proxy that is not trusted is logged once, and one that is not at all`() async throws {
        let log = LogLines()
        let proxies = TrustedProxies([try #require(AddressBlock("10.1.0.0/16"))])
        let notice = ProxyNotice(proxies, logger: log.logger)
        let forwarded = try #require(NetworkAddress("10.2.0.7"))
        for (peer, fields) in [
            ("10.2.0.7", [:]), ("10.1.0.7", ["X-Forwarded-For": "192.0.2.1"]),
            // Anybody can send the header.
            ("198.51.100.1", [:]), ("8.8.8.8", ["X-Forwarded-For": "192.0.2.1"]),
        ] as [(String, [String: String])] {
            notice.examine(try headers(fields), peer: NetworkAddress(peer))
        }
        #expect(log.all.isEmpty)
        for _ in 0..<3 { notice.examine(try headers(["Forwarded": "for=192.0.2.1"]), peer: forwarded) }
        #expect(log.all.count == 1 && log.all[0].contains("trusted-proxies"), "\(log.all)")
        #expect(log.all[0].hasPrefix("warning ") && log.all[0].hasSuffix("proxy.address=10.2.0.7"))
    }

    @Test func `a hub logs a local proxy that is not trusted`() async throws {
        let log = LogLines()
        try await TestHub.run(try Scratch(), logger: log.logger) { hub in
            for _ in 0..<2 {
                _ = try await hub.send("GET", "/healthz", as: nil, headers: ["X-Forwarded-For": "192.0.2.1"])
            }
            #expect(log.all.count { $0.contains("trusted-proxies") } == 1)
        }
    }
}
