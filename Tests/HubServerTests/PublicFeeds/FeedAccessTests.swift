import Foundation
import HubProtocol
import HubRouting
import NetworkAddresses
import Testing
import WebPages

@testable import HubServer

struct FeedAccessTests {
    private static let path = "/-/news/feeds/World.rss"

    private func status(_ hub: TestHub, _ path: String = path, token: String? = nil) async throws -> Int {
        let headers = token.map { ["Authorization": $0] } ?? [:]
        return try await hub.send("GET", path, as: nil, headers: headers).status
    }

    @Test(
        arguments: [
            (PageAccess.off, false, false), (PageAccess.invited, false, true), (PageAccess.public, true, true),
        ]
    )
    func `the setting decides who may read`(access: PageAccess, everybody: Bool, bearers: Bool) async throws {
        let (open, proven) = (everybody ? 200 : 404, bearers ? 200 : 404)
        try await TestHub.runWithFeeds(try Scratch(), configure: { $0.pages = access }) { hub in
            let query = hub.token(hub.listen).dropFirst("SharedAccessSignature ".count)
            let withoutToken = try await status(hub)
            let inQuery = try await status(hub, "\(Self.path)?\(query)")
            #expect(withoutToken == open && inQuery == proven)
            for rule in [hub.listen, hub.full] {
                let status = try await status(hub, token: hub.token(rule))
                #expect(status == proven)
            }
            for token in [
                hub.token(hub.listen, key: "wrong"), hub.token(hub.listen, expiresIn: -600),
                hub.token(hub.listen, resource: "http://h/other"), "Basic x", "",
            ] {
                let status = try await status(hub, token: token)
                #expect(status == open)
            }
        }
    }

    @Test func `a token with Send alone does not read`() async throws {
        try await TestHub.runWithFeeds(try Scratch(), configure: { $0.pages = .invited }) { hub in
            let rule = AccessRule(name: "S", primaryKey: "sendsend", secondaryKey: "send2", rights: .send)
            try await hub.set { $0.rules.append(rule) }
            let answered = try await status(hub, token: hub.token(rule))
            #expect(answered == 404)
        }
    }

    @Test func `what a reader may not have looks the same whatever the reason`() async throws {
        func refusal(_ hub: TestHub, _ path: String) async throws -> [String?] {
            let reply = try await hub.send("GET", path, as: nil, headers: ["TrackingId": "t"])
            let detail = reply.error.map { $0.detail.prefix(while: { $0 != "." }) }
            return ["\(reply.status)", detail.map(String.init), reply.headers["content-type"], reply.headers["etag"]]
        }
        var refusals: [[String?]] = []
        try await TestHub.runWithFeeds(try Scratch(), configure: { $0.pages = .public }) { hub in
            refusals.append(try await refusal(hub, "/-/unknown/feeds/World.rss"))
            refusals.append(try await refusal(hub, "/-/news/feeds/Unknown.rss"))
            try await hub.set { $0.isDisabled = true }
            refusals.append(try await refusal(hub, Self.path))
        }
        for access in [PageAccess.off, .invited] {
            try await TestHub.runWithFeeds(try Scratch(), configure: { $0.pages = access }) { hub in
                refusals.append(try await refusal(hub, Self.path))
            }
        }
        #expect(refusals.first?.first == "404")
        #expect(Set(refusals).count == 1, "\(refusals)")
    }

    @Test func `programs of this machine read where nothing is set`() async throws {
        func status(_ hub: TestHub, host: String, _ headers: [String: String] = [:]) async throws -> Int {
            let connection = try await Connection.open(hub.port)
            let lines = headers.map { "\($0): \($1)\r\n" }.joined()
            try await connection.send(
                "GET \(Self.path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\(lines)\r\n"
            )
            return try await connection.reply().status
        }
        try await TestHub.runWithFeeds(try Scratch()) { hub in
            for host in ["127.0.0.1", "127.0.0.1:\(hub.port)", "localhost", "LOCALHOST:80", "[::1]:8787"] {
                let answered = try await status(hub, host: host)
                #expect(answered == 200, "\(host)")
            }
            for host in ["h", "hub.example", "127.0.0.1.example", "192.0.2.1", "localhost.example:80"] {
                let answered = try await status(hub, host: host)
                #expect(answered == 404, "\(host)")
            }
            for header in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host"] {
                let answered = try await status(hub, host: "127.0.0.1", [header: "192.0.2.1"])
                #expect(answered == 404, "\(header)")
            }
        }
        try await TestHub.runWithFeeds(
            try Scratch(),
            configure: { $0.trustedProxies = ["127.0.0.1"].compactMap { AddressBlock($0) } }
        ) { hub in
            let answered = try await status(hub, host: "127.0.0.1")
            #expect(answered == 404)
        }
        try await TestHub.runWithFeeds(try Scratch(), configure: { $0.host = "0.0.0.0" }) { hub in
            let answered = try await status(hub, host: "127.0.0.1")
            #expect(answered == 404)
        }
        try await TestHub.runWithFeeds(try Scratch(), configure: { $0.pages = .invited }) { hub in
            let answered = try await status(hub, host: "127.0.0.1")
            #expect(answered == 404)
        }
    }
}
