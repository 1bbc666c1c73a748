import Foundation
import Glibc
import HubProtocol
import HubTestServer
import Testing

/// What monitors and other programs ask the built program for: whether it works, and a token.
@Suite struct HealthTests {
    private static let key = "Q0FOQVJZLXNlY3JldA=="

    private func health(_ scratch: ScratchFolder, _ arguments: [String]) async throws -> BuiltProgram.Outcome {
        let outcome = try await BuiltProgram.run(["health"] + arguments, environment: ["XDG_STATE_HOME": scratch.path])
        #expect(outcome.output.split(separator: "\n").count <= 1, "\(outcome.output)")
        return outcome
    }

    @Test(.timeLimit(.minutes(5)))
    func `a hub is healthy while it runs, on the port that it has`() async throws {
        let scratch = try ScratchFolder()
        let before = try await health(scratch, [])
        #expect(before.status == 1 && before.errors.contains("there is no hub and no publisher"), "\(before)")
        let hub = try await RunningProgram(
            ["hub", "--port", "0"],
            environment: ["XDG_STATE_HOME": scratch.path],
            folder: scratch.path
        )
        for arguments in [[], ["hub"]] {
            let outcome = try await health(scratch, arguments)
            #expect(outcome.status == 0 && outcome.output == "hub: ready\n", "\(outcome)")
        }
        let both = try await health(scratch, ["publisher", "hub"])
        #expect(both.status == 1 && both.output == "hub: ready; publisher: no pass yet\n", "\(both)")
        #expect(await hub.stop() == 0)
        let after = try await health(scratch, ["hub"])
        #expect(after.status == 1 && after.output.hasPrefix("hub: no answer at http://127.0.0.1:"), "\(after)")
    }

    @Test(arguments: [
        (503, "not ready: the disk is full\n\u{1B}[2J", "backend: not ready: the disk is full, [2J\n"),
        (404, "nothing", "another program answers"), (302, "", "another program answers"),
    ])
    func `only a server that says so is healthy`(status: Int, body: String, line: String) async throws {
        let scratch = try ScratchFolder()
        let server = try ScriptedHTTPServer { request in
            request.path == "/readyz"
                ? .status(status, headers: [("Location", "http://127.0.0.1:1/")], body: body) : .status(500)
        }
        let outcome = try await BuiltProgram.run(
            ["health", "backend"],
            environment: ["XDG_STATE_HOME": scratch.path, "NEWSWIRE_BACKEND_PORT": "\(server.port)"]
        )
        #expect(outcome.status == 1 && outcome.output.contains(line), "\(outcome)")
    }

    @Test func `a publisher is healthy if its last pass is not long ago`() async throws {
        let scratch = try ScratchFolder()
        try FileManager.default.createDirectory(
            atPath: scratch.file("newswire/publisher"),
            withIntermediateDirectories: true
        )
        try scratch.write("", to: "newswire/publisher/publisher.lock")
        let now = try await health(scratch, ["publisher"])
        #expect(now.status == 0 && now.output.hasPrefix("publisher: last pass "), "\(now)")
        var times = [timeval(tv_sec: time(nil) - 3_600, tv_usec: 0), timeval(tv_sec: time(nil) - 3_600, tv_usec: 0)]
        try #require(utimes(scratch.file("newswire/publisher/publisher.lock"), &times) == 0)
        let old = try await health(scratch, [])
        #expect(old.status == 1 && old.output.contains("s ago, which is more than 900 s"), "\(old)")
        let patient = try await health(scratch, ["publisher", "--within", "2h"])
        #expect(patient.status == 0, "\(patient)")
        #expect(try await health(scratch, ["publisher", "--within", "soon"]).status == 64)
    }

    @Test func `a token is signed with the key of the connection string, for the hub and the time that are asked for`()
        async throws
    {
        let environment = [
            "NEWSWIRE_CONNECTION_STRING":
                "Endpoint=sb://Hub.example.org/;SharedAccessKeyName=Rule;SharedAccessKey=\(Self.key)"
        ]
        let now = Int64(Date().timeIntervalSince1970)
        for (arguments, path, seconds) in [
            ([], "/news/messages", 3_600), (["--hub", "town", "--ttl", "2d"], "/town/messages", 172_800),
            (["https://hub.example.org/other"], "/other/x", 3_600),
        ] as [([String], String, Int64)] {
            let outcome = try await BuiltProgram.run(["token"] + arguments, environment: environment)
            try #require(outcome.status == 0, "\(outcome)")
            #expect(!outcome.output.contains(Self.key) && outcome.errors.isEmpty)
            let token = try SharedAccessToken(parsing: outcome.output)
            #expect(token.isSigned(with: Self.key) && token.keyName == "Rule")
            #expect(token.covers(path: path) && !token.covers(path: "/elsewhere"))
            #expect((now + seconds...now + seconds + 600).contains(token.expiresAt))
        }
        for arguments in [["--ttl", "30s"], ["--ttl", "366d"], ["hub.example.org"], ["ftp://x/y"]] {
            #expect(try await BuiltProgram.run(["token"] + arguments, environment: environment).status == 64)
        }
        #expect(try await BuiltProgram.run(["token"]).status == 78)
    }
}
