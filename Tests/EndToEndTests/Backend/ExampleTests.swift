import Foundation
import HostSystem
import Testing

/// `docs/examples`, run as their readers run them.
@Suite struct ExampleTests {
    /// `nil` where there is none.
    private static let python: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return (["/usr/bin"] + path.split(separator: ":").map(String.init))
            .map { "\($0)/python3" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private static let folder = "\(BuiltProgram.repository)/docs/examples"
    /// Those that are run with other arguments than an app's, or not run by themselves.
    private static let others: Set<String> = ["tutorial.py", "categories.py"]

    private static var scripts: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".py") } }
    }

    private func run(_ script: String, _ arguments: [String]) async throws -> ChildProcess.Outcome {
        var environment = ProcessInfo.processInfo.environment
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        let child = ChildProcess(
            arguments: [try #require(Self.python), "\(Self.folder)/\(script)"] + arguments,
            environment: environment,
            timeout: .seconds(240),
            maximumOutputBytes: 1 << 20
        )
        return try await child.run()
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: python != nil, "there is no python3"), arguments: [false, true])
    func `each of the tutorials' apps works against a hub and a backend of ours`(isMounted: Bool) async throws {
        let apps = try Self.scripts.filter { !Self.others.contains($0) }.sorted()
        #expect(apps == ["android.py", "ios.py", "windows.py"])
        // The app's user notifies another one.
        try await BackendStage.run(users: ["desk", "bob"], isMounted: isMounted, hubOptions: ["--emulate"]) { stage in
            let hub = ["--connection-file", stage.calls.connectionFile]
            for app in apps {
                let user = ["--user", "desk", "--password-file", stage.passwordFile, "--to", "bob"]
                let outcome = try await run(app, hub + user + ["--backend", stage.calls.origin])
                #expect(outcome.ending == .exited(0), "\(app): \(outcome.standardOutput)\(outcome.standardError)")
                #expect(!outcome.standardOutput.contains("FAILED") && outcome.standardOutput.contains("ok: "))
            }
            let outcome = try await run("categories.py", hub)
            #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
            let failing = ["--user", "nobody", "--password-file", stage.passwordFile, "--backend", stage.calls.origin]
            let failed = try await run("ios.py", hub + failing)
            #expect(failed.ending == .exited(1), "a script fails when its app would")
        }
    }

    @Test func `the page about the examples names each of them`() throws {
        let page = try String(contentsOfFile: "\(Self.folder)/README.md", encoding: .utf8)
        for script in try Self.scripts { #expect(page.contains("`\(script)`"), "\(script)") }
    }
}
