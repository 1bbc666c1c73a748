import Dispatch
import Glibc
import HostSystem
import Synchronization
import Testing

struct ThreadExecutorTests {
    private final class Seen: Sendable {
        private let state = Mutex<(order: [Int], threads: Set<pthread_t>)>(([], []))

        var order: [Int] { state.withLock { $0.order } }
        var threads: Set<pthread_t> { state.withLock { $0.threads } }

        func note(_ number: Int?) {
            let thread = pthread_self()
            state.withLock { state in
                if let number { state.order.append(number) }
                state.threads.insert(thread)
            }
        }
    }

    @Test func `tasks that prefer a thread run there, in order, and may block it`() async throws {
        let executor = try ThreadExecutor()
        let seen = Seen()
        let gate = DispatchSemaphore(value: 0)
        let blocked = Task(executorPreference: executor) { gate.waitInThread() }
        var tasks: [Task<Void, Never>] = []
        // One after the other, and all of them behind the task that blocks.
        for number in 0..<100 {
            let task = Task.immediate {
                await withTaskExecutorPreference(executor) {
                    seen.note(number)
                    await Task.yield()
                    seen.note(nil)
                }
            }
            tasks.append(task)
        }
        #expect(seen.order == [])
        gate.signal()
        await blocked.value
        for task in tasks { await task.value }
        #expect(seen.order == Array(0..<100))
        #expect(seen.threads.count == 1)
    }

    @Test func `work elsewhere goes on while the thread is blocked`() async throws {
        let executor = try ThreadExecutor()
        let gate = DispatchSemaphore(value: 0)
        let blocked = Task(executorPreference: executor) { gate.waitInThread() }
        await Task { _ = gate.signal() }.value
        await blocked.value
    }
}

extension DispatchSemaphore {
    fileprivate func waitInThread() { wait() }
}
