import Glibc

/// A program that may outlive us, such as a browser: its end is noted, but neither awaited nor hastened.
package enum DetachedProgram {
    /// Starts a program of which neither input nor output is ours; otherwise as ``ChildProcess``.
    ///
    /// `onEnd` is called once, on a thread that may block: how it ended, or why it could not be started.
    package static func start(
        _ arguments: [String],
        environment: [String: String],
        onEnd: @escaping @Sendable (Result<ChildProcess.Ending, HostError>) -> Void
    ) {
        do throws(HostError) {
            try BackgroundThread.start { onEnd(run(arguments, environment)) }
        } catch {
            onEnd(.failure(error))
        }
    }

    private static func run(
        _ arguments: [String],
        _ environment: [String: String]
    ) -> Result<ChildProcess.Ending, HostError> {
        do throws(HostError) {
            let nothing = try Descriptor.open("/dev/null", O_RDWR)
            let child = ChildProcess(arguments: arguments, environment: environment)
            let process = try ChildSpawn(child, input: nothing, output: nothing, errors: nothing).process
            nothing.close()
            return .success(ChildRun.reap(process))
        } catch {
            return .failure(error)
        }
    }
}
