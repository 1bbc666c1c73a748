import Dispatch
import Glibc
import Synchronization

/// A thread for tasks that block it: it runs them in the order in which they become ready.
///
/// Must outlive the tasks that prefer it; the thread ends with it.
///
/// Bound: one job for each task.
package final class ThreadExecutor: TaskExecutor {
    private typealias Job = (work: UnownedJob, executor: UnownedTaskExecutor)

    private struct State: Sendable {
        var jobs: [Job] = []
        var hasEnded = false
    }

    /// State of the thread, which does not keep the executor alive.
    private final class Queue: Sendable {
        private let state = Mutex(State())
        private let work = DispatchSemaphore(value: 0)

        func append(_ job: Job) {
            let isFirst = state.withLock { state in
                state.jobs.append(job)
                return state.jobs.count == 1
            }
            if isFirst { work.signal() }
        }

        func end() {
            state.withLock { $0.hasEnded = true }
            work.signal()
        }

        func run() {
            if let mark { pthread_setspecific(mark, UnsafeRawPointer(bitPattern: 1)) }
            while true {
                work.wait()
                let (jobs, hasEnded) = state.withLock { state in
                    defer { state.jobs = [] }
                    return (state.jobs, state.hasEnded)
                }
                for job in jobs { job.work.runSynchronously(on: job.executor) }
                if hasEnded { return }
            }
        }
    }

    /// Marks threads of executors, in libc's thread-specific storage.
    private static let mark: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// True in a thread of an executor, which may block.
    package static var isCurrent: Bool { mark.flatMap { pthread_getspecific($0) } != nil }

    private let queue: Queue

    /// - Throws: If the system has no thread left.
    package init() throws(HostError) {
        let queue = Queue()
        self.queue = queue
        try BackgroundThread.start { queue.run() }
    }

    deinit { queue.end() }

    package func enqueue(_ job: consuming ExecutorJob) {
        queue.append((UnownedJob(job), asUnownedTaskExecutor()))
    }
}
