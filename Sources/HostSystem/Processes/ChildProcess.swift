import Glibc
import Synchronization

/// One run of another program: no shell, no descriptors of ours but the three standard ones, a bounded time.
///
/// The program leads a process group of its own, so that a time-out reaches what it started. It begins with default
/// signal handling whatever ours is.
package struct ChildProcess: Sendable {
    /// The program and its arguments.
    ///
    /// A program without `/` is looked up in our own `PATH`.
    package var arguments: [String]

    /// The whole environment; nothing of ours is added.
    package var environment: [String: String]

    /// Written to its standard input, which is then closed.
    ///
    /// A program need not read it.
    package var input: String

    /// From the start to the end; then SIGTERM to the group.
    package var timeout: Duration

    /// From SIGTERM to SIGKILL.
    package var killGrace: Duration

    /// Bytes kept of each of the two outputs; what is beyond is read and dropped.
    package var maximumOutputBytes: Int

    package var output: OutputHandling

    package enum OutputHandling: Sendable {
        case capture

        /// Both outputs are ours.
        case inherit
    }

    package init(
        arguments: [String],
        environment: [String: String] = [:],
        input: String = "",
        timeout: Duration = .seconds(30),
        killGrace: Duration = .seconds(5),
        maximumOutputBytes: Int = 65_536,
        output: OutputHandling = .capture
    ) {
        self.arguments = arguments
        self.environment = environment
        self.input = input
        self.timeout = timeout
        self.killGrace = killGrace
        self.maximumOutputBytes = maximumOutputBytes
        self.output = output
    }

    package struct Outcome: Sendable, Equatable {
        package let ending: Ending
        package let interruption: Interruption?
        package let standardOutput: String
        package let standardError: String

        /// True if an output was longer than the part that was kept.
        package let isOutputTruncated: Bool

        /// It ended by itself with exit code 0.
        package var isSuccess: Bool { ending == .exited(0) && interruption == nil }
    }

    package enum Ending: Sendable, Equatable {
        case exited(Int32)
        case signalled(Int32)
    }

    /// Why we ended it.
    package enum Interruption: Sendable, Equatable {
        case timedOut
        case cancelled
    }

    /// Runs the program to its end and reaps it.
    ///
    /// Cancelling the task ends the program as a time-out does; the call returns after its end in every case.
    ///
    /// What the program leaves running in the background is left alone, unless we ended it, and is not waited for.
    ///
    /// - Throws: When the program cannot be started.
    package func run() async throws(HostError) -> Outcome {
        guard let program = arguments.first, !program.isEmpty else {
            throw HostError("cannot run", "", because: "no program given")
        }
        guard !(arguments + environment.map { "\($0)=\($1)" }).contains(where: { $0.utf8.contains(0) }) else {
            throw HostError("cannot run", program, because: "an argument or variable has a NUL in it")
        }
        if Task.isCancelled { return .notStarted }
        let control = try Pipe()
        let interrupt = Mutex(control.writeEnd)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(HostError) {
                    let readEnd = control.readEnd
                    try BackgroundThread.start {
                        continuation.resume(returning: ChildRun(self, control: readEnd).result())
                    }
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        } onCancel: {
            // The end of this pipe is the message.
            interrupt.withLock { $0.close() }
        }
        return try result.get()
    }
}

extension ChildProcess.Outcome {
    /// The outcome in a task that was cancelled before: as if the program had been ended at once.
    fileprivate static let notStarted = ChildProcess.Outcome(
        ending: .signalled(SIGTERM),
        interruption: .cancelled,
        standardOutput: "",
        standardError: "",
        isOutputTruncated: false
    )
}

extension ChildProcess.Outcome: CustomStringConvertible {
    /// The ending in words, as in "exited with code 3".
    package var description: String {
        switch (interruption, ending) {
        case (.timedOut?, _): "did not end in time"
        case (.cancelled?, _): "was interrupted"
        case (nil, .exited(let code)): "exited with code \(code)"
        case (nil, .signalled(let number)): "was ended by signal \(number)"
        }
    }
}
