import Foundation
import HostSystem
import Testing

/// `.ci/run-tests`, which `make test` runs the tests with.
@Suite(.timeLimit(.minutes(1))) struct TestRunTests {
    private func run(_ script: String, stall: Int = 30) async throws -> (outcome: ChildProcess.Outcome, log: String) {
        let scratch = try ScratchFolder()
        let child = ChildProcess(
            arguments: [
                "\(BuiltProgram.repository)/.ci/run-tests", scratch.file("log"), "/bin/sh", "-c", script,
            ],
            environment: BuiltProgram.base.merging(["NEWSWIRE_TEST_STALL": "\(stall)"]) { $1 },
            timeout: .seconds(50),
            maximumOutputBytes: 1 << 20
        )
        return (try await child.run(), try String(contentsOfFile: scratch.file("log"), encoding: .utf8))
    }

    @Test func `failures and totals are printed, and the status is that of the tests`() async throws {
        let script = """
            echo '◇ Test one() started.'; echo '✘ Test one() recorded an issue'; echo '✘ Test one() failed after 1 s'
            echo '✔ Test run with 1 test passed'; exit 3
            """
        let (outcome, log) = try await run(script)
        #expect(outcome.ending == .exited(3))
        #expect(
            outcome.standardOutput == """
                ✘ Test one() recorded an issue
                ✘ Test one() failed after 1 s
                ✔ Test run with 1 test passed

                """
        )
        #expect(log.hasPrefix("◇ Test one() started.\n"))
    }

    @Test func `a run that hangs is ended, and the tests that have not finished are named`() async throws {
        let script = """
            echo '◇ Test run started.'; echo '◇ Test one() started.'; echo '◇ Test `two`() started.'
            echo '✔ Test one() with 2 test cases passed after 1 seconds.'; exec sleep 600
            """
        let (outcome, _) = try await run(script, stall: 1)
        #expect(outcome.ending == .exited(1))
        #expect(outcome.interruption == nil)
        #expect(outcome.standardOutput.hasSuffix("these have not finished:\nerror: `two`()\n"))
    }

    @Test func `a program that a test has left does not keep the run open`() async throws {
        let (outcome, _) = try await run("(exec sleep 20) & echo '✔ Test run with 1 test passed'; exit 0")
        #expect(outcome.ending == .exited(0))
    }
}
