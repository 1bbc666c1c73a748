import Foundation
import OutboundHTTP
import Testing

/// What a program reports as stored is on disk by then: a power cut takes nothing back.
@Suite(.serialized) struct SyncTests {
    private let scratch: ScratchFolder
    private let disk: WatchedDisk

    init() async throws {
        scratch = try ScratchFolder()
        disk = try await WatchedDisk(scratch.path)
    }

    private var state: [String] { ["--state", scratch.file("hub")] }

    private func startHub(on port: Int = 0, watched: Bool = false) async throws -> RunningProgram {
        let hub = try await RunningProgram(
            ["hub", "--port", "\(port)"] + state,
            environment: watched ? disk.environment() : [:],
            folder: try #require(notices).path
        )
        try #require(hub.isRunning, "\(hub.errors)")
        return hub
    }

    /// The programs' output is not among the files that are watched.
    private let notices = try? ScratchFolder()

    private func run(_ arguments: [String], watched: Bool = true) async throws -> BuiltProgram.Outcome {
        let outcome = try await BuiltProgram.run(arguments, environment: watched ? disk.environment() : [:])
        #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
        return outcome
    }

    @Test(.timeLimit(.minutes(10))) func `commands end when everything that they have stored is on disk`() async throws
    {
        #expect(try await startHub().stop() == 0)
        try scratch.write("correct horse\n", to: "password")
        try scratch.write("category: World\nfeeds: [{url: https://a.example/}]\n", to: "world.yaml")
        let feeds = scratch.file("feeds")
        let opml = scratch.file("feeds.opml")
        _ = try await run(["feeds", "export", "--feeds", "\(BuiltProgram.repository)/feeds", opml], watched: false)
        let copy = scratch.file("copy")
        let commands = [
            ["hub", "invite"] + state,
            ["hub", "invite", "--operator"] + state,
            ["hub", "keys", "--rotate", "DefaultListenSharedAccessSignature"] + state,
            ["user", "add", "ann", "--password-file", scratch.file("password")] + state,
            ["hub", "backup", copy] + state,
            ["hub", "backup", copy] + state,
            ["hub", "restore", copy] + state,
            ["hub", "restore", copy] + state,
            ["hub", "restore", "--in-place"] + state,
            ["feeds", "export", "--feeds", "\(BuiltProgram.repository)/feeds", scratch.file("other.opml")],
            ["feeds", "import", "--trust", "--feeds", feeds, opml],
        ]
        for command in commands {
            disk.clear()
            _ = try await run(command)
            #expect(disk.changes.syncs > 0, "\(command)")
            #expect(disk.changes.unsynced == [], "\(command)")
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a new hub is ready when its keys and its database are on disk`() async throws
    {
        disk.clear()
        let hub = try await startHub(watched: true)
        // The hub goes on writing its database; what clients depend on does not change any more.
        let unsynced = disk.changes.unsynced.filter { !$0.hasSuffix(".sqlite") && !$0.hasSuffix("-wal") }
        #expect(unsynced == [])
        #expect(await hub.stop() == 0)
        for name in ["secrets.key", "full.connection", "ca-key.pem", "server.pem", "generation"] {
            #expect(FileManager.default.fileExists(atPath: scratch.file("hub/\(name)")), "\(name)")
        }
        #expect(disk.changes.unsynced == [])
    }

    @Test(.timeLimit(.minutes(10)))
    func `a page is answered when the session that it began or ended is on disk`() async throws {
        let port = try freePort()
        let hub = try await startHub(on: port, watched: true)
        let invitation = try await code(["hub", "invite"])
        let link = try await code(["hub", "invite", "--operator"])
        let http = OutboundClient(userAgent: "newswire-test/1")
        func post(_ path: String, _ form: String, cookie: String? = nil) async throws -> String? {
            disk.clear()
            var headers: [(name: String, value: String)] = [("Sec-Fetch-Site", "same-origin")]
            if let cookie { headers.append((name: "Cookie", value: cookie)) }
            let reply = try await http.send(
                OutboundRequest(
                    method: "POST",
                    url: "http://127.0.0.1:\(port)/-/news/\(path)",
                    headers: headers,
                    body: Array(form.utf8),
                    maximumRedirects: 0,
                    addresses: .any
                )
            )
            #expect(reply.status == 303, "\(path): \(String(decoding: reply.body, as: UTF8.self))")
            let changes = disk.changes
            #expect(changes.syncs > 0, "\(path)")
            #expect(!changes.unsynced.contains { $0.contains("pages.sqlite") }, "\(path): \(changes.unsynced)")
            return reply.headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) }
        }
        let cookie = try await post("enter", "code=\(invitation)")
        _ = try await post("leave", "", cookie: cookie)
        _ = try await post("admin/enter", "code=\(link)")
        await http.shutdown()
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }

    private func code(_ command: [String]) async throws -> String {
        let link = try await run(command + state, watched: false).output
        return try #require(link.firstMatch(of: /code=([^\n]+)/).map { String($0.output.1) }, "\(link)")
    }
}
