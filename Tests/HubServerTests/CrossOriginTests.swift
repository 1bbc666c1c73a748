import Foundation
import HubProtocol
import HubRouting
import NetworkAddresses
import StreamProbe
import Testing

@testable import HubServer

/// Web apps of other origins, as browsers let them use a hub.
struct CrossOriginTests {
    private static let app = "https://app.example.org"
    private static let others = [
        "https://app.example.org:8443", "http://app.example.org", "https://example.org", "https://APP.example.org",
        "https://app.example.org, https://app.example.org", "null", "*", "",
    ]

    private static func run(
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (TestHub) async throws -> Void
    ) async throws {
        try await TestHub.run(try Scratch()) {
            $0.corsOrigins = ["https://app.example.org", "http://localhost:5173"].compactMap { WebOrigin($0) }
            configure(&$0)
        } _: { hub async throws in
            try await body(hub)
        }
    }

    private static func hasFields(_ reply: Reply) -> Bool {
        reply.headers.keys.contains { $0.hasPrefix("access-control-") }
    }

    @Test func `the routes for web apps are those of agents and browsers, with Listen`() {
        let found = RouteTable.routes.filter(\.isForWebApps)
        #expect(
            Set(found.map { "\($0.method) \($0.address)" }) == [
                "GET /:hub/installations/:id", "PUT /:hub/installations/:id", "PATCH /:hub/installations/:id",
                "DELETE /:hub/installations/:id", "GET /:hub/installations/:id/stream",
                "GET /:hub/installations/:id/pending", "GET /:hub/browser-key",
            ]
        )
        #expect(found.allSatisfy { $0.right == .listen })
    }

    @Test func `a preflight needs no key, and says what an app of a listed origin may do`() async throws {
        try await Self.run { hub in
            let ask = ["Origin": Self.app, "Access-Control-Request-Method": "PUT"]
            for (path, methods) in [
                ("installations/a", ["GET", "PUT", "PATCH", "DELETE"]), ("installations/a/stream", ["GET"]),
                ("installations/a/pending", ["GET"]), ("browser-key", ["GET"]), ("/unknown/browser-key", ["GET"]),
            ] {
                let reply = try await hub.send("OPTIONS", path, as: nil, headers: ask)
                #expect(reply.status == 204 && reply.body.isEmpty, "\(path)")
                #expect(reply.headers["access-control-allow-origin"] == Self.app)
                #expect(reply.headers["vary"] == "Origin")
                #expect(reply.headers["access-control-allow-credentials"] == nil)
                let allowed = reply.headers["access-control-allow-methods"]?.components(separatedBy: ", ") ?? []
                #expect(Set(allowed) == Set(methods + ["HEAD"]), "\(path)")
                let headers = reply.headers["access-control-allow-headers"] ?? ""
                #expect(headers.contains("Authorization") && headers.contains(HeaderName.pushChannel))
                for other in Self.others {
                    let refused = try await hub.send("OPTIONS", path, as: nil, headers: ["Origin": other])
                    #expect(!Self.hasFields(refused) && refused.headers["vary"] == "Origin", "\(other)")
                }
            }
            for path in ["messages/", "registrations/", "categories", "/news", "deliveries"] {
                let reply = try await hub.send("OPTIONS", path, as: nil, headers: ask)
                #expect(reply.status == 404 && !Self.hasFields(reply), "\(path)")
            }
        }
    }

    @Test func `answers and refusals to a listed origin can be read, those with Manage cannot`() async throws {
        try await Self.run { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let origin = ["Origin": Self.app]
            func send(_ path: String, _ rule: AccessRule?, _ headers: [String: String]) async throws -> Reply {
                try await hub.send("GET", path, as: rule, channel: agent.secret, headers: headers)
            }
            let read = try await send("installations/a", hub.listen, origin)
            #expect(read.status == 200 && read.headers["access-control-allow-origin"] == Self.app)
            #expect(read.headers["vary"] == "Origin")
            #expect(read.headers["access-control-expose-headers"]?.contains("Retry-After") == true)
            let unknown = try await send("installations/b", hub.listen, origin)
            #expect(unknown.status == 404 && unknown.headers["access-control-allow-origin"] == Self.app)
            for path in ["installations/a", "installations/a/stream", "installations/a/pending?wait=0", "browser-key"] {
                let noKey = try await send(path, nil, origin)
                #expect(noKey.status == 401 && noKey.headers["access-control-allow-origin"] == Self.app, "\(path)")
                #expect(noKey.headers["vary"] == "Origin")
                for other in Self.others {
                    let reply = try await send(path, nil, ["Origin": other])
                    #expect(!Self.hasFields(reply) && reply.headers["vary"] == "Origin", "\(path) \(other)")
                }
            }
            for path in ["installations/a", "installations/b", "browser-key"] {
                let manage = try await send(path, hub.full, origin)
                #expect(!Self.hasFields(manage) && manage.headers["vary"] == "Origin", "\(path)")
            }
            for path in ["categories", "deliveries", "registrations/1-1-1"] {
                let reply = try await send(path, hub.listen, origin)
                #expect(!Self.hasFields(reply), "\(path)")
            }
            let rotated = try await hub.send("POST", "browser-key", as: hub.listen, headers: origin)
            #expect(rotated.status == 401 || rotated.status == 403)
            #expect(!Self.hasFields(rotated), "another method of the same address")
        }
    }

    @Test(arguments: [false, true])
    func `a stream can be read by a listed origin`(isSecond: Bool) async throws {
        try await Self.run { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            for (rule, origin, isRead) in [
                (hub.listen, Self.app, true), (hub.listen, "https://example.org", false), (hub.full, Self.app, false),
                // Several fields, of which only the first is listed.
                (hub.listen, "\(Self.app)\r\nOrigin: https://example.org", false),
            ] {
                let connection = try await Connection.open(hub.port)
                var text = hub.request(
                    "GET",
                    "installations/a/stream",
                    as: rule,
                    channel: agent.secret,
                    headers: ["Origin": origin]
                )
                if isSecond { text = hub.request("GET", "/healthz", as: nil) + text }
                try await connection.send(text)
                var (bytes, head) = (connection.bytes.makeAsyncIterator(), "")
                while !head.contains("text/event-stream") || !head.contains("\r\n\r\n"), let more = await bytes.next() {
                    head += String(decoding: more, as: UTF8.self)
                }
                let own = head.lowercased().components(separatedBy: "http/1.1 ").last ?? ""
                #expect(own.hasPrefix("200 ok\r\n") && own.contains("\r\nvary: origin\r\n"), "\(head)")
                #expect(own.contains("access-control-allow-origin: \(Self.app)\r\n") == isRead, "\(head)")
                #expect(own.contains("access-control-") == isRead, "\(head)")
                try await connection.close()
            }
        }
    }

    enum Refusal: CaseIterable {
        case disabledHub, tooManyWrites, firstStream, laterStream, poll
    }

    @Test(arguments: Refusal.allCases)
    func `a listed origin can read that the hub is disabled or a quota is used up`(refusal: Refusal) async throws {
        try await Self.run {
            $0.writeLimit.perSecond = 1
            $0.streamLimit.open = 1
        } _: { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let taken = try await hub.stream(agent)
            if refusal == .disabledHub {
                let body = TestHub.entry("<Status>true</Status>")
                #expect(try await hub.manage("PUT", "/news", headers: ["If-Match": "*"], body).status == 200)
            }
            func send(_ path: String, from origin: String, after first: String = "") async throws -> Reply {
                let connection = try await Connection.open(hub.port)
                let headers = ["Origin": origin, "Connection": "close"]
                let text = hub.request("GET", path, as: hub.listen, channel: agent.secret, headers: headers)
                try await connection.send(first + text)
                return try await connection.reply(after: first.isEmpty ? 0 : 1)
            }
            func refused(from origin: String) async throws -> Reply {
                switch refusal {
                case .disabledHub: return try await send("installations/a", from: origin)
                case .tooManyWrites:
                    // The clock stands still.
                    for _ in 0...WriteLimit.burstSeconds {
                        let headers = ["Origin": origin]
                        let path = "installations/a"
                        let reply = try await hub.send("DELETE", path, as: hub.listen, headers: headers)
                        if reply.status == 429 { return reply }
                    }
                    throw TestHub.Stopped()
                case .firstStream: return try await send("installations/a/stream", from: origin)
                case .laterStream:
                    let first = hub.request("GET", "/healthz", as: nil)
                    return try await send("installations/a/stream", from: origin, after: first)
                case .poll: return try await send("installations/a/pending?wait=0", from: origin)
                }
            }
            for (origin, allowed) in [(Self.app, Self.app), ("https://example.org", nil)] {
                let reply = try await refused(from: origin)
                #expect(reply.status == (refusal == .disabledHub ? 403 : 429), "\(reply.body)")
                #expect(reply.headers["access-control-allow-origin"] == allowed)
                #expect(reply.headers["vary"] == "Origin")
                #expect(Self.hasFields(reply) == (allowed != nil))
                #expect((reply.headers["retry-after"] != nil) == (refusal != .disabledHub))
                let exposed = reply.headers["access-control-expose-headers"] ?? ""
                #expect(exposed.contains("Retry-After") == (allowed != nil))
            }
            withExtendedLifetime(taken) {}
        }
    }

    @Test func `without listed origins nothing is answered to them`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let origin = ["Origin": Self.app]
            let preflight = try await hub.send("OPTIONS", "browser-key", as: nil, headers: origin)
            #expect(preflight.status == 404 && !Self.hasFields(preflight))
            let reply = try await hub.send("GET", "installations/a", as: hub.listen, headers: origin)
            #expect(!Self.hasFields(reply) && reply.headers["vary"] == nil)
        }
    }

    @Test func `an origin is written as browsers write it`() {
        for text in ["https://app.example.org", "http://localhost:5173", "https://[::1]:8443", "https://10.0.0.1"] {
            #expect(WebOrigin(text)?.description == text)
        }
        for text in [
            "*", "https://*", "https://*.example.org", "null", "app.example.org", "https://app.example.org/",
            "https://App.example.org", "https://app.example.org:443", "http://a:80", "https://a:0", "https://",
            "ftp://a", "https://a b", "https://a\r\nb", "https://a:0443", "http://a:00080", "https://a:08443",
        ] {
            #expect(WebOrigin(text) == nil, "\(text)")
        }
    }
}
