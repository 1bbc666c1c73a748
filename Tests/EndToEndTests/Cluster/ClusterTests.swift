import Foundation
import Glibc
import HostSystem
import HubTestServer
import Testing

/// Several hubs and log servers as processes on this machine: the programs of `Tests/Cluster`.
///
/// `NEWSWIRE_LONG=1` sends 100,000 messages from 64 senders; `NEWSWIRE_SEED=N` repeats the faults of one run.
@Suite(.serialized) struct ClusterTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let isLong = environment["NEWSWIRE_LONG"] != nil
    /// `nil` where `make oracles` has not installed it.
    private static let engine = Oracle.python
        .map { URL(filePath: $0).deletingLastPathComponent().path + "/nats-server" }
        .flatMap { FileManager.default.isExecutableFile(atPath: $0) ? $0 : nil }
    private static let reason: Comment = "'make oracles' installs the log's servers"
    private static let namespaces: Comment = "only root can make network namespaces"

    private func run(_ script: String, _ options: [String] = []) async throws -> ChildProcess.Outcome {
        let child = ChildProcess(
            arguments: [
                try #require(Oracle.python), "\(BuiltProgram.repository)/Tests/Cluster/\(script)",
                BuiltProgram.path, try #require(Self.engine),
            ] + options,
            environment: Self.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 },
            timeout: Self.isLong ? .seconds(7_200) : .seconds(400),
            maximumOutputBytes: 1 << 20
        )
        return try await child.run()
    }

    @Test(.timeLimit(.minutes(150)), .enabled(if: engine != nil, reason))
    func `nothing is lost or comes twice while hubs and log servers are killed and paused`() async throws {
        let size =
            Self.isLong ? ["--messages", "100000", "--senders", "64", "--agents", "12"] : ["--messages", "1500"]
        let seed = Self.environment["NEWSWIRE_SEED"].map { ["--seed", $0] } ?? []
        let outcome = try await run("kills.py", size + seed)
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(150)), .enabled(if: engine != nil, reason))
    func `people stay signed in, and get each text once, while hubs and log servers are killed and paused`()
        async throws
    {
        let size = Self.isLong ? ["--users", "200", "--readers", "20", "--seconds", "600"] : ["--seconds", "20"]
        let seed = Self.environment["NEWSWIRE_SEED"].map { ["--seed", $0] } ?? []
        let outcome = try await run("people.py", size + seed)
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: engine != nil, reason))
    func `what 'hub log init' writes makes a cluster over TLS`() async throws {
        let outcome = try await run("setup.py")
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: engine != nil, reason))
    func `a hub that was paused executes nothing late`() async throws {
        let outcome = try await run("pause.py")
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: engine != nil, reason))
    func `hubs join by a copy, begin a lost log again, and leave it`() async throws {
        let outcome = try await run("operations.py")
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: engine != nil, reason), .enabled(if: geteuid() == 0, namespaces))
    func `a machine that is cut off refuses requests, its agents move, and it catches up`() async throws {
        let outcome = try await run("partition.py")
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: engine != nil, reason))
    func `a hub whose clock is two hours ahead takes no duties, and releases nothing early`() async throws {
        let outcome = try await run("clocks.py")
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: engine != nil, reason), .enabled(if: geteuid() == 0, namespaces))
    func `hubs whose log server is cut off from the majority change to another one within ten seconds`() async throws {
        let outcome = try await run("isolation.py")
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: engine != nil, reason))
    func `hubs are started again one by one, and nothing is lost or comes twice`() async throws {
        let outcome = try await run("upgrade.py")
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: engine != nil, reason))
    func `the demonstration of several machines ends well`() async throws {
        let outcome = try await run("demo.py")
        #expect(outcome.ending == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.hasSuffix("every agent got every story once\n"))
    }
}
