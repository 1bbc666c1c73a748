import Foundation
import OutboundHTTP
import Testing

/// A hub and an app backend in front of it, as an operator starts them; each can be killed and started again.
///
/// A hub can serve the app backend itself; then there is one program.
final class BackendStage {
    static let password = "correct horse"
    /// Longest wait for anything to come to its end.
    private static let patience = Duration.seconds(90)

    let scratch: ScratchFolder
    let hubPort: Int
    let backendPort: Int
    private let logLevel: String
    private let hubOptions: [String]
    private let isMounted: Bool
    let calls: BackendCalls
    private(set) var hub: RunningProgram?
    private(set) var backend: RunningProgram?
    /// What programs have logged that were killed or stopped.
    private var formerLogs = ""

    /// Starts both, with these users; `desk` may notify others.
    static func run(
        users: [String],
        isMounted: Bool = false,
        hubOptions: [String] = [],
        logLevel: String = "warning",
        _ body: (BackendStage) async throws -> Void
    ) async throws {
        let stage = try BackendStage(isMounted: isMounted, hubOptions: hubOptions, logLevel: logLevel)
        let result: Result<Void, any Error>
        do {
            try await stage.startHub()
            for user in users { try await stage.add(user) }
            if !isMounted { try await stage.startBackend() }
            try await body(stage)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await stage.calls.http.shutdown()
        await stage.backend?.stop()
        await stage.hub?.stop()
        try result.get()
    }

    private init(isMounted: Bool, hubOptions: [String], logLevel: String) throws {
        scratch = try ScratchFolder()
        hubPort = try freePort()
        backendPort = try freePort()
        calls = BackendCalls(
            http: OutboundClient(userAgent: "newswire-test/1"),
            origin: "http://127.0.0.1:\(isMounted ? hubPort : backendPort)",
            hubOrigin: "http://127.0.0.1:\(hubPort)",
            connectionFile: scratch.file("state/full.connection")
        )
        self.isMounted = isMounted
        self.hubOptions = hubOptions + (isMounted ? [] : ["--no-app-backend"])
        self.logLevel = logLevel
        try scratch.write("\(Self.password)\n", to: "password")
    }

    var state: String { scratch.file("state") }
    var passwordFile: String { scratch.file("password") }

    /// Everything that hub and backend have logged.
    var logs: String { formerLogs + (hub?.errors ?? "") + (backend?.errors ?? "") }

    // MARK: - Programs

    func startHub() async throws {
        formerLogs += hub?.errors ?? ""
        hub = try await start(["hub", "--port", "\(hubPort)"] + hubOptions)
    }

    func startBackend() async throws {
        formerLogs += backend?.errors ?? ""
        backend = try await start(["backend", "--port", "\(backendPort)"])
    }

    private func start(_ arguments: [String]) async throws -> RunningProgram {
        let program = try await RunningProgram(
            arguments + ["--state", state, "--log-level", logLevel],
            folder: scratch.path
        )
        try #require(program.isRunning, "\(program.errors)")
        return program
    }

    /// Runs a command on the state directory to its end.
    func command(_ arguments: String..., isRefused: Bool = false) async throws -> BuiltProgram.Outcome {
        let outcome = try await BuiltProgram.run(arguments + ["--state", state])
        if !isRefused { try #require(outcome.status == 0, "\(arguments): \(outcome.errors)") }
        return outcome
    }

    private func add(_ user: String) async throws {
        let rights = user == "desk" ? ["--may-notify"] : []
        let arguments = ["user", "add", user, "--password-file", passwordFile, "--state", state] + rights
        let outcome = try await BuiltProgram.run(arguments)
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    // MARK: - Waiting

    /// Looks again and again until something is so.
    func wait(_ what: String, until isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + Self.patience
        while try await !isSo() {
            try #require(ContinuousClock.now < deadline, "\(what): \(logs.suffix(2_000))")
            await pause(milliseconds: 20)
        }
    }

    func pause(milliseconds: Int) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { continuation.resume() }
        }
    }
}
