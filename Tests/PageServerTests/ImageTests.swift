import Foundation
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing
import WebPages

@testable import PageServer

/// Pictures of news, which the hub fetches.
struct ImageTests {
    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + "IHDR".utf8
        + [0, 0, 0, 2, 0, 0, 0, 2, 8, 6, 0, 0, 0, 0, 0, 0, 0]

    private static func run(_ access: PageAccess = .public, _ body: (PagesHub) async throws -> Void) async throws {
        var appearance = PageAppearance()
        appearance.showsImages = true
        try await PagesHub.run(access, appearances: [try HubName("news"): appearance], images: true, nodes: 1) {
            hub in
            try await hub.client.setCategories(["World"], publisher: "desk")
            try await body(hub)
        }
    }

    private static func send(_ hub: PagesHub, _ values: [String: String]) async throws {
        var properties = ["title": "Title", "category": "World"]
        properties.merge(values) { $1 }
        let body = try JSONEncoder().encode(properties)
        _ = try await hub.client.send(Array(body), tags: "World", idempotencyKey: nil)
    }

    /// The addresses of pictures on the page.
    private static func images(_ page: Reply) -> [String] {
        page.body.matches(of: /<img src="(\/-\/news\/images\/[^"]*)"/).map { String($0.1) }
    }

    @Test func `a picture is fetched once, and its publisher sees no reader`() async throws {
        let server = try ScriptedHTTPServer { _ in
            .status(200, headers: [("Content-Type", "text/html")], body: Self.png)
        }
        try await Self.run { hub in
            try await Self.send(hub, ["image": server.url("/a.png?x=1")])
            let page = try await hub.send("GET", "/-/news/")
            let address = try #require(Self.images(page).first)
            #expect(!page.body.contains(server.baseURL) && server.requests.isEmpty)
            for _ in 0..<3 {
                let reply = try await hub.send("GET", address)
                #expect(reply.status == 200 && reply.body == String(decoding: Self.png, as: UTF8.self))
                #expect(reply.headers["Content-Type"] == "image/png")
                #expect(reply.headers["X-Content-Type-Options"] == "nosniff")
                #expect(reply.headers["Content-Security-Policy"] == "default-src 'none'; sandbox")
            }
            #expect(server.requests.count == 1)
            // An address names a message that exists, and nothing else.
            for path in ["/-/news/images/0", "/-/news/images/x", "/-/news/images/\(Int64.max)", "/-/town/images/1"] {
                #expect(try await hub.send("GET", path).status == 404, "\(path)")
            }
        }
    }

    @Test func `a file of another kind is not shown, and not asked for again`() async throws {
        let large = Self.png.prefix(16) + [0, 0, 0x20, 0, 0, 0, 0x20, 0] + Self.png.dropFirst(24)
        let replies: [ScriptedReply] = [
            .status(200, body: "<svg xmlns='http://www.w3.org/2000/svg'/>"), .status(404, body: Self.png),
            .status(200, body: Self.png + [UInt8](repeating: 0, count: NewsImages.maximumBytes)),
            .status(200, body: Array(large)), .hangUp,
        ]
        for reply in replies {
            let server = try ScriptedHTTPServer { _ in reply }
            try await Self.run { hub in
                try await Self.send(hub, ["image": server.url("/a")])
                let address = try #require(Self.images(try await hub.send("GET", "/-/news/")).first)
                for _ in 0..<2 { #expect(try await hub.send("GET", address).status == 404) }
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test func `a withdrawn story, a hub without pictures and somebody without access have none`() async throws {
        let server = try ScriptedHTTPServer { _ in .status(200, body: Self.png) }
        try await Self.run { hub in
            try await Self.send(hub, ["image": server.url("/a"), "story": "s"])
            let address = try #require(Self.images(try await hub.send("GET", "/-/news/")).first)
            #expect(try await hub.send("GET", address).status == 200)
            try await Self.send(hub, ["story": "s", "status": "withdrawn", "image": server.url("/a")])
            #expect(Self.images(try await hub.send("GET", "/-/news/")).isEmpty)
            #expect(try await hub.send("GET", address).status == 404)
        }
        try await Self.run(.invited) { hub in
            try await Self.send(hub, ["image": server.url("/a")])
            let cookie = try await hub.reader(of: "World")
            let address = try #require(Self.images(try await hub.send("GET", "/-/news/", cookie: cookie)).first)
            #expect(try await hub.send("GET", address).status == 401)
            #expect(try await hub.send("GET", address, cookie: cookie).status == 200)
        }
        try await PagesHub.run(.public) { hub in
            try await hub.client.setCategories(["World"], publisher: "desk")
            try await Self.send(hub, ["image": server.url("/a")])
            let page = try await hub.send("GET", "/-/news/")
            #expect(page.body.contains("Title") && !page.body.contains("<img"))
        }
    }
}
