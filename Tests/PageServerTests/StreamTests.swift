import HubClient
import HubProtocol
import HubRouting
import HubTestServer
import OutboundHTTP
import Testing

@testable import HubServer
@testable import PageServer

/// Streams of pages, on connections of their own and on connections that had other requests before.
struct StreamTests {
    private static let path = "/-/news/events"

    private func stream(
        _ hub: PagesHub,
        _ path: String,
        _ http: OutboundClient,
        headers: [(String, String)] = []
    ) async throws -> OutboundStream {
        try await http.stream(
            OutboundRequest(
                url: "http://\(hub.authority)\(path)",
                headers: headers.map { (name: $0.0, value: $0.1) },
                addresses: .any
            )
        )
    }

    /// Runs a client without open connections.
    private func client(_ body: (OutboundClient) async throws -> Void) async throws {
        let http = OutboundClient(userAgent: "newswire-test/1")
        let result: Result<Void, any Error>
        do { result = .success(try await body(http)) } catch { result = .failure(error) }
        await http.shutdown()
        try result.get()
    }

    private func sendNews(_ hub: PagesHub) async throws {
        let body = MessageProperties(["title": "news"]).encoded()
        _ = try await hub.client.send(body, tags: "World", idempotencyKey: nil)
    }

    @Test func `a page's script sees heartbeats, and an agent gets those without data`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            try await client { http in
                let stream = try await stream(hub, Self.path, http, headers: [("Cookie", cookie)])
                var text = ""
                // The first one ends what the page has missed.
                while !text.contains("\n\n"), let chunk = try await stream.nextChunk() {
                    text += String(decoding: chunk, as: UTF8.self).replacing("retry: 2000\n\n", with: "")
                }
                #expect(text.contains("event: heartbeat\ndata: {}\n"), "\(text)")
                stream.cancel()
            }
        }
    }

    @Test func `a page's stream gets the news`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            try await client { http in
                let stream = try await stream(hub, Self.path, http, headers: [("Cookie", cookie)])
                #expect(stream.status == 200)
                #expect(stream.headers.first("Content-Type") == "text/event-stream")
                #expect(stream.headers.first("X-Content-Type-Options") == "nosniff")
                #expect(stream.headers.first("Connection") == "close", "it has the bare connection")
                try await sendNews(hub)
                var text = ""
                while !text.contains(#""title":"news""#), let chunk = try await stream.nextChunk() {
                    text += String(decoding: chunk, as: UTF8.self)
                }
                #expect(text.contains(#""title":"news""#), "\(text)")
                stream.cancel()
            }
        }
    }

    @Test func `a page's stream gets the news on a connection that had other requests before`() async throws {
        let progress = Signal()
        try await PagesHub.run(nodes: 1) {
            $0.onProgress = { progress.notify() }
        } _: { hub in
            let cookie = try await hub.reader(of: "World")
            let hubs = hub.service.directory
            async let reply = hub.send("GET", Self.path, cookie: cookie)
            #expect(await progress.wait(atMost: .seconds(60)) { hubs.all.contains { $0.hub.status.streamCount > 0 } })
            try await sendNews(hub)
            #expect(try await hub.send("POST", "/-/news/leave", cookie: cookie).status == 303)
            let stream = try await reply
            #expect(stream.headers["Connection"] == nil && stream.headers["X-Content-Type-Options"] == "nosniff")
            #expect(stream.body.contains(#""title":"news""#), "\(stream.body)")
        }
    }

    @Test func `a stream on a new connection is refused as on any other`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            let foreign = [("Cookie", cookie), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")]
            let cases = [
                (Self.path, [], 401), (Self.path, [("Cookie", "newswire=no")], 401), (Self.path, foreign, 401),
                ("/-/closed/events", [("Cookie", cookie)], 404), ("/-/none/events", [("Cookie", cookie)], 404),
            ]
            for (path, headers, status) in cases {
                try await client { http in
                    let refused = try await stream(hub, path, http, headers: headers)
                    #expect(refused.status == status, "\(path) \(headers)")
                    #expect(refused.headers.first("Connection") == "close")
                    let text = try await refused.text(limit: 100_000)
                    #expect(status == 401 ? text.isEmpty : text.hasSuffix("</html>\n"), "\(text)")
                }
            }
        }
    }

    @Test func `a page whose address ends as a stream's does is answered on a new connection`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            let report = PublisherReport(
                schedule: .pass,
                lastPass: hub.clock.now.wholeSecond,
                exitCode: 0,
                outbox: 0,
                feeds: []
            )
            try await hub.client.report(report, publisher: "events", timeout: .seconds(60))
            try await client { http in
                let page = try await stream(
                    hub,
                    "/-/news/admin/publishers/events",
                    http,
                    headers: [("Cookie", browser.cookie)]
                )
                #expect(page.status == 200)
            }
            #expect(ReaderRoutes.hub(ofEvents: "/-/news/events") == "news")
            #expect(ReaderRoutes.hub(ofEvents: "/-/news/events/") == "news")
            for path in ["/-/events", "/-/news/admin/publishers/events", "/-/news/feeds/events", "/x/news/events", ""] {
                #expect(ReaderRoutes.hub(ofEvents: path) == nil, "\(path)")
            }
        }
    }
}
