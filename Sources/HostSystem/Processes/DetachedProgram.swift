import Glibc

/// A program that may outlive us, such as a browser; its end is reported, but neither awaited nor caused.
package enum DetachedProgram {
    /// Starts a program with neither input nor output of ours; otherwise like ``ChildProcess``.
    ///
    /// `onEnd` is called once, on a thread that may block, with the ending or the reason why the program could not be
    /// started.
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
