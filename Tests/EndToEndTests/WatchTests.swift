import Foundation
import Glibc
import HubTestServer
import OutboundHTTP
import Synchronization
import Testing

/// The publisher that stays, as it was built.
@Suite struct WatchTests {
    private static func rss(_ titles: [String], head: String = "") -> String {
        let items = titles.map { "<item><guid isPermaLink='false'>\($0)</guid><title>\($0)</title></item>" }
        return "<rss version='2.0'><channel><title>t</title>\(head)\(items.joined())</channel></rss>"
    }

    /// A notification hub that keeps the titles it is sent, for whoever waits for them.
    private final class Inbox: Sendable {
        let server: ScriptedHTTPServer
        private let titles = Counter<String>()

        init() throws {
            let titles = titles
            server = try ScriptedHTTPServer { request in
                guard request.path == "/news/messages/" else { return .status(200) }
                let message = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: String]
                titles.append(message?["title"] ?? "")
                return .status(201, headers: [("Location", "http://127.0.0.1/news/messages/m1?api-version=1")])
            }
        }

        func titles(atLeast count: Int) async -> [String] { await titles.elements(atLeast: count) }
    }

    private func environment(_ scratch: ScratchFolder, _ inbox: Inbox) -> [String: String] {
        [
            "XDG_STATE_HOME": scratch.file("state"), "XDG_CONFIG_HOME": scratch.path,
            "NEWSWIRE_CONNECTION_STRING":
                "Endpoint=\(inbox.server.baseURL)/;SharedAccessKeyName=x;SharedAccessKey=\(String(repeating: "A", count: 43))=",
            "WATCHDOG_USEC": "20000",
        ]
    }

    private func list(_ url: String, _ scratch: ScratchFolder) throws {
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        try scratch.write(
            "category: World\nfeeds:\n  - {url: \"\(url)\", local: true, every: 1s, by-agreement: true}\n",
            to: "feeds/world.yaml"
        )
    }

    @Test(.timeLimit(.minutes(5)))
    func `it announces what comes, follows its lists, and ends when asked to`() async throws {
        let scratch = try ScratchFolder()
        let inbox = try Inbox()
        let documents = Mutex<[String: [String]]>(["/a": ["old"], "/b": ["older"]])
        let asked = ["/a": Counter<Void>(), "/b": Counter<Void>()]
        let site = try ScriptedHTTPServer { request in
            asked[request.path]?.append(())
            let titles = documents.withLock { $0[request.path] }
            return titles.map { .status(200, body: Self.rss($0)) } ?? .status(404)
        }
        try list(site.url("/a"), scratch)
        let program = try await RunningProgram(
            ["publish", "--watch", "--feeds", scratch.file("feeds")],
            environment: environment(scratch, inbox),
            folder: scratch.path
        )
        try #require(program.isRunning, "\(program.errors)")
        for _ in 1...3 { await program.waitForNotice("WATCHDOG=1") }
        // Asked twice, the first answer is read.
        _ = await asked["/a"]?.elements(atLeast: 2)
        documents.withLock { $0["/a"] = ["new", "old"] }
        #expect(await inbox.titles(atLeast: 1) == ["new"])

        // A pass beside it is no trouble.
        let pass = try await BuiltProgram.run(
            ["publish", "--feeds", scratch.file("feeds")],
            environment: environment(scratch, inbox)
        )
        #expect(pass.status == 0 && pass.errors.isEmpty, "\(pass.errors)")

        try scratch.write("category: World\nfeeds: nonsense\n", to: "feeds/world.yaml")
        program.signal(SIGHUP)
        documents.withLock { $0["/a"] = ["newer", "new", "old"] }
        #expect(await inbox.titles(atLeast: 2) == ["new", "newer"], "the former lists stay in use")
        try list(site.url("/b"), scratch)
        program.signal(SIGHUP)
        _ = await asked["/b"]?.elements(atLeast: 2)
        documents.withLock { $0["/b"] = ["newest", "older"] }
        #expect(await inbox.titles(atLeast: 3).last == "newest")
        #expect(program.isRunning)
        #expect(await program.stop() == 0)
        #expect(program.errors.contains("feeds/world.yaml"), "\(program.errors)")
        #expect(program.errors.components(separatedBy: "stay in use").count == 2, "\(program.errors)")
        #expect(!program.errors.contains("watchdog"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `connections that say nothing keep no hub away`() async throws {
        let scratch = try ScratchFolder()
        let inbox = try Inbox()
        let site = try ScriptedHTTPServer { _ in .status(200, body: Self.rss(["old"])) }
        try list(site.url("/a"), scratch)
        let port = try freePort()
        let program = try await RunningProgram(
            [
                "publish", "--watch", "--feeds", scratch.file("feeds"), "--callback", "http://127.0.0.1:\(port)/websub",
                "--listen", "127.0.0.1:\(port)",
            ],
            environment: environment(scratch, inbox),
            folder: scratch.path
        )
        try #require(program.isRunning, "\(program.errors)")
        // Some say nothing, some send half a head, some a body that never ends.
        let beginnings = [
            "", "POST /websub/0123 HT", "POST /websub/0123 HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx",
        ]
        var silent: [Int32] = []
        defer { for descriptor in silent { close(descriptor) } }
        for index in 0..<300 {
            let descriptor = try connectedSocket(port)
            silent.append(descriptor)
            let beginning = Array(beginnings[index % 3].utf8)
            _ = beginning.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        }
        let client = OutboundClient(userAgent: "hub")
        let url = "http://127.0.0.1:\(port)/websub/0123"
        let start = ContinuousClock.now
        for _ in 1...3 {
            let answer = try await client.send(OutboundRequest(method: "GET", url: url, addresses: .any))
            #expect(answer.status == 404)
        }
        // Sooner than any of them is closed for its silence.
        #expect(start.duration(to: .now) < .seconds(14))
        await client.shutdown()
        #expect(await program.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `a hub's ring brings a story at once, over the callback that the hub was given`() async throws {
        let scratch = try ScratchFolder()
        let inbox = try Inbox()
        let port = try freePort()
        let titles = Mutex(["old"])
        let asked = Counter<String>()
        // Feed and hub have public names; the proxy of the environment answers for them.
        let proxy = try ScriptedHTTPServer { request in
            if request.target == "http://push.example/hub" {
                asked.append(request.text)
                return .status(202)
            }
            let links = "<http://push.example/hub>; rel=hub, <http://feeds.example/topic>; rel=self"
            return .status(200, headers: [("Link", links)], body: Self.rss(titles.withLock { $0 }))
        }
        try FileManager.default.createDirectory(atPath: scratch.file("feeds"), withIntermediateDirectories: true)
        try scratch.write("category: World\nfeeds:\n  - url: http://feeds.example/w.rss\n", to: "feeds/world.yaml")
        var variables = environment(scratch, inbox)
        variables["http_proxy"] = proxy.baseURL
        let arguments = [
            "publish", "--watch", "--feeds", scratch.file("feeds"), "--callback", "http://127.0.0.1:\(port)/websub",
            "--listen", "127.0.0.1:\(port)", "--metrics-file", scratch.file("publisher.prom"),
        ]
        let program = try await RunningProgram(arguments, environment: variables, folder: scratch.path)
        try #require(program.isRunning, "\(program.errors)")
        let form = try #require(await asked.elements(atLeast: 1).first)
        let callback = try #require(form.firstMatch(of: /hub\.callback=([^&]*)/)?.output.1.removingPercentEncoding)
        #expect(callback.hasPrefix("http://127.0.0.1:\(port)/websub/"))
        #expect(!form.contains("hub.secret"), "there is no TLS")

        let client = OutboundClient(userAgent: "hub")
        func send(_ method: String, _ url: String, _ body: [UInt8]? = nil) async throws -> OutboundResponse {
            try await client.send(OutboundRequest(method: method, url: url, body: body, addresses: .any))
        }
        let question =
            "hub.mode=subscribe&hub.topic=http%3A%2F%2Ffeeds.example%2Ftopic&hub.challenge=abc%2B&hub.lease_seconds=90000"
        #expect(try await send("GET", "http://127.0.0.1:\(port)/websub/0123?\(question)").status == 404)
        #expect(try await send("GET", "http://127.0.0.1:\(port)/").status == 404)
        #expect(try await send("DELETE", callback).status == 404)
        let confirmed = try await send("GET", "\(callback)?\(question)")
        #expect(confirmed.status == 200 && confirmed.body == Array("abc+".utf8))
        #expect(confirmed.headers["X-Content-Type-Options"] == "nosniff")

        let list = try await BuiltProgram.run(
            ["feeds", "list", "--feeds", scratch.file("feeds")],
            environment: variables
        )
        #expect(list.output.contains("pushed by push.example, lease until"), "\(list.output)")
        titles.withLock { $0 = ["new", "old"] }
        #expect(try await send("POST", "http://127.0.0.1:\(port)/websub/0123", []).status == 404)
        let huge = [UInt8](repeating: 0x20, count: 17 << 20)
        #expect(try await send("POST", callback, huge).status == 413)
        #expect(try await send("POST", callback, Array(Self.rss(["forged"]).utf8)).status == 202)
        #expect(await inbox.titles(atLeast: 1) == ["new"])
        #expect(await program.stop() == 0)
        #expect(FileManager.default.fileExists(atPath: scratch.file("publisher.prom")))

        // The path outlives the process.
        let again = try await RunningProgram(arguments, environment: variables, folder: scratch.path)
        #expect(try await send("GET", "\(callback)?\(question)").status == 200)
        #expect(await again.stop() == 0)
        await client.shutdown()
    }

    @Test(
        arguments: [
            (["--watch", "--dry-run"], 64, "--watch cannot be combined"),
            (["--callback", "https://a.example/"], 64, "need --watch"),
            (["--watch", "--callback", "http://a.example/"], 64, "must be an address such as"),
            (["--watch", "--listen", "8789"], 64, "must be an address of this machine"),
        ] as [([String], Int32, String)]
    )
    func `flags that make no sense are refused`(flags: [String], status: Int32, text: String) async throws {
        let scratch = try ScratchFolder()
        let outcome = try await BuiltProgram.run(["publish"] + flags, environment: ["XDG_STATE_HOME": scratch.path])
        #expect(outcome.status == status && outcome.errors.contains(text), "\(outcome.errors)")
    }
}
