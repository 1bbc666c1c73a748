import Glibc

/// A thread for blocking calls, which tasks must not make.
package enum BackgroundThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Starts a thread in which all signals are blocked: other threads expect them, and a broken pipe is an error here.
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

    /// Stack size; TLS needs less, and some limits count the system's default of 8 MiB of address space.
    private static let stackBytes = 1_048_576
}

private func runBackgroundWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { BackgroundThread.run(context) }
    return nil
}
