import Foundation
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

/// JSON with so many levels that Foundation's decoder ends the process (Swift 6.3.1), at each place where the built program reads JSON from outside.
@Suite(.timeLimit(.minutes(15))) struct HostileJSONTests {
    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static let texts = [
        repeated("[", 513), repeated("{\"a\":", 512) + "[", repeated("[", 513) + "\r",
        "{\"more\":\(repeated("[", 64))\(repeated("]", 64))}",
    ]

    // MARK: - A hub

    @Test func `a hub with app backend and pages answers 400 to each body, and still serves`() async throws {
        try await BackendStage.run(users: ["bob"], isMounted: true, hubOptions: ["--pages", "public"]) { stage in
            let (calls, cookie) = (stage.calls, try await reader(stage))
            let basic = "Basic \(Data("bob:\(BackendStage.password)".utf8).base64EncodedString())"
            for text in Self.texts {
                func check(_ answer: BackendCalls.Answer, _ what: String) throws {
                    // The body of a silence has 1 KiB at most.
                    let isRefused = answer.status == 400 || answer.status == 413 && text.utf8.count > 1_024
                    #expect(isRefused, "\(what): \(answer.status) \(answer.text)")
                    try #require(stage.hub?.isRunning == true, "\(what) ended the hub: \(stage.logs.suffix(500))")
                }
                try check(try await calls.send("POST", "/api/login", as: nil, text), "login without a key")
                try check(try await calls.send("POST", "/api/login", as: basic, text), "login")
                for (method, path) in [
                    ("PUT", "/api/register/1-2-3"), ("PUT", "/api/installations/x"), ("POST", "/api/notifications"),
                ] {
                    try check(try await calls.send(method, path, as: basic, text), path)
                }
                for (method, path) in [
                    ("POST", "recipients"), ("PUT", "categories/desk"), ("PUT", "publishers/desk"),
                    ("PUT", "alarms/x/silence"), ("PUT", "installations/x"), ("PATCH", "installations/x"),
                    ("POST", "messages"),
                ] {
                    let format = [(HeaderName.format, "template")]
                    try check(try await calls.sendToHub(method, "/news/\(path)", headers: format, text), path)
                }
                let push = try await send("PUT", "/-/news/push", stage, cookie: cookie, text)
                #expect(push.status == 400, "\(push.status)")
                try #require(stage.hub?.isRunning == true, "a page's session ended the hub")
            }
            #expect(try await calls.send("POST", "/api/login", as: basic).status == 200)
        }
    }

    private func send(
        _ method: String,
        _ path: String,
        _ stage: BackendStage,
        cookie: String? = nil,
        _ body: String
    ) async throws -> OutboundResponse {
        try await stage.calls.http.send(
            OutboundRequest(
                method: method,
                url: stage.calls.hubOrigin + path,
                headers: [("Sec-Fetch-Site", "same-origin")] + (cookie.map { [("Cookie", $0)] } ?? []),
                body: Array(body.utf8),
                maximumRedirects: 0,
                addresses: .any
            )
        )
    }

    /// A browser's cookie, which anybody gets where pages are public.
    private func reader(_ stage: BackendStage) async throws -> String {
        let chosen = try await send("POST", "/-/news/categories", stage, "category=World")
        return String(try #require(chosen.headers["Set-Cookie"], "\(chosen.status)").prefix { $0 != ";" })
    }

    // MARK: - Clients

    private static let commands = [
        ["hub", "overview"], ["hub", "alarms", "list"], ["hub", "credentials", "list"], ["hub", "categories"],
        ["messages", "list"], ["messages", "show", "5f0c9a3be1d24c6f8a7b90c1d2e3f405"],
        ["messages", "failures", "5f0c9a3be1d24c6f8a7b90c1d2e3f405"], ["messages", "inbox", "AA"], ["publishers"],
        ["categories"], ["send", "--category", "all", "--message", "x"],
    ]

    @Test(arguments: commands)
    func `a command whose server answers so ends with an error`(command: [String]) async throws {
        let scratch = try ScratchFolder()
        for text in Self.texts {
            let server = try ScriptedHTTPServer { _ in
                .status(200, headers: [("Content-Type", "application/json")], body: text)
            }
            let outcome = try await BuiltProgram.run(command, environment: environment(server, scratch))
            #expect(outcome.status == 1 || outcome.status == 69 || outcome.status == 78, "\(command): \(outcome)")
            #expect(outcome.errors.contains("error: "), "\(command): \(outcome)")
            try #require(!server.requests.isEmpty, "\(command) asked for nothing: \(outcome)")
        }
    }

    private func environment(_ server: ScriptedHTTPServer, _ scratch: ScratchFolder) -> [String: String] {
        let key = Self.repeated("A", 43)
        return [
            "XDG_STATE_HOME": scratch.file("state"),
            "NEWSWIRE_CONNECTION_STRING":
                "Endpoint=\(server.baseURL)/;SharedAccessKeyName=x;SharedAccessKey=\(key)=",
        ]
    }

    @Test(arguments: [200, 400, 502])
    func `logging in at a server that answers so is an error`(status: Int) async throws {
        let scratch = try ScratchFolder()
        try scratch.write("correct horse\n", to: "password")
        for text in Self.texts {
            let server = try ScriptedHTTPServer { _ in .status(status, body: text) }
            let outcome = try await BuiltProgram.run(
                ["login", "--user", "bob", "--backend", server.baseURL, "--password-file", scratch.file("password")],
                environment: ["XDG_STATE_HOME": scratch.file("state")]
            )
            #expect(outcome.status > 0 && outcome.errors.contains("error: "), "\(outcome)")
            #expect(!server.requests.isEmpty)
        }
    }

    @Test func `an agent whose hub reports a gap so goes on`() async throws {
        let scratch = try ScratchFolder()
        let stream = ScriptedStream()
        let server = try ScriptedHTTPServer { request in
            switch (request.method, request.path.split(separator: "/").last) {
            case ("PUT", _): return .status(200)
            case ("GET", "stream"): return .stream(headers: [("Content-Type", "text/event-stream")], stream)
            case ("GET", "categories"): return .status(200, body: #"{"categories":["World"]}"#)
            default: return .status(404)
            }
        }
        let agent = try await RunningProgram(
            ["subscribe", "--categories", "World"],
            environment: environment(server, scratch),
            folder: scratch.path
        )
        await stream.connected()
        for (number, text) in Self.texts.enumerated() {
            stream.send("id: e-\(number + 1)\nevent: gap\ndata: \(text.replacing("\r", with: "\t"))\n\n")
        }
        stream.send(#"id: e-9\#ndata: {"id":"m1","template":"newswire","body":{"title":"t","message":"after"}}\#n\#n"#)
        var inbox = ""
        for _ in 0..<200 where !inbox.contains("after") {
            inbox = try await BuiltProgram.run(["inbox"], environment: environment(server, scratch)).output
        }
        #expect(inbox.contains("after") && agent.isRunning, "\(inbox) \(agent.errors)")
        #expect(await agent.stop() == 0, "\(agent.errors)")
        #expect(agent.errors.contains("messages were missed"))
    }

    // MARK: - Files and a log's server

    @Test func `feeds import reads an attribute with many levels as a text, or refuses it`() async throws {
        let scratch = try ScratchFolder()
        for text in Self.texts {
            let value = text.replacing("\"", with: "&quot;").replacing("\r", with: "&#13;")
            try scratch.write(
                """
                <opml xmlns:newswire='urn:x-newswire:feed-list'><body>
                <outline text='a' xmlUrl='https://a.example/' newswire:include="\(value)"/></body></opml>
                """,
                to: "x.opml"
            )
            let arguments = ["--trust", "--category", "World", "--feeds", scratch.file("f"), scratch.file("x.opml")]
            let outcome = try await BuiltProgram.run(["feeds", "import", "--dry-run"] + arguments)
            #expect(outcome.status == 0 || outcome.status == 1, "\(outcome)")
            #expect(outcome.output.contains("https://a.example/") || outcome.output.contains("line 2: a"), "\(outcome)")
        }
    }

    @Test func `feeds check reports a list's line and a feed with many levels`() async throws {
        let scratch = try ScratchFolder()
        for text in Self.texts {
            try scratch.write("{\"file\":\(text)\n", to: "list")
            let batch = try await BuiltProgram.run(["feeds", "check", "--json", "--batch", scratch.file("list")])
            #expect(batch.status > 0 && batch.errors.contains("error: "), "\(batch)")
            try scratch.write(#"{"items":[{"id":"1"},\#(text)"#, to: "feed.json")
            let feed = try await BuiltProgram.run(["feeds", "check", "--json", scratch.file("feed.json")])
            #expect(feed.status >= 0 && feed.output.contains(#""id":"1""#), "\(feed)")
        }
    }

    @Test func `check hub reports a log's server that greets so`() async throws {
        for text in Self.texts {
            let scratch = try ScratchFolder()
            let server = try GreetingServer("INFO \(text)\r\n")
            let outcome = try await BuiltProgram.run(
                ["check", "hub"],
                environment: [
                    "XDG_STATE_HOME": scratch.file("state"),
                    "NEWSWIRE_HUB_LOG_SERVERS": "nats://127.0.0.1:\(server.port)",
                ]
            )
            #expect(outcome.status >= 0, "\(outcome)")
            #expect((outcome.output + outcome.errors).contains("it is not a NATS server"), "\(outcome)")
        }
    }
}

/// Sends the same line to each client, and closes the connection.
private final class GreetingServer: Sendable {
    let port: Int
    private let listener: Int32

    init(_ text: String) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        try #require(isBound)
        port = Int(UInt16(bigEndian: address.sin_port))
        self.listener = listener
        Thread.detachNewThread {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                _ = Array(text.utf8).withUnsafeBytes {
                    send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                close(client)
            }
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
