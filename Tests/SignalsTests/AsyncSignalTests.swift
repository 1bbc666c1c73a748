import HubTestServer
import Signals
import Testing

@Suite struct AsyncSignalTests {
    @Test func `a signal ends the wait of a task, or the next one, and several count as one`() async {
        let signal = AsyncSignal()
        for _ in 0..<3 { signal.signal() }
        await signal.wait()
        let second = Task { await signal.wait() }
        signal.signal()
        await second.value
        await signal.wait(atMost: .milliseconds(2))
    }

    @Test func `a cancelled wait ends, and the signal can be waited for again`() async {
        let signal = AsyncSignal()
        let first = Task { await signal.wait() }
        first.cancel()
        await first.value
        // The cancellation may have counted as a signal.
        await signal.wait(atMost: .zero)
        let isAwake = Shared(false)
        let second = Task {
            await signal.wait(atMost: .seconds(3_600))
            isAwake.change { $0 = true }
        }
        signal.signal()
        await second.value
        #expect(isAwake.value)
    }

    @Test func `a wait ends when its time has passed`() async {
        let signal = AsyncSignal()
        let begin = ContinuousClock.now
        await signal.wait(atMost: .milliseconds(5))
        #expect(ContinuousClock.now - begin >= .milliseconds(5))
        await signal.wait(before: begin)
    }

    @Test func `any number of tasks wait for a condition, and none misses it`() async {
        for _ in 0..<50 {
            let (signal, count) = (AsyncSignal(), Shared(0))
            await withDiscardingTaskGroup { group in
                for number in 1...20 {
                    group.addTask { await signal.wait { count.value >= number } }
                    group.addTask {
                        count.next()
                        signal.signal()
                    }
                }
            }
            #expect(count.value == 20)
        }
    }

    @Test func `a cancelled task stops waiting for a condition, unless it must not`() async {
        let (signal, isDone, ends) = (AsyncSignal(), Shared(false), Gate())
        let stopping = Task { await signal.wait { false } }
        let steadfast = Task {
            await signal.waitDespiteCancellation { isDone.value }
            ends.open()
            return isDone.value
        }
        stopping.cancel()
        steadfast.cancel()
        await stopping.value
        isDone.change { $0 = true }
        signal.signal()
        await ends.opened()
        #expect(await steadfast.value)
    }
}
