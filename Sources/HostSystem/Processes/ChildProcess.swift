import Glibc
import Synchronization

/// One run of another program: without a shell, with none of our descriptors but the three standard ones, for a limited
/// time.
///
/// The program leads a process group of its own, so that a time-out ends what it started, too. It begins with default
/// signal handling.
///
/// The library swift-subprocess is not used: it has no time-out, its teardown signals the program and not its group,
/// and an output beyond the limit is an error that loses the part before it.
package struct ChildProcess: Sendable {
    /// The program and its arguments.
    ///
    /// A program without `/` is looked up in our own `PATH`.
    package var arguments: [String]

    /// The whole environment; nothing of ours is added.
    package var environment: [String: String]

    /// The text written to its standard input, which is then closed.
    ///
    /// The program need not read it.
    package var input: String

    /// Time from the start to SIGTERM for the group.
    package var timeout: Duration

    /// Time from SIGTERM to SIGKILL.
    package var killGrace: Duration

    /// Maximum number of bytes kept of each output; further ones are read and dropped.
    package var maximumOutputBytes: Int

    package var output: OutputHandling

    package enum OutputHandling: Sendable {
        case capture

        /// The program writes to our own outputs.
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

        /// True if it ended on its own with exit code 0.
        package var isSuccess: Bool { ending == .exited(0) && interruption == nil }
    }

    package enum Ending: Sendable, Equatable {
        case exited(Int32)
        case signalled(Int32)
    }

    /// The reason why we ended it.
    package enum Interruption: Sendable, Equatable {
        case timedOut
        case cancelled
    }

    /// Runs the program to its end and reaps it.
    ///
    /// Cancelling the task ends the program like a time-out; the call always returns after the program's end.
    ///
    /// Programs that it leaves running in the background are not waited for, and continue unless we ended the group.
    ///
    /// - Throws: If the program cannot be started.
    package func run() async throws(HostError) -> Outcome {
        guard let program = arguments.first, !program.isEmpty else {
            throw HostError("cannot run", "", because: "no program given")
        }
        guard !(arguments + environment.map { "\($0)=\($1)" }).contains(where: { $0.utf8.contains(0) }) else {
            throw HostError("cannot run", program, because: "an argument or variable contains a NUL byte")
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
    /// The outcome in a task that was already cancelled: as if the program had been ended at once.
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
