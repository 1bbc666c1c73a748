import Glibc

/// A thread for a script or a system call, which may block as long as it likes.
package enum BlockingThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    package static func start(_ body: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(body))
        if pthread_create(&thread, &attributes, runScript, work.toOpaque()) != 0 { work.release() }
    }

    fileprivate static func run(_ context: UnsafeMutableRawPointer) {
        Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    }
}

private func runScript(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { BlockingThread.run(context) }
    return nil
}
