import Dispatch
import HubTestServer
import Signals
import Testing

@Suite struct WorkTests {
    private struct Failed: Error {}

    @Test func `work that blocks runs on its queue, and its value or error comes back`() async throws {
        let queue = DispatchQueue(label: "test")
        let value = await queue.run { () -> Int in
            dispatchPrecondition(condition: .onQueue(queue))
            return 7
        }
        #expect(value == 7)
        await #expect(throws: Failed.self) { try await queue.run { () throws(Failed) -> Int in throw Failed() } }
    }

    @Test(arguments: [true, false]) func `work is repeated until its task is cancelled`(startsNow: Bool) async {
        let (runs, third) = (Shared(0), Gate())
        let task = Task {
            await repeatUntilStopped(every: .milliseconds(1), startsNow: startsNow) {
                if runs.next() == 3 { third.open() }
            }
        }
        await third.opened()
        task.cancel()
        await task.value
        #expect(runs.value >= 3)
    }

    @Test func `work that is repeated after a wait does not run in a cancelled task`() async {
        let runs = Shared(0)
        let task = Task { await repeatUntilStopped(every: .seconds(3_600)) { runs.next() } }
        task.cancel()
        await task.value
        #expect(runs.value == 0)
    }
}
