import Foundation
import OutboundHTTP
import Testing

/// The app backend as an operator starts it, in front of a hub of the same machine.
@Suite struct BackendCommandTests {
    private let scratch: ScratchFolder
    private let environment: [String: String]
    /// A hub that leaves the app backend to another process.
    private let alone = ["hub", "--port", "0", "--no-app-backend"]

    init() throws {
        scratch = try ScratchFolder()
        environment = ["XDG_STATE_HOME": scratch.file("state")]
    }

    private func addUser(_ name: String, _ more: String...) async throws {
        try scratch.write("correct horse\n", to: "password")
        let arguments = ["user", "add", name, "--password-file", scratch.file("password")] + more
        let outcome = try await BuiltProgram.run(arguments, environment: environment)
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    private func port(of program: RunningProgram) throws -> String {
        let address = try #require(program.errors.firstMatch(of: /listen\.address=127\.0\.0\.1:([0-9]+)/))
        return String(address.output.1)
    }

    private func send(
        _ method: String,
        _ url: String,
        as user: String,
        _ body: String? = nil,
        trusting authority: String? = nil,
        _ http: OutboundClient
    ) async throws -> OutboundResponse {
        let credentials = Data("\(user):correct horse".utf8).base64EncodedString()
        var request = OutboundRequest(
            method: method,
            url: url,
            headers: [("Authorization", "Basic \(credentials)"), ("Content-Type", "application/json")],
            body: body.map { Array($0.utf8) },
            // Passwords take seconds in a program that is not optimized.
            totalTimeout: .seconds(600),
            idleTimeout: .seconds(600),
            maximumRedirects: 0,
            addresses: .any
        )
        request.certificateAuthorities = authority
        return try await http.send(request)
    }

    @Test(.timeLimit(.minutes(10)))
    func `users register, notify and fetch over plain HTTP of this machine and over TLS`() async throws {
        let hub = try await RunningProgram(alone, environment: environment, folder: scratch.path)
        let state = scratch.file("state/newswire/hub")
        let certificate = try Data(contentsOf: URL(filePath: "\(state)/server.pem"))
        try await addUser("ann")
        try await addUser("desk", "--may-notify")
        let backend = try await RunningProgram(
            ["backend", "--port", "0", "--host-names", "localhost"],
            environment: environment,
            folder: scratch.path
        )
        try #require(backend.isRunning, "\(backend.errors)")
        let port = try port(of: backend)
        let http = OutboundClient(userAgent: "newswire-test/1")
        let authority = "\(state)/ca.pem"
        #expect(FileManager.default.fileExists(atPath: "\(state)/backend.pem"))
        #expect(try Data(contentsOf: URL(filePath: "\(state)/server.pem")) == certificate, "the hub's, of other names")
        for (origin, file) in [("http://127.0.0.1:\(port)", nil), ("https://localhost:\(port)", Optional(authority))] {
            let made = try await send("POST", "\(origin)/api/register", as: "ann", trusting: file, http)
            #expect(made.status == 200, "\(String(decoding: made.body, as: UTF8.self)) \(backend.errors)")
            let id = String(decoding: made.body.dropFirst().dropLast(), as: UTF8.self)
            let device = #"{"Platform":"apns","Handle":"AA"}"#
            let put = try await send("PUT", "\(origin)/api/register/\(id)", as: "ann", device, trusting: file, http)
            #expect(put.status == 200)
            let target = "\(origin)/api/notifications?pns=stream&to_tag=ann"
            let sent = try await send("POST", target, as: "desk", #""hello""#, trusting: file, http)
            #expect(sent.status == 200 && sent.body.isEmpty)
            let refused = try await send("POST", target, as: "nobody", #""hello""#, trusting: file, http)
            #expect(refused.status == 401 && refused.headers["WWW-Authenticate"] != nil)
        }
        let other = try await BuiltProgram.run(["backend", "--port", "0"], environment: environment)
        #expect(other.status == 75 && other.errors.contains("another app backend"), "\(other.errors)")
        await http.shutdown()
        #expect(await backend.stop() == 0, "\(backend.errors)")
        #expect(!backend.errors.contains("does not guard"), "the hub is ours")
        #expect(await hub.stop() == 0)
        let check = try await BuiltProgram.run(["check", "backend"], environment: environment)
        #expect(check.status == 0, "\(check.errors)")
    }

    private struct DeviceRow: Decodable {
        let kind: String
        let id: String
        let confirmed: Bool
    }

    @Test(.timeLimit(.minutes(10)))
    func `a removed user's devices go from the hub, also when that was away at first`() async throws {
        var hub = try await RunningProgram(alone, environment: environment, folder: scratch.path)
        try await addUser("ann")
        let backend = try await RunningProgram(
            ["backend", "--port", "0"],
            environment: environment,
            folder: scratch.path
        )
        try #require(backend.isRunning, "\(backend.errors)")
        let (origin, http) = ("http://127.0.0.1:\(try port(of: backend))", OutboundClient(userAgent: "newswire-test/1"))
        let made = try await send("POST", "\(origin)/api/register", as: "ann", trusting: nil, http)
        let id = String(decoding: made.body.dropFirst().dropLast(), as: UTF8.self)
        let device = #"{"Platform":"apns","Handle":"AA"}"#
        let put = try await send("PUT", "\(origin)/api/register/\(id)", as: "ann", device, trusting: nil, http)
        #expect(put.status == 200, "\(String(decoding: put.body, as: UTF8.self))")
        await http.shutdown()
        #expect(await backend.stop() == 0)

        let listed = try await BuiltProgram.run(["user", "devices", "ann", "--json"], environment: environment)
        let row = try JSONDecoder().decode(DeviceRow.self, from: Data(listed.output.utf8))
        #expect(row.kind == "registration" && row.id == id && row.confirmed)
        let shown = try await BuiltProgram.run(["user", "devices", "ann"], environment: environment)
        #expect(shown.output.hasPrefix("registration  \(id)  registered "), "\(shown.output)")

        #expect(await hub.stop() == 0)
        let early = try await BuiltProgram.run(["user", "remove", "ann"], environment: environment)
        #expect(early.status == 69, "\(early.errors)")
        #expect(early.errors.contains("user 'ann' is removed, but 1 device is still registered at the hub"))
        #expect(early.errors.contains("run the command again: newswire user remove ann"), "\(early.errors)")
        let users = try await BuiltProgram.run(["user", "list"], environment: environment)
        #expect(users.status == 0 && users.output.isEmpty, "\(users.output)")

        hub = try await RunningProgram(alone, environment: environment, folder: scratch.path)
        let again = try await BuiltProgram.run(["user", "remove", "ann"], environment: environment)
        #expect(again.status == 0, "\(again.errors)")
        #expect(again.errors.contains("the devices of removed user 'ann' are deleted"), "\(again.errors)")
        let registrations = try await BuiltProgram.run(["registrations", "list", "--json"], environment: environment)
        #expect(registrations.status == 0 && registrations.output.isEmpty, "\(registrations.output)")
        let nobody = try await BuiltProgram.run(["user", "remove", "ann"], environment: environment)
        #expect(nobody.status == 64 && nobody.errors.contains("there is no user 'ann'"), "\(nobody.errors)")
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `it finds the hub whose state directory it is given`() async throws {
        let state = scratch.file("elsewhere")
        let hub = try await RunningProgram(
            alone + ["--state", state],
            environment: environment,
            folder: scratch.path
        )
        let backend = try await RunningProgram(
            ["backend", "--port", "0", "--state", state],
            environment: environment,
            folder: scratch.path
        )
        #expect(try !port(of: backend).isEmpty, "\(backend.errors)")
        #expect(await backend.stop() == 0, "\(backend.errors)")
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `without a hub it finds the one that emulates the push services, unless it is given a state directory`()
        async throws
    {
        let hub = try await RunningProgram(alone + ["--emulate"], environment: environment, folder: scratch.path)
        let backend = try await RunningProgram(
            ["backend", "--port", "0"],
            environment: environment,
            folder: scratch.path
        )
        try #require(backend.isRunning, "\(backend.errors)")
        #expect(backend.errors.contains("the hub is that of 'newswire hub --emulate'"), "\(backend.errors)")
        let http = OutboundClient(userAgent: "newswire-test/1")
        try await addUser("ann")
        let origin = "http://127.0.0.1:\(try port(of: backend))"
        let made = try await send("POST", "\(origin)/api/register", as: "ann", nil, http)
        #expect(made.status == 200, "\(String(decoding: made.body, as: UTF8.self)) \(backend.errors)")
        await http.shutdown()
        #expect(await backend.stop() == 0, "\(backend.errors)")
        let elsewhere = try await BuiltProgram.run(
            ["backend", "--port", "0", "--state", scratch.file("elsewhere")],
            environment: environment
        )
        #expect(elsewhere.status == 78 && elsewhere.errors.contains("no connection string"), "\(elsewhere.errors)")
        #expect(await hub.stop() == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a hub serves the app backend on its own port, unless it is switched off`() async throws {
        let off = try await RunningProgram(alone, environment: environment, folder: scratch.path)
        let http = OutboundClient(userAgent: "newswire-test/1")
        let nothing = try await send("POST", "http://127.0.0.1:\(try port(of: off))/api/login", as: "ann", nil, http)
        #expect(nothing.status == 404)
        #expect(await off.stop() == 0, "\(off.errors)")

        let hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        let origin = "http://127.0.0.1:\(try port(of: hub))"
        let early = try await send("POST", "\(origin)/api/login", as: "ann", nil, http)
        #expect(early.status == 401)
        #expect(!FileManager.default.fileExists(atPath: scratch.file("state/newswire/hub/backend.sqlite")))
        try await addUser("ann")
        let made = try await send("POST", "\(origin)/api/register", as: "ann", nil, http)
        #expect(made.status == 200, "\(String(decoding: made.body, as: UTF8.self)) \(hub.errors)")
        let id = String(decoding: made.body.dropFirst().dropLast(), as: UTF8.self)
        let device = #"{"Platform":"apns","Handle":"AA"}"#
        let put = try await send("PUT", "\(origin)/api/register/\(id)", as: "ann", device, http)
        #expect(put.status == 200)
        let second = try await BuiltProgram.run(["backend", "--port", "0"], environment: environment)
        #expect(second.status == 75 && second.errors.contains("--no-app-backend"), "\(second.errors)")
        let check = try await BuiltProgram.run(["check", "hub"], environment: environment)
        #expect(check.status == 0, "\(check.errors)")
        let removed = try await BuiltProgram.run(["user", "remove", "ann"], environment: environment)
        #expect(removed.status == 0, "\(removed.errors)")
        await http.shutdown()
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a hub deletes the devices of a user who was removed while it was stopped`() async throws {
        var hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        try await addUser("ann")
        let http = OutboundClient(userAgent: "newswire-test/1")
        let origin = "http://127.0.0.1:\(try port(of: hub))"
        let made = try await send("POST", "\(origin)/api/register", as: "ann", nil, http)
        let id = String(decoding: made.body.dropFirst().dropLast(), as: UTF8.self)
        let device = #"{"Platform":"apns","Handle":"AA"}"#
        let put = try await send("PUT", "\(origin)/api/register/\(id)", as: "ann", device, http)
        #expect(put.status == 200, "\(String(decoding: put.body, as: UTF8.self))")
        await http.shutdown()
        #expect(await hub.stop() == 0, "\(hub.errors)")
        let removed = try await BuiltProgram.run(["user", "remove", "ann"], environment: environment)
        #expect(removed.status == 69, "\(removed.errors)")
        hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        var left = ""
        for _ in 1...200 {
            let listed = try await BuiltProgram.run(["registrations", "list", "--json"], environment: environment)
            try #require(listed.status == 0, "\(listed.errors)")
            left = listed.output
            if left.isEmpty { break }
        }
        #expect(left.isEmpty)
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a hub starts without the app backend while another process has its files`() async throws {
        var hub = try await RunningProgram(alone, environment: environment, folder: scratch.path)
        let backend = try await RunningProgram(
            ["backend", "--port", "0"],
            environment: environment,
            folder: scratch.path
        )
        try #require(backend.isRunning, "\(backend.errors)")
        #expect(await hub.stop() == 0, "\(hub.errors)")
        hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        let lines = hub.errors.split(separator: "\n").filter { $0.contains("starts without the app backend") }
        #expect(lines.count == 1, "\(hub.errors)")
        let http = OutboundClient(userAgent: "newswire-test/1")
        let reply = try await send("POST", "http://127.0.0.1:\(try port(of: hub))/api/login", as: "ann", nil, http)
        #expect(reply.status == 404)
        await http.shutdown()
        #expect(await backend.stop() == 0, "\(backend.errors)")
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `without a hub it says what is missing, and check reports a wrong key file`() async throws {
        let outcome = try await BuiltProgram.run(["backend"], environment: environment)
        #expect(outcome.status == 78 && outcome.errors.contains("no connection string"), "\(outcome.errors)")
        let directory = scratch.file("state/newswire/hub")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try "x\n".write(toFile: "\(directory)/backend.key", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(directory)/backend.key")
        for program in ["backend", "hub"] {
            let check = try await BuiltProgram.run(["check", program], environment: environment)
            #expect(check.status == 78 && check.errors.contains("its mode is 644"), "\(check.errors)")
        }
        let off = environment.merging(["NEWSWIRE_HUB_APP_BACKEND": "false"]) { $1 }
        let check = try await BuiltProgram.run(["check", "hub"], environment: off)
        #expect(check.status == 0, "\(check.errors)")
    }

    static let incomplete: [(variables: [String: String], says: String)] = [
        (["OIDC_ISSUER": "https://login.example.org", "OIDC_JWKS_FILE": "jwks.json"], "needs 'oidc-audience'"),
        (["OIDC_ISSUER": "https://login.example.org", "OIDC_AUDIENCE": "app"], "needs the provider's keys"),
        (["OIDC_AUDIENCE": "app"], "'oidc-issuer' is not"),
        (
            [
                "OIDC_ISSUER": "https://login.example.org", "OIDC_AUDIENCE": "app", "OIDC_JWKS_FILE": "jwks.json",
                "OIDC_JWKS_URL": "https://login.example.org/jwks",
            ], "cannot be combined"
        ),
        (
            [
                "OIDC_ISSUER": "https://login.example.org", "OIDC_AUDIENCE": "app", "OIDC_JWKS_FILE": "jwks.json",
                "OIDC_SUFFIX": "corp", "USER_HEADER_PROXIES": "192.0.2.1", "USER_HEADER_SUFFIX": "CORP",
            ], "are the same"
        ),
    ]

    @Test(arguments: incomplete)
    func `conflicting settings of other parties are reported by check and at the start`(
        variables: [String: String],
        says: String
    ) async throws {
        var environment = environment
        for (name, value) in variables { environment["NEWSWIRE_BACKEND_\(name)"] = value }
        for arguments in [["check", "backend"], ["backend", "--port", "0"]] {
            let outcome = try await BuiltProgram.run(arguments, environment: environment)
            #expect(outcome.status == 78 && outcome.errors.contains(says), "\(outcome.errors)")
        }
    }
}
