import Foundation
import OutboundHTTP
import Testing

/// Backup and restore of a hub that serves the app backend.
@Suite struct AccountBackupTests {
    private let scratch: ScratchFolder
    private let state: String
    private let http = OutboundClient(userAgent: "newswire-test/1")

    private struct Login: Decodable {
        let token: String
    }

    init() throws {
        scratch = try ScratchFolder()
        state = scratch.file("hub")
    }

    private func start() async throws -> RunningProgram {
        let hub = try await RunningProgram(["hub", "--port", "0", "--state", state], folder: scratch.path)
        try #require(hub.isRunning, "\(hub.errors)")
        return hub
    }

    private func run(_ arguments: String...) async throws -> BuiltProgram.Outcome {
        try await BuiltProgram.run(arguments + ["--state", state])
    }

    private func send(
        _ method: String,
        _ path: String,
        _ authorization: String,
        _ body: String? = nil,
        to hub: RunningProgram
    ) async throws -> OutboundResponse {
        let address = try #require(hub.errors.firstMatch(of: /listen\.address=([0-9.:]+)/))
        return try await http.send(
            OutboundRequest(
                method: method,
                url: "http://\(address.output.1)\(path)",
                headers: [("Authorization", authorization), ("Content-Type", "application/json")],
                body: body.map { Array($0.utf8) },
                // Passwords take seconds in a program that is not optimized.
                totalTimeout: .seconds(600),
                idleTimeout: .seconds(600),
                maximumRedirects: 0,
                addresses: .any
            )
        )
    }

    private let password = "Basic \(Data("ann:correct horse".utf8).base64EncodedString())"

    /// Adds a user, who logs in and sends themselves a secure notification; gives the header with the token.
    private func logIn(_ hub: RunningProgram) async throws -> String {
        try scratch.write("correct horse\n", to: "password")
        let added = try await run("user", "add", "ann", "--password-file", scratch.file("password"))
        try #require(added.status == 0, "\(added.errors)")
        let login = try await send("POST", "/api/login", password, "", to: hub)
        let bearer = "Bearer \(try JSONDecoder().decode(Login.self, from: Data(login.body)).token)"
        let pushed = try await send("POST", "/api/notifications", bearer, #""a confidential text""#, to: hub)
        #expect(pushed.status == 200)
        return bearer
    }

    @Test(.timeLimit(.minutes(10)))
    func `users are restored, and their tokens are not`() async throws {
        var hub = try await start()
        let bearer = try await logIn(hub)
        let file = scratch.file("copy")
        let backup = try await run("hub", "backup", file)
        #expect(backup.status == 0, "\(backup.errors)")
        let made = try FileManager.default.contentsOfDirectory(atPath: scratch.path).filter { $0.hasPrefix("copy") }
        #expect(made.sorted() == ["copy", "copy.backend"])
        for name in made {
            let bytes = try Data(contentsOf: URL(filePath: scratch.file(name)))
            #expect(bytes.range(of: Data("confidential".utf8)) == nil, "\(name)")
        }
        let second = try await run("user", "add", "bob", "--password-file", scratch.file("password"))
        #expect(second.status == 0, "\(second.errors)")
        #expect(await hub.stop() == 0, "\(hub.errors)")

        let restore = try await run("hub", "restore", file)
        #expect(restore.status == 0, "\(restore.errors)")
        #expect(restore.errors.contains("all tokens of users are revoked"), "\(restore.errors)")
        #expect(FileManager.default.fileExists(atPath: "\(state)/backend.sqlite.before-restore"))
        let users = try await run("user", "list")
        #expect(users.output.contains("ann") && !users.output.contains("bob"), "\(users.output)")
        hub = try await start()
        let stale = try await send("GET", "/api/notifications/1", bearer, to: hub)
        #expect(stale.status == 401)
        let again = try await send("POST", "/api/login", password, "", to: hub)
        #expect(again.status == 200)
        await http.shutdown()
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a restore in place revokes tokens, and one without accounts leaves them alone`() async throws {
        var hub = try await start()
        let file = scratch.file("copy")
        let early = try await run("hub", "backup", file)
        #expect(early.status == 0, "\(early.errors)")
        #expect(!FileManager.default.fileExists(atPath: file + ".backend"))
        let bearer = try await logIn(hub)
        #expect(await hub.stop() == 0, "\(hub.errors)")

        let without = try await run("hub", "restore", file)
        #expect(without.status == 0, "\(without.errors)")
        #expect(without.errors.contains("users of the app backend are not changed"), "\(without.errors)")
        hub = try await start()
        let valid = try await send("GET", "/api/notifications/1", bearer, to: hub)
        #expect(valid.status == 404)
        #expect(await hub.stop() == 0, "\(hub.errors)")

        let declared = try await run("hub", "restore", "--in-place")
        #expect(declared.status == 0 && declared.errors.contains("all tokens"), "\(declared.errors)")
        hub = try await start()
        let stale = try await send("GET", "/api/notifications/1", bearer, to: hub)
        #expect(stale.status == 401)
        await http.shutdown()
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `the accounts of an app backend that runs alone are copied without a hub, and not put back under it`()
        async throws
    {
        let hub = try await RunningProgram(
            ["hub", "--port", "0", "--no-app-backend", "--state", scratch.file("other")],
            folder: scratch.path
        )
        try scratch.write("correct horse\n", to: "password")
        let added = try await run("user", "add", "ann", "--password-file", scratch.file("password"))
        try #require(added.status == 0, "\(added.errors)")
        let backend = try await RunningProgram(
            ["backend", "--port", "0", "--state", state, "--connection-file", scratch.file("other/full.connection")],
            folder: scratch.path
        )
        try #require(backend.isRunning, "\(backend.errors)")
        let file = scratch.file("copy")
        let backup = try await run("hub", "backup", file)
        #expect(backup.status == 0, "\(backup.errors)")
        #expect(!FileManager.default.fileExists(atPath: file))
        let early = try await run("hub", "restore", file)
        #expect(early.status == 75 && early.errors.contains("an app backend is using"), "\(early.errors)")
        #expect(await backend.stop() == 0, "\(backend.errors)")
        let restore = try await run("hub", "restore", file)
        #expect(restore.status == 0, "\(restore.errors)")
        let users = try await run("user", "list")
        #expect(users.output.contains("ann"), "\(users.output)")
        await http.shutdown()
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }
}
