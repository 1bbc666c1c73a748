import Hummingbird
import NIOCore

/// Runs tasks on an event loop, so that a request is read, executed and answered without switching threads.
///
/// Such tasks must be brief: they delay all connections of the event loop. See ``LongWork``.
final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The job must not outlive its executor.
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Work that takes longer than an event loop may be busy with one request: pages, lists, reports.
enum LongWork {
    /// Runs work of a request apart from the event loops.
    static func run<Output: Sendable>(_ work: () async throws -> Output) async throws -> Output {
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try await work() }
    }
}

/// Answers all requests apart from the event loops.
struct LongWorkResponder<Base: HTTPResponder>: HTTPResponder {
    let base: Base

    func respond(to request: Request, context: Base.Context) async throws -> Response {
        try await LongWork.run { try await base.respond(to: request, context: context) }
    }
}
