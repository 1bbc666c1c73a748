import Glibc

/// A thread for calls that block, which tasks must not.
package enum BackgroundThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// All signals are blocked in it: they are for the threads that expect them, and a broken pipe is an error there.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(HostError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackBytes)
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = pthread_create(&thread, &attributes, runBackgroundWork, work.toOpaque())
        if code != 0 {
            work.release()
            throw HostError("cannot start", "a thread", code: code)
        }
    }

    fileprivate static func run(_ context: UnsafeMutableRawPointer) {
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    }

    /// TLS needs less; the system's default of 8 MiB is only address space, but counted by some limits.
    private static let stackBytes = 1_048_576
}

private func runBackgroundWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { BackgroundThread.run(context) }
    return nil
}
